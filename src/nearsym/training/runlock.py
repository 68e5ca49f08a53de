"""One process per run folder, by a lock that the system releases when the process dies."""

import os
from pathlib import Path
from types import TracebackType

import filelock

from nearsym.errors import UsageError
from nearsym.training import atomic
from nearsym.training.untrusted import refuse_irregular


class LockedError(UsageError):
    """Another process holds the lock of a run."""


class RunLock:
    """Holds `folder/lock` until it is released; use it as a context manager.

    The lock is the system's own (`flock`, on Windows `LockFileEx`): it ends with the process,
    however that ends, and what a dead process left in the file means nothing. Children made by
    `fork` do not hold it. A file system that cannot lock gives a `DiskError`: a lock of another
    kind would outlive a killed process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, RunLock(Path(folder)) as lock:
    ...     lock.path.name
    'lock'
    """

    def __init__(self, folder: Path):
        self.path = Path(folder) / "lock"
        self._lock = filelock.FileLock(
            self.path,
            blocking=False,
            thread_local=False,
            fallback_to_soft=False,
            preserve_lock_file=True,  # deleting it would let two processes in at once
            on_acquired=_write_pid,
        )
        with atomic.explain_errors("Locking the run", Path(folder), advice=atomic.TRY_AGAIN):
            os.scandir(folder).close()  # filelock would make a folder that is missing
            refuse_irregular(self.path)  # it empties the file, also that behind a link
            try:
                self._lock.acquire()
            except filelock.Timeout:
                raise LockedError(
                    f"Another process (pid {_holder(self.path)}) is writing to {folder}. "
                    "Wait for it or stop it, or choose another `out`."
                ) from None

    def release(self) -> None:
        """Let the next process in. The file stays."""
        self._lock.release()

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def _write_pid(fd: int) -> None:
    """The holder's number, only for the message that others get."""
    os.ftruncate(fd, 0)
    atomic.write_at(fd, f"{os.getpid()}\n".encode(), 0)


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip() or "unknown"
    except OSError:  # Windows lets nobody read what is locked
        return "unknown"
