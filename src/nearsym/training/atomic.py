"""Every file operation of a run folder: a handful of primitives that a test can fail one by one.

Callers use them as `atomic.sync(...)`, through the module, so that replacing a primitive here
replaces it everywhere. Only local durability is promised: data counts as written once `sync` has
returned, a name once `sync_folder` has. Where a system lacks one of the calls behind them (Windows,
macOS), its docstring says what happens instead.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from nearsym.errors import RunError, UsageError
from nearsym.training.untrusted import refuse_irregular, refuse_special

PRIMITIVES = (
    "make_folder", "open_file", "allocate", "write_at", "sync", "sync_folder", "rename", "remove",
)  # fmt: skip
"""The operations that reach the disk, in the order a file usually meets them."""

_REASONS = {
    errno.ENOSPC: "the disk is full. Free some space",
    errno.EDQUOT: "the disk quota is used up. Free some space",
    errno.EFBIG: "the file would exceed the largest size allowed. Raise the limit (ulimit -f)",
    errno.EACCES: "the folder may not be written to. Change its permissions",
    errno.EPERM: "the folder may not be written to. Change its permissions",
    errno.EROFS: "the disk is read-only. Make it writable",
    errno.ENOENT: "the folder is missing. Put it back (is the disk still mounted?)",
    errno.ENOTDIR: "a part of that path is a file, not a folder. Choose another folder",
    errno.EIO: "the disk reports an input/output error. Check it",
}

GO_ON = "resume the run; what it has saved is intact"
TRY_AGAIN = "try again; nothing has been changed"


class DiskError(RunError):
    """The disk refused an operation: full, read-only, missing. Nothing saved before is harmed.

    >>> issubclass(DiskError, RunError)  # what stops a run from outside
    True
    """


@contextlib.contextmanager
def explain_errors(doing: str, path: Path, *, advice: str = GO_ON) -> Iterator[None]:
    """Turn an `OSError` inside the block into a `DiskError` that says what to do.

    >>> with explain_errors("Saving", Path("run")):  # doctest: +NORMALIZE_WHITESPACE
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
        ...
    nearsym.training.atomic.DiskError: Saving failed in run: the disk is full. Free some space, then
    resume the run; what it has saved is intact.
    """
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"{error.strerror or error}. Put that right")
        raise DiskError(f"{doing} failed in {path}: {reason}, then {advice}.") from error


def make_place(folder: Path, parameter: str) -> None:
    """Make the folder that a user passed as a parameter, with its parents."""
    with explain_errors("Making the folder", folder, advice=TRY_AGAIN):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, FileExistsError, NotADirectoryError) as error:
            raise UsageError(
                f"The folder {folder} cannot be made ({error.strerror}). "
                f"Choose another `{parameter}`."
            ) from error


def make_folder(folder: Path) -> None:
    """Make a folder inside an existing one; a missing parent is an error: the run was moved."""
    folder.mkdir(exist_ok=True)


def open_file(path: Path) -> int:
    """A file descriptor for reading and writing; the file is made if it does not exist.

    What is there and is no regular file is refused.
    """
    refuse_irregular(path)
    binary = getattr(os, "O_BINARY", 0)  # Windows would otherwise translate line ends
    unfollowed = getattr(os, "O_NOFOLLOW", 0)  # against a link that appears just now
    return os.open(path, os.O_RDWR | os.O_CREAT | binary | unfollowed, 0o644)


def allocate(fd: int, size: int) -> None:
    """Reserve the first `size` bytes on the disk, so that a full disk is an error here and now.

    Without `posix_fallocate` (macOS, Windows) the missing bytes are written as zeros.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
    else:
        end = os.fstat(fd).st_size
        write_at(fd, bytes(max(size - end, 0)), end)


def write_at(fd: int, data: memoryview | bytes, offset: int) -> None:
    """Write all of `data` at `offset`, however many calls the system needs for it.

    Without `pwrite` (Windows) by seeking first: threads must then not share a descriptor.
    """
    rest = memoryview(data)
    while rest:
        if hasattr(os, "pwrite"):
            written = os.pwrite(fd, rest, offset)
        else:
            os.lseek(fd, offset, os.SEEK_SET)
            written = os.write(fd, rest)
        rest, offset = rest[written:], offset + written


def sync(fd: int) -> None:
    """Wait until the file's bytes are on the disk."""
    os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Wait until the folder's names are on the disk: a rename counts only after this.

    Where folders cannot be opened (Windows) it does nothing: a power cut just after a rename may
    bring the old content back, whole.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def rename(source: Path, target: Path) -> None:
    """Give a file its final name in one indivisible step, replacing what had that name."""
    os.replace(source, target)


def remove(path: Path) -> None:
    """Delete a file; one that is already gone is no error."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """`open_file` for the length of a block."""
    fd = open_file(path)
    try:
        yield fd
    finally:
        os.close(fd)


def replace(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file so that its name always shows either the old content or all of the new.

    Written aside, synced, renamed, and the folder synced. A failure on the way leaves the old
    content; what was written aside is deleted if the disk still allows it. A device or a pipe is
    not replaced.
    """
    refuse_special(path)
    aside = path.with_name(path.name + ".part")
    try:
        remove(aside)  # what a killed process left may be longer than what we write
        with opened(aside) as fd:
            offset = 0
            for part in parts:
                write_at(fd, part, offset)
                offset += len(part)
            sync(fd)
        rename(aside, path)
        sync_folder(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
