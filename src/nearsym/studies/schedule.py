"""Which run is made when, and what happens to those that do not end well.

A run that dies is begun again, from its last checkpoint, as long as that leads somewhere: only
deaths without a new checkpoint between them are counted. A run that fails by itself would fail
again and is not repeated. A disk that refuses several runs in a row ends the study, since it would
refuse the others too.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from nearsym.studies.job import Ended, Job, StopRequested
from nearsym.studies.pool import saved_frames

RETRIES = 3
"""How often in a row a run may die without a new checkpoint, and be begun again."""
DISK_FAILURES = 3
"""After so many in a row, no more runs are started."""
LOOK_EVERY = 0.2
"""Seconds between two looks at requests to stop."""
BUSY_WAIT = 2.0
"""Seconds before a run that somebody else works on is tried again."""
NO_LIFE = 600.0
"""Seconds for which a lock may be held by somebody who shows no sign of life."""


class Executor(Protocol):
    """Whatever makes runs: processes here, or tasks of a cluster."""

    def size(self) -> int: ...

    def free(self) -> int: ...

    def start(self, job: Job) -> None: ...

    def wait(self, seconds: float) -> Sequence[tuple[Job, Ended]]: ...

    def ask_to_stop(self) -> None: ...


@dataclass
class Entry:
    """A run in the schedule."""

    job: Job
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    reason: str = ""
    """Why it failed, or waits."""
    deaths: int = 0
    """In a row, without a new checkpoint."""
    saved: int = -2
    """Frames of the newest checkpoint when it last died."""
    not_before: float = 0.0
    sign: tuple[str, float] = ("", 0.0)
    """The last sign of life of whoever else works on it, and since when it is the same."""

    @property
    def lock(self) -> Path:
        """Runs with an equal one must not be made at the same time."""
        return self.job.place.lock_folder


@dataclass
class Schedule:
    """The runs that are to be made, in order."""

    entries: list[Entry]
    retries: int = RETRIES
    clock: Callable[[], float] = time.monotonic
    halted: str = ""
    """Why no more runs are started."""
    _disk_failures: list[str] = field(default_factory=list)

    def run(
        self,
        executor: Executor,
        stop_requested: StopRequested,
        looks: Sequence[Callable[[], None]] = (),
    ) -> None:
        """Until all runs are done or have failed, or somebody asks to stop; each of `looks` is
        called whenever something may have changed."""
        asked = False
        while self.count("waiting") + self.count("running"):
            if not self.halted and stop_requested():
                self.halted = "Stopped."
            if self.halted and not asked:
                executor.ask_to_stop()
                asked = True
            if self.halted and not self.count("running"):
                break
            self._start(executor)
            for job, ended in executor.wait(LOOK_EVERY):
                self._take(next(e for e in self.entries if e.job is job), ended)
            for look in looks:
                look()

    def count(self, state: str) -> int:
        """How many runs are in a state."""
        return sum(entry.state == state for entry in self.entries)

    def _start(self, executor: Executor) -> None:
        """Begin as many runs as there is room for."""
        room = 0 if self.halted else executor.free()
        taken = {entry.lock for entry in self.entries if entry.state == "running"}
        for entry in self.entries:
            if entry.state == "waiting" and room > 0:
                if entry.lock not in taken and self.clock() >= entry.not_before:
                    executor.start(entry.job)
                    entry.state, entry.reason = "running", ""
                    room -= 1
                taken.add(entry.lock)  # of one run at several lengths, the shortest comes first

    def _take(self, entry: Entry, ended: Ended) -> None:
        if ended.kind != "busy":
            self._disk_failures = [*self._disk_failures, ended.text] if ended.kind == "disk" else []
        if ended.kind == "done":
            entry.state = "done"
        elif ended.kind in ("failed", "disk"):
            entry.state, entry.reason = "failed", ended.text
        elif ended.kind == "busy":
            self._wait_for_other(entry, ended)
        elif ended.kind == "stopped" and self.halted:
            entry.state = "waiting"
        else:
            self._begin_again(entry, ended)
        if len(self._disk_failures) >= DISK_FAILURES and not self.halted:
            self.halted = self._disk_failures[-1]

    def _begin_again(self, entry: Entry, ended: Ended) -> None:
        saved = saved_frames(entry.job.place.folder)
        entry.deaths = 1 if saved > entry.saved else entry.deaths + 1
        entry.saved = saved
        entry.state, entry.reason = "waiting", f"begun again: {ended.text}"
        if entry.deaths > self.retries:
            entry.state = "failed"
            entry.reason = (
                f"It died {entry.deaths} times in a row without a new checkpoint, at last: "
                f"{ended.text}."
            )

    def _wait_for_other(self, entry: Entry, ended: Ended) -> None:
        now = self.clock()
        if ended.sign != entry.sign[0] or not entry.sign[1]:
            entry.sign = (ended.sign, now)
        entry.state, entry.reason = "waiting", ended.text
        entry.not_before = now + BUSY_WAIT
        if now - entry.sign[1] > NO_LIFE:
            entry.state = "failed"
            entry.reason = (
                f"{ended.text} It has shown no sign of life for {NO_LIFE / 60:.0f} minutes: end "
                f"it, or delete {entry.lock} if its machine is gone for good."
            )
