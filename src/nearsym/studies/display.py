"""How a study is shown while it runs: a live table on a terminal, a line now and then elsewhere."""

import time
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from nearsym.errors import printable
from nearsym.studies.pool import last_row
from nearsym.studies.rates import Rates, measured_rates, spoken
from nearsym.studies.schedule import Entry, Schedule

REFRESH = 1.0
"""Seconds between two looks at the logs of the runs."""
LINE_EVERY = 60.0
"""Seconds between two lines where there is no terminal."""
RATES_EVERY = 30.0
"""Seconds between two measurements of how fast runs are."""
MOST_ROWS = 12
"""Runs of one sort in the table; the others are counted."""


class Watcher(Protocol):
    """Whoever looks at a study while it runs."""

    def open(self, schedule: Schedule, at_once: int) -> None: ...

    def look(self) -> None: ...

    def close(self) -> None: ...


class Quiet:
    """Nobody looks."""

    def open(self, schedule: Schedule, at_once: int) -> None: ...

    def look(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Running:
    """Where a run stands."""

    name: str
    frames: int
    total: int
    last_return: float | None

    @property
    def share(self) -> float:
        return min(self.frames / self.total, 1.0)


def running(entry: Entry) -> Running:
    """Where a run stands, as its log says."""
    folder, total = entry.job.place.folder, entry.job.place.frames
    last, played = last_row(folder), last_row(folder, "eval/return_mean")
    frames = 0 if last is None else last["frames"]
    value = None if played is None else played["eval/return_mean"]
    return Running(entry.job.name, frames, total, value if isinstance(value, float | int) else None)


class Clock:
    """How long the rest of a study will take."""

    def __init__(self, schedule: Schedule, at_once: int):
        self._schedule, self._at_once = schedule, at_once
        self._rates, self._measured = Rates({}), float("-inf")
        self._begun = {id(e): e.job.place.stands_at() for e in _left(schedule)}

    def seconds_left(self, now: dict[int, Running]) -> float:
        """`now` has the runs that are being made, by their entries."""
        if time.monotonic() - self._measured > RATES_EVERY and self._schedule.entries:
            self._rates = measured_rates(self._schedule.entries[0].job.place.pool)
            self._measured = time.monotonic()
        left = [self._of_run(entry, now) for entry in _left(self._schedule)]
        return max(sum(left) / max(self._at_once, 1), max(left, default=0.0))

    def _of_run(self, entry: Entry, now: dict[int, Running]) -> float:
        done = now[id(entry)].frames if id(entry) in now else self._begun[id(entry)]
        frames = max(entry.job.place.frames - done, 0)
        return frames / self._rates.rate(entry.job.config).frames_per_second


def _left(schedule: Schedule) -> list[Entry]:
    return [entry for entry in schedule.entries if entry.state in ("waiting", "running")]


class _Shown:
    """What both ways of showing share."""

    def __init__(self, title: str):
        self._title = title
        self._last = float("-inf")

    def open(self, schedule: Schedule, at_once: int) -> None:
        self._schedule, self._clock = schedule, Clock(schedule, at_once)

    def _headline(self, now: dict[int, Running]) -> str:
        count = self._schedule.count
        parts = [f"{count('done')} of {len(self._schedule.entries)} runs done"]
        parts += [f"{count('failed')} failed"] if count("failed") else []
        parts += (
            [f"about {spoken(self._clock.seconds_left(now))} left"] if _left(self._schedule) else []
        )
        return f"{self._title}: {', '.join(parts)}"

    def _running(self) -> dict[int, Running]:
        return {id(e): running(e) for e in self._schedule.entries if e.state == "running"}

    def _is_time(self, seconds: float) -> bool:
        if time.monotonic() - self._last < seconds:
            return False
        self._last = time.monotonic()
        return True


class Lines(_Shown):
    """A line for each run that ends, and one for all of them now and then."""

    def __init__(self, title: str, file: TextIO):
        super().__init__(title)
        self._file = file
        self._told: dict[int, str] = {}

    def open(self, schedule: Schedule, at_once: int) -> None:
        super().open(schedule, at_once)
        self._told = {id(entry): entry.state for entry in schedule.entries}

    def look(self) -> None:
        for entry in self._schedule.entries:
            if entry.state in ("done", "failed") and self._told[id(entry)] != entry.state:
                self._told[id(entry)] = entry.state
                reason = f": {entry.reason}" if entry.state == "failed" else ""
                self._say(f"{entry.state:6}  {entry.job.name}{reason}")
        if self._is_time(LINE_EVERY):
            self._say(self._headline(self._running()))

    def _say(self, text: str) -> None:
        print(printable(text), file=self._file, flush=True)

    def close(self) -> None: ...


class LiveTable(_Shown):
    """A table that is drawn anew: runs done, running with their return, failed with the reason."""

    def __init__(self, title: str, console: Any):
        super().__init__(title)
        self._console = console
        self._live: Any = None

    def open(self, schedule: Schedule, at_once: int) -> None:
        from rich.live import Live

        super().open(schedule, at_once)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def look(self) -> None:
        if self._is_time(REFRESH):
            self._live.update(self.table(), refresh=True)

    def table(self) -> Any:
        """The table as it stands now."""
        from rich.table import Table

        now = self._running()
        title = _literal(self._headline(now), "table.title")
        table = Table(title=title, title_justify="left", expand=True, box=None)
        for name, side in (("run", "left"), ("frames", "right"), ("return", "right")):
            table.add_column(name, justify=side, no_wrap=name != "run")  # type: ignore[arg-type]
        for run in list(now.values())[:MOST_ROWS]:
            shown = "–" if run.last_return is None else f"{run.last_return:.1f}"
            table.add_row(_literal(run.name), f"{run.frames:,} ({run.share:.0%})", shown)
        for entry in _with_reason(self._schedule)[:MOST_ROWS]:
            said = _literal(f"{entry.job.name}: {entry.reason}")
            table.add_row(said, entry.state, "", style="red")
        return table

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()


def _literal(text: str, style: str = "") -> Any:
    """A text as it is: rich would read [link=…] in a name or a reason as markup."""
    from rich.text import Text

    return Text(printable(text), style=style)


def _with_reason(schedule: Schedule) -> list[Entry]:
    return [e for e in schedule.entries if e.reason and e.state in ("failed", "waiting")]


def watcher_for(title: str, file: TextIO) -> Watcher:
    """A live table where the file is a terminal, else lines."""
    from rich.console import Console

    console = Console(file=file)
    return LiveTable(title, console) if console.is_terminal else Lines(title, file)
