"""Files that may come from somebody else: regular ones only, text that is what it should be, and
names that are drawn and not read.

A link in a run folder would let a resumed run write wherever it points to, and whoever opens a pipe
or a device may wait for ever. So nothing of a run folder is opened before it is known to be a
regular file.
"""

import json
import os
import stat
from pathlib import Path
from typing import Any

from nearsym.errors import UsageError, printable, shortened

LARGEST_JSON = 64 * 2**20
"""Bytes of a JSON file that are read at most. A configuration has some thousand."""
LARGEST_TEXT = 2**30
"""The same for files outside of run folders, such as results of many runs."""
FILES = ("lock", "config.json", "summary.json", "metrics.jsonl")
FOLDERS = ("checkpoints", "replay", "tb")
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}


def refuse_irregular(path: Path) -> None:
    """Refuse what exists and is no regular file: a link, a pipe, a device, a folder.

    >>> refuse_irregular(Path("/dev/null"))
    Traceback (most recent call last):
        ...
    nearsym.errors.UsageError: /dev/null is a device, and a run folder holds regular files only. \
Put the file itself there.
    """
    _refuse_unless(path, stat.S_IFREG, "holds regular files only. Put the file itself there.")


def refuse_irregular_run(folder: Path) -> None:
    """Refuse a run folder in which something that a run writes to is not what a run makes there.

    What else lies in the folder is nobody's business.
    """
    for name in FILES:
        refuse_irregular(folder / name)
    for name in FOLDERS:
        inner = folder / name
        _refuse_unless(inner, stat.S_IFDIR, f"has a folder {name}. Put the folder itself there.")
        for path in sorted(inner.iterdir()) if inner.is_dir() else ():
            refuse_irregular(path)


def refuse_linked_folder(folder: Path) -> None:
    """Refuse a link in the place of a folder that others may have made, and that is written to."""
    _refuse_unless(folder, stat.S_IFDIR, "is no link. Put the folder itself there.")


def refuse_special(path: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe or a socket: that would be gone.

    >>> refuse_special(Path("/dev/null"))
    Traceback (most recent call last):
        ...
    nearsym.errors.UsageError: /dev/null is a device. Name a file to write to.
    """
    try:
        found = stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:  # whoever writes will say what is wrong
        return
    if found not in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR):
        raise UsageError(f"{path} is {_KINDS.get(found, 'no file')}. Name a file to write to.")


def _refuse_unless(path: Path, kind: int, wanted: str) -> None:
    try:
        found = stat.S_IFMT(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):  # whoever makes it will say what is wrong
        return
    if found != kind:
        what = _KINDS.get(found, "something else")
        raise UsageError(f"{path} is {what}, and a run folder {wanted}")


def read_text(path: Path, *, largest: int | None = None) -> str:
    """The text of a regular file of at most so many bytes; `OSError` as for any other file."""
    refuse_irregular(path)
    return _read(path, largest)


def read_named_text(path: Path, *, largest: int = LARGEST_TEXT) -> str:
    """The text of a file that somebody names outside a run folder, perhaps by a link; `OSError` as
    for any other file. A pipe or a device might never end.

    >>> read_named_text(Path("/dev/zero"))
    Traceback (most recent call last):
        ...
    nearsym.errors.UsageError: /dev/zero is no regular file. Name the file itself.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no regular file. Name the file itself.")
    return _read(path, largest)


def _read(path: Path, largest: int | None) -> str:
    size = path.stat().st_size
    if largest is not None and size > largest:
        raise UsageError(f"{path} has {size:,} bytes, more than the {largest:,} that it may have.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is damaged: it is no text ({error.reason}).") from error


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a regular file."""
    found = parse_json(read_text(path, largest=LARGEST_JSON), str(path))
    if not isinstance(found, dict):
        raise UsageError(f"{path} is damaged: it is no JSON object but a {type(found).__name__}.")
    return found


def parse_json(text: str, where: str, fault: str = "is damaged") -> Any:
    """JSON as plain data; whatever is wrong with it is one sentence that says where.

    >>> parse_json("[" * 100_000, "config.json")
    Traceback (most recent call last):
        ...
    nearsym.errors.UsageError: config.json is damaged: it is nested too deeply.
    """
    try:
        found = json.loads(text)
        if "\\u" in text:  # escapes may name halves of characters, which no file can hold
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError:
        raise UsageError(f"{where} {fault}: it has half of a character in it.") from None
    except RecursionError:
        raise UsageError(f"{where} {fault}: it is nested too deeply.") from None
    except ValueError as error:  # no JSON, or a number of more digits than Python reads
        raise UsageError(f"{where} {fault}: {_sentence(error)}.") from None


def as_label(text: str, longest: int = 120) -> str:
    r"""A name as matplotlib draws it and does not read it: between two $ it would see a formula; a
    name that begins with _ would be missing in a legend; a long one would leave no room.

    >>> print(as_label(r"$\input{x}$"))
    \$\input{x}\$
    """
    drawn = printable(shortened(text, longest)).replace("$", r"\$")
    return f" {drawn}" if drawn.startswith("_") else drawn


def _sentence(error: Exception) -> str:
    return str(error).partition(";")[0].rstrip(".")
