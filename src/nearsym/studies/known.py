"""Results that somebody has already, on this machine or on another: such runs are not made again.

A result file is small and run folders are large, so that it is results which are kept and passed
on.
"""

from collections.abc import Iterable, Sequence

from nearsym.runs.identity import digest
from nearsym.studies.job import Job
from nearsym.studies.results import RunResult
from nearsym.studies.study import noises_of


def known_results(jobs: Iterable[Job], results: Sequence[RunResult]) -> dict[str, RunResult]:
    """For each job, by its name, a result that says all that its study asks for."""
    by_key: dict[str, list[RunResult]] = {}
    for result in results:
        by_key.setdefault(result.key, []).append(result)
    found: dict[str, RunResult] = {}
    for job in jobs:
        fitting = [one for one in by_key.get(digest(job.config), ()) if answers(one, job)]
        if fitting:
            found[job.name] = fitting[0]
    return found


def answers(result: RunResult, job: Job) -> bool:
    """Whether a result with the key of a job is of its length, with the episodes it wants."""
    wanted = job.config.training.frames
    last = result.frames[-1] if result.frames else 0
    if not wanted <= last < wanted + job.config.task.frames_per_step:
        return False
    episodes = job.evaluation.episodes
    names = noises_of(job.evaluation, job.config.task)
    return all(len(result.evaluations.get(name, ())) == episodes for name in names)
