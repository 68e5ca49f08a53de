"""One process per run folder, by a lock that the system lets go of when the process dies."""

import fcntl
import os
import weakref
from pathlib import Path
from types import TracebackType

from nearsym.errors import UsageError
from nearsym.training import atomic


class RunLock:
    """Holds `folder/lock` for as long as it lives; use it as a context manager.

    The lock is the system's (`flock`): it ends with the process however that ends, and what a dead
    process left in the file means nothing. Children made by `fork` do not hold it.
    """

    def __init__(self, folder: Path):
        self.path = Path(folder) / "lock"
        with atomic.explain_errors("Locking the run", Path(folder), advice=atomic.TRY_AGAIN):
            fd = atomic.open_file(self.path)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)  # only for the message below
            except BlockingIOError:
                holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
                os.close(fd)
                raise UsageError(
                    f"Another process (pid {holder or 'unknown'}) is writing to {folder}. "
                    "Wait for it or stop it, or choose another folder with --out."
                ) from None
            except OSError:
                os.close(fd)
                raise
        self._fd: int | None = fd
        _held.add(self)

    def release(self) -> None:
        """Let the next process in. The file stays: deleting it would let two in at once."""
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            self._close()

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def __del__(self) -> None:
        if getattr(self, "_fd", None) is not None:
            self.release()


_held: weakref.WeakSet[RunLock] = weakref.WeakSet()


def _let_go_in_child() -> None:
    """A forked child shares the lock until it closes it, and a worker may outlive the run.

    Closing, unlike `release`, takes nothing from the parent.
    """
    for lock in list(_held):
        lock._close()


os.register_at_fork(after_in_child=_let_go_in_child)
