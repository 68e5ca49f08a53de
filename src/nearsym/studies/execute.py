"""Make the runs of a study, on this machine or on a cluster.

    OUT/NAME-SCALE/study.json       what was asked for, and which runs failed
    OUT/NAME-SCALE/results.jsonl    what came out, a line for each run
    OUT/NAME-SCALE/workers.log      what the worker processes printed
    OUT/pool/                       the runs, which studies share

Calling it again goes on where it stopped; what is finished is not repeated.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nearsym.errors import UsageError, check_whole
from nearsym.runs.folder import versions, warn_if_changed, write_json
from nearsym.runs.train import StopRequested, never
from nearsym.studies.display import Quiet, Watcher, watcher_for
from nearsym.studies.job import Job, work
from nearsym.studies.kept import counted
from nearsym.studies.known import known_results
from nearsym.studies.plan import Planned, plan
from nearsym.studies.pool import place_of
from nearsym.studies.results import RunResult, read_results, write_results
from nearsym.studies.schedule import RETRIES, Entry, Executor, Schedule
from nearsym.studies.study import OF_HARDWARE, Study
from nearsym.studies.workers import LocalWorkers
from nearsym.training import atomic
from nearsym.training.loop import Interrupted
from nearsym.training.runlock import RunLock
from nearsym.training.untrusted import refuse_linked_folder

WRITE_EVERY = 20.0
"""Seconds between two writes of the results so far."""

MOST_WORKERS = 10_000
"""Tasks of a cluster at once; one machine has no room for so many processes."""

StrPath = str | PathLike[str]


@dataclass(frozen=True)
class StudyOutcome:
    """What became of a study.

    >>> from nearsym.studies.study import Grid
    >>> study = Study(name="mine", grids=(Grid({"task": "craft"}),))
    >>> StudyOutcome(study, Path("studies/mine-laptop"), 1, [], {"craft": "no luck"}).core_hours
    0.0
    """

    study: Study
    folder: Path
    total: int
    """Runs that it wants."""
    results: list[RunResult]
    """Of those that are done."""
    failures: dict[str, str]
    """Runs that have failed, and why."""
    halted: str = ""
    """Why no more runs were begun, where some are left."""

    @property
    def core_hours(self) -> float:
        """Time that training the finished runs took, on one core each."""
        return sum((result.seconds for result in self.results), 0.0) / 3600


def run_study(
    study: Study,
    *,
    out: StrPath = "studies",
    workers: int | None = None,
    cluster: str | None = None,
    gpus: float = 0.0,
    retries: int = RETRIES,
    known: Sequence[RunResult] = (),
    progress: bool = False,
    stop_requested: StopRequested = never,
) -> StudyOutcome:
    """Make the runs of a study that are missing, evaluate them and collect the results.

    `workers` processes make them, by default one for each core. With `cluster` ('auto' or an
    address) they are tasks of Ray, each with one CPU and so many `gpus`, and `out` has to be on
    storage that all machines see. A run that dies is resumed, up to `retries` times in a row
    without a new checkpoint. Runs whose results are among the `known` ones are not made: their
    results are taken as they are. `progress=True` shows on standard error how far they are. Where
    `stop_requested` says yes, all runs save themselves and `Interrupted` is raised; the same call
    goes on.

    A script that calls this needs `if __name__ == "__main__":`, since the workers import it.

    >>> import tempfile
    >>> from nearsym.studies.study import Grid
    >>> grid = Grid({"task": "craft", "model": ["none", "exact"], "preset": "smoke"})
    >>> study = Study(name="sizes", scale="smoke", grids=(grid,), trains=False)
    >>> found = run_study(study, out=tempfile.mkdtemp())
    >>> found.total, [result.model for result in found.results]
    (2, ['none', 'exact'])
    """
    check_workers(workers)
    planned = plan(study, device_here=cluster is None)
    only_built = [] if study.trains else [counted(run) for run in planned]
    place = Path(out).absolute()
    folder = place / study.folder_name
    for made in (folder, place / "pool", place / "pool" / "locks"):
        refuse_linked_folder(made)
    atomic.make_place(folder, "out")
    with RunLock(folder):  # another study shares runs; the same one would share these files
        write_json(folder / "study.json", described(study, planned))
        if not study.trains:
            write_results(folder / "results.jsonl", only_built)
            return StudyOutcome(study, folder, len(planned), only_built, {})
        atomic.make_place(place / "pool", "out")
        jobs = jobs_of(study, planned, place)
        given = known_results(study, jobs, known)
        entries = [Entry(j, state="done") if j.name in given else _entry(j) for j in jobs]
        schedule = Schedule(entries, retries=retries)
        collected = _Collected(folder, schedule, _compared(study), given)
        collected.warn_if_changed()
        if schedule.count("waiting"):
            with (
                _executor(folder, workers, cluster, gpus) as executor,
                closing(_watcher(study, progress)) as shown,
            ):
                shown.open(schedule, executor.size())
                schedule.run(executor, stop_requested, (collected.look, shown.look))
        collected.write()
        write_json(folder / "study.json", described(study, planned, collected.found()[1]))
        if schedule.count("waiting") and stop_requested():
            raise Interrupted(_stopped(schedule))
        return StudyOutcome(study, folder, len(planned), *collected.found(), schedule.halted)


def _stopped(schedule: Schedule) -> str:
    done, total = schedule.count("done"), len(schedule.entries)
    so_far = f"{done} of {total} runs are done, the others are saved"
    return f"Stopped: {so_far}. The same command continues."


def jobs_of(study: Study, planned: list[Planned], out: Path) -> list[Job]:
    """The work that a study is."""
    pool = out / "pool"
    return [Job(r.name, r.config, study.evaluation, place_of(r.config, pool)) for r in planned]


def described(
    study: Study, planned: list[Planned], failures: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """The content of study.json."""
    grids = [{name: list(map(_plain, v)) for name, v in g.axes.items()} for g in study.grids]
    shared = {name: getattr(study, name) for name in ("title", "scale", "trains")}
    made = {name: list(getattr(study, name)) for name in ("tables", "figures", "claims")}
    runs = [{"name": r.name, "key": r.key, "frames": r.config.training.frames} for r in planned]
    about: dict[str, Any] = {"study": study.name} | shared | made
    about |= {"evaluation": asdict(study.evaluation), "grids": grids}
    return about | {"runs": runs, "failures": dict(failures), "versions": versions()}


def _plain(value: Any) -> Any:
    return value.__name__ if hasattr(value, "__name__") else value


def _entry(job: Job) -> Entry:
    """A run in the schedule, done if it is. What another study has trained, and nobody has to play,
    is only read: that needs no worker."""
    state = job.place.state(job.evaluation)
    if state == "trained" and not job.evaluation.episodes:
        state = "done" if work(job, never).kind == "done" else state
    return Entry(job, state="done" if state == "done" else "waiting")


def check_workers(workers: int | None) -> None:
    """Refuse what is no number of workers."""
    if workers is not None:
        check_whole("workers", workers, 1, MOST_WORKERS)


def _compared(study: Study) -> tuple[str, ...]:
    """The settings of hardware that a study compares: `auto` may come to several, which are not."""
    asked = {n: {v for g in study.grids for v in g.axes.get(n, (None,))} for n in OF_HARDWARE}
    return tuple(name for name, values in asked.items() if len(values) > 1)


def _watcher(study: Study, progress: bool) -> Watcher:
    return watcher_for(f"{study.name} ({study.scale})", sys.stderr) if progress else Quiet()


@contextmanager
def _executor(
    folder: Path, workers: int | None, cluster: str | None, gpus: float
) -> Iterator[Executor]:
    """What makes the runs; at the end of the block, whatever ends it, nothing of it is left."""
    made: Any
    if cluster is None:
        made = LocalWorkers(_cores() if workers is None else workers, folder / "workers.log")
    else:
        from nearsym.studies.cluster import ClusterTasks

        made = ClusterTasks(cluster, folder, gpus=gpus, most=workers)
    with closing(made):
        yield made


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class _Collected:
    """The results of the runs that are done, written down now and then."""

    folder: Path
    schedule: Schedule
    compared: tuple[str, ...]
    """Settings of no preset that tell its runs apart."""
    _found: dict[str, RunResult] = field(default_factory=dict)
    _written: float = 0.0

    def __post_init__(self) -> None:
        self._read()

    @property
    def results(self) -> list[RunResult]:
        """In the order of the plan, which does not depend on who was faster."""
        jobs = [e.job for e in self.schedule.entries if e.job.name in self._found]
        return [self._told(job) for job in jobs]

    def _told(self, job: Job) -> RunResult:
        result = self._found[job.name]
        usual = {n: value for n, value in result.settings.items() if n not in OF_HARDWARE}
        compared = {name: getattr(job.config, name) for name in self.compared}
        return replace(result, settings=usual | compared)

    def found(self) -> tuple[list[RunResult], dict[str, str]]:
        """The results, and why the runs failed that did."""
        failed = [entry for entry in self.schedule.entries if entry.state == "failed"]
        return self.results, {entry.job.name: entry.reason for entry in failed}

    def warn_if_changed(self) -> None:
        """Say once for each task that there are results of other code than today's."""
        jobs = [entry.job for entry in self.schedule.entries if entry.job.name in self._found]
        said: set[str] = set()
        for job in (job for job in jobs if job.config.task.name not in said):
            what = "runs of this study were made; they are kept"
            if warn_if_changed(self._found[job.name].versions, job.config.task, what):
                said.add(job.config.task.name)

    def look(self) -> None:
        """Read what is new; write it if the last time is long ago."""
        if self._read() and time.monotonic() - self._written > WRITE_EVERY:
            with suppress(atomic.DiskError):  # the last time will tell
                self.write()

    def write(self) -> None:
        write_results(self.folder / "results.jsonl", self.results)
        self._written = time.monotonic()

    def _read(self) -> bool:
        """Whether there was anything new."""
        new = [e for e in self.schedule.entries if e.state == "done"]
        new = [entry for entry in new if entry.job.name not in self._found]
        for entry in new:
            try:
                self._found[entry.job.name] = _result(entry.job)
            except UsageError as error:
                entry.state, entry.reason = "failed", str(error)
        return bool(new)


def _result(job: Job) -> RunResult:
    path = job.place.result_file(job.evaluation)
    if path is None:
        raise UsageError(f"The result of the run is gone from {job.place.folder}.")
    results = read_results(path)
    if len(results) != 1:
        raise UsageError(
            f"{path} should hold one result and holds {len(results)}. Delete it: the run is there, "
            "and is played again."
        )
    return results[0]
