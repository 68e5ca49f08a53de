"""Results that somebody has already, on this machine or on another: such runs are not made again.

A result file is small and run folders are large, so that it is results which are kept and passed
on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nearsym.runs.config import PRECISIONS
from nearsym.runs.configure import processor_decides
from nearsym.runs.identity import digest
from nearsym.studies.job import Job
from nearsym.studies.results import RunResult
from nearsym.studies.study import Study, noises_of


def known_results(
    study: Study, jobs: Iterable[Job], results: Sequence[RunResult]
) -> dict[str, RunResult]:
    """For each job of a study, by its name, a result that says all that the study asks for."""
    by_key: dict[str, list[RunResult]] = {}
    for result in results:
        by_key.setdefault(result.key, []).append(result)
    found: dict[str, RunResult] = {}
    for job in jobs:
        same = [one for key in _keys(study, job) for one in by_key.get(key, ())]
        fitting = [one for one in same if answers(one, job)]
        if fitting:
            found[job.name] = fitting[0]
    return found


def _keys(study: Study, job: Job) -> list[str]:
    """The key of a job, then those that it has on other machines: unless a study names the
    precision, it is the processor that decides on it."""
    named = any("precision" in grid.axes for grid in study.grids)
    free = processor_decides(job.config) and not named
    others = [p for p in PRECISIONS if free and p != job.config.precision]
    return [digest(replace(job.config, precision=p)) for p in (job.config.precision, *others)]


def answers(result: RunResult, job: Job) -> bool:
    """Whether a result with the key of a job is of its length, with the episodes it wants."""
    wanted = job.config.training.frames
    last = result.frames[-1] if result.frames else 0
    if not wanted <= last < wanted + job.config.task.frames_per_step:
        return False
    episodes = job.evaluation.episodes
    names = noises_of(job.evaluation, job.config.task)
    return all(len(result.evaluations.get(name, ())) == episodes for name in names)
