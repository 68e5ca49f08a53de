"""One process at a time works on a run, whichever machine it is on.

A lock of the system ends with the process that holds it, on its own machine. Over a network that is
not certain: some storage keeps the lock of a machine that was lost for a while, and some is mounted
so that a lock is seen on its own machine only. So the holder also shows signs of life, a number in
a file that it raises every few seconds. Whoever takes over from another machine

1. watches that file until it has been silent for long enough,
2. writes its own sign, and waits for two more beats,
3. begins if its sign still stands.

A holder that was suspended or cut off writes nothing more before it has found its own sign there
and renewed it. If it comes back in the middle of a takeover, either it finds the other's sign and
gives up, or the other finds the sign renewed and gives way. No clocks are compared.
"""

import contextlib
import json
import os
import platform
import threading
import time
import uuid
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from nearsym.errors import RunError, UsageError
from nearsym.training import atomic
from nearsym.training.runlock import LockedError, RunLock
from nearsym.training.untrusted import refuse_irregular, refuse_linked_folder

SIGN_EVERY = 5.0
"""Seconds between signs of life."""
SILENCE = 60.0
"""Seconds without a sign after which a holder on another machine counts as gone."""
SIZE = 256
"""Bytes of a sign, which is written in place: that works on a full disk too."""
_REFUSALS = (OSError, atomic.DiskError, UsageError)
"""What writing a sign may meet: the disk, or a link in its place."""


class BusyError(RunError):
    """Somebody else works on a run; `sign` changes while they live."""

    def __init__(self, text: str, sign: str):
        super().__init__(text)
        self.sign = sign

    def __reduce__(self) -> tuple[type["BusyError"], tuple[str, str]]:
        return type(self), (str(self), self.sign)


class LostError(RunError):
    """A run was given up, since somebody else may have taken it over."""


@cache
def this_machine() -> str:
    """Equal for processes whose locks exclude each other for certain: those under one kernel."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # only Linux has it
        boot = f"{uuid.getnode():x}"
    return f"{platform.node()} {boot}"


class Hold:
    """Holds a folder until it is released; use it as a context manager.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Hold(Path(folder) / "run") as hold:
    ...     hold.check()
    """

    def __init__(
        self,
        folder: Path,
        *,
        machine: str | None = None,
        silence: float = SILENCE,
        sign_every: float = SIGN_EVERY,
    ):
        self._path = folder / "sign"
        self._silence, self._every = silence, sign_every
        self._sign: dict[str, Any] = {"machine": machine or this_machine(), "pid": os.getpid()}
        self._sign |= {"owner": uuid.uuid4().hex, "count": 0}
        refuse_linked_folder(folder)
        with atomic.explain_errors("Locking the run", folder, advice=atomic.TRY_AGAIN):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = RunLock(folder)
        except LockedError as error:
            raise BusyError(_busy(_read(self._path)), str(_read(self._path))) from error
        try:
            self._take_over()
        except BaseException:
            self._lock.release()
            raise
        self._lost = False
        self._writing, self._ended = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._keep_showing, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise `LostError` where somebody else may have taken over; quick where all is well."""
        if not self._lost and time.monotonic() - self._shown > self._silence / 2:
            with contextlib.suppress(*_REFUSALS):
                self._renew()
        if self._lost or time.monotonic() - self._shown > self._silence / 2:
            raise LostError(
                "The run was given up: for too long it could not show to other machines that it "
                "lives. What it has saved is intact."
            )

    def release(self) -> None:
        """Let the next one in at once."""
        self._ended.set()
        self._thread.join()
        if not self._lost:
            with contextlib.suppress(*_REFUSALS):  # the lock ends all the same
                _write(self._path, self._sign | {"owner": None})
        self._lock.release()

    def _take_over(self) -> None:
        last = _read(self._path)
        elsewhere = last.get("owner") and last.get("machine") != self._sign["machine"]
        if elsewhere:
            self._refuse_change(last, self._silence)
        self._show()
        if elsewhere:
            self._refuse_change(dict(self._sign), 2 * self._every)
            self._show()

    def _refuse_change(self, sign: dict[str, Any], seconds: float) -> None:
        """Watch the sign for some seconds; if it changes, somebody lives."""
        since = time.monotonic()
        while time.monotonic() - since < seconds:
            time.sleep(min(self._every, seconds) / 4)
            now = _read(self._path)
            if now != sign:
                raise BusyError(_busy(now), str(now))

    def _show(self) -> None:
        started = time.monotonic()
        self._sign["count"] += 1
        with atomic.explain_errors("Locking the run", self._path.parent, advice=atomic.TRY_AGAIN):
            _write(self._path, self._sign)
        self._shown = started

    def _renew(self) -> None:
        """Another sign of life, unless it is another's turn."""
        with self._writing:
            self._lost = self._lost or _read(self._path).get("owner") != self._sign["owner"]
            if not self._lost:
                self._show()

    def _keep_showing(self) -> None:
        while not self._ended.wait(self._every):
            with contextlib.suppress(*_REFUSALS):  # `check` sees it last too long
                self._renew()

    def __enter__(self) -> "Hold":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def _write(path: Path, sign: dict[str, Any]) -> None:
    with atomic.opened(path) as fd:
        atomic.write_at(fd, json.dumps(sign).encode().ljust(SIZE), 0)
        atomic.sync(fd)


def _read(path: Path) -> dict[str, Any]:
    """The last sign. One that cannot be read counts as another machine's: it is watched first."""
    try:
        refuse_irregular(path)
        found = json.loads(path.read_bytes()[:SIZE])
    except FileNotFoundError:
        return {}
    except UsageError:
        raise
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"owner": "unknown"}


def _busy(sign: dict[str, Any]) -> str:
    known = "machine" in sign
    machine = str(sign["machine"]).partition(" ")[0] if known else "an unknown machine"
    return f"Another process (pid {sign.get('pid', 'unknown')} on {machine}) works on it."
