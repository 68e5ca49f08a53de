"""What a study would do: which runs, what there is of them already, what the rest will take."""

from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from nearsym.studies.execute import jobs_of
from nearsym.studies.job import Job
from nearsym.studies.known import known_results
from nearsym.studies.plan import plan
from nearsym.studies.pool import State
from nearsym.studies.rates import Rates, measured_rates
from nearsym.studies.results import RunResult
from nearsym.studies.study import Study


class Expected(NamedTuple):
    """One run of a study, before it is made."""

    name: str
    state: State
    frames: int
    """How long it is to be."""
    stands_at: int
    """Frames that are done."""
    seconds: float
    """What the rest will take on one core."""
    measured: bool
    """Whether that was measured on finished runs of the same kind."""


def preview(
    study: Study,
    *,
    out: str | PathLike[str] = "studies",
    known: Sequence[RunResult] = (),
    device_here: bool = True,
) -> list[Expected]:
    """Every run of a study, checked as if it were to start; nothing is written.

    >>> import tempfile
    >>> from nearsym.studies.study import Grid
    >>> grid = Grid({"task": "craft", "preset": "smoke", "frames": 1000})
    >>> (run,) = preview(Study(name="mine", grids=(grid,)), out=tempfile.mkdtemp())
    >>> run.name, run.state, run.frames, run.measured
    ('craft', 'new', 1000, False)
    """
    place = Path(out).absolute()
    planned = plan(study, device_here=device_here)
    rates = measured_rates(place / "pool")
    jobs = jobs_of(study, planned, place) if study.trains else []
    given = known_results(study, jobs, known)
    return [_expected(job, rates, given) for job in jobs]


def _expected(job: Job, rates: Rates, given: Collection[str]) -> Expected:
    state: State = "done" if job.name in given else job.place.state(job.evaluation)
    frames = job.place.frames
    stands_at = frames if state in ("done", "trained") else job.place.stands_at()
    rate = rates.rate(job.config)
    seconds = (frames - stands_at) / rate.frames_per_second
    return Expected(job.name, state, frames, stands_at, seconds, rate.measured)
