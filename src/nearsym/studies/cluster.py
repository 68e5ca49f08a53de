"""Runs as tasks of a Ray cluster, whose machines see the study's folder under the same path.

Ray is told not to repeat a task: which run is begun again, and when, is the schedule's affair, and
a run that seems lost may still be alive on a machine that was cut off. The next one to work on it
waits until that is certain (`hold.py`).

Stopping is asked for by a file beside the results, since a task that Ray cancels could not save.
"""

import contextlib
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearsym.errors import MissingExtraError, UsageError
from nearsym.studies.job import Ended, Job, StopRequested, work
from nearsym.studies.workers import IMPATIENCE, PATIENCE
from nearsym.training import atomic

LOOK_EVERY = 1.0
"""Seconds between two looks of a task at the file that asks it to stop."""


class ClusterTasks:
    """Runs on a cluster, each with one CPU and a share of a GPU; at most `most` at once."""

    def __init__(self, address: str, folder: Path, *, gpus: float = 0.0, most: int | None = None):
        self._ray = _connected(address)
        self._needs: dict[str, float] = {"CPU": 1.0} | ({"GPU": gpus} if gpus else {})
        self._most = most
        self._stop_file = folder / f"stop-{os.getpid()}-{time.time_ns()}"
        self._jobs: dict[Any, Job] = {}
        if not self.size():
            self._leave()
            raise UsageError(f"The cluster at {address} has no machine with {self._needs}.")

    def size(self) -> int:
        """How many runs are made at once: machines come and go."""
        there = self._ray.cluster_resources()
        counts = [int(there.get(name, 0) / count + 1e-9) for name, count in self._needs.items()]
        return min(counts if self._most is None else [*counts, self._most])

    def free(self) -> int:
        return self.size() - len(self._jobs)

    def start(self, job: Job) -> None:
        """Hand a run to the cluster."""
        task = self._ray.remote(_work_on_cluster).options(
            num_cpus=self._needs["CPU"],
            num_gpus=self._needs.get("GPU", 0),
            max_retries=0,
            name=job.name,
        )
        self._jobs[task.remote(job, self._stop_file, [*sys.path, os.getcwd()])] = job

    def wait(self, seconds: float) -> Sequence[tuple[Job, Ended]]:
        """What has ended, after at most so many seconds."""
        if not self._jobs:
            time.sleep(seconds)
            return []
        ready, _ = self._ray.wait([*self._jobs], num_returns=1, timeout=seconds)
        return [(self._jobs.pop(task), self._how(task)) for task in ready]

    def _how(self, task: Any) -> Ended:
        """What a task returned; one that was lost with its process or machine has died."""
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            return Ended("failed", str(error).strip().splitlines()[-1])
        except self._ray.exceptions.RayError as error:
            return Ended("died", f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")

    def ask_to_stop(self) -> None:
        """Let all runs save themselves and end."""
        with atomic.explain_errors("Asking the runs to stop", self._stop_file.parent):
            self._stop_file.touch()

    def close(self) -> None:
        """End all tasks; what they are working on is saved, if that does not take too long."""
        try:
            if self._jobs:
                patience = IMPATIENCE if self._stop_file.exists() else PATIENCE
                self.ask_to_stop()
                self._ray.wait([*self._jobs], num_returns=len(self._jobs), timeout=patience)
        finally:
            for task in self._jobs:
                self._ray.cancel(task, force=True)
            with contextlib.suppress(OSError):
                self._stop_file.unlink(missing_ok=True)
            self._leave()

    def _leave(self) -> None:
        self._ray.shutdown()


def _connected(address: str) -> Any:
    """Ray, connected to a cluster that runs already."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Running a study on a cluster", "cluster") from error
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UsageError(
            f"No Ray cluster answers at `cluster` {address!r} ({reason}) Start one with Ray's own "
            "command, `ray start`, or give its address."
        ) from error
    return ray


# ---------------------------------------------------------------------- on the cluster


def _work_on_cluster(job: Job, stop_file: Path, path: Sequence[str]) -> Ended:
    """One run, in a process of some machine."""
    import torch

    from nearsym.training.allocator import keep_freed_memory

    sys.path.extend(place for place in path if place not in sys.path)  # for `module:factory`
    torch.set_num_threads(1)
    keep_freed_memory()
    if not job.place.pool.is_dir():
        return Ended(
            "disk",
            f"{job.place.pool} is not there on {platform.node()}: `out` has to be on storage "
            "that all machines of the cluster see under the same path.",
        )
    return work(job, _now_and_then(stop_file.exists))


def _now_and_then(asked: StopRequested) -> StopRequested:
    """The same question, asked of the disk once a second at most: a run asks at every step."""
    last = [0.0, False]

    def answer() -> bool:
        if not last[1] and time.monotonic() - last[0] > LOOK_EVERY:
            last[:] = [time.monotonic(), asked()]
        return bool(last[1])

    return answer
