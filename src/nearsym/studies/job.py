"""The work of one run, in whatever process it is done: train, play, keep the result.

It can be cut off anywhere and begun again: what is finished is not repeated, what was begun goes on
from its last checkpoint.
"""

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from nearsym.errors import MissingExtraError, RunError, UsageError
from nearsym.runs.config import RunConfig
from nearsym.runs.folder import read_config
from nearsym.runs.run import Run
from nearsym.runs.start import start_run
from nearsym.studies.hold import BusyError, Hold, LostError
from nearsym.studies.kept import result_of
from nearsym.studies.pool import Place
from nearsym.studies.results import write_results
from nearsym.studies.study import Evaluation
from nearsym.tasks.custom import CustomTask
from nearsym.training.atomic import DiskError
from nearsym.training.loop import Interrupted
from nearsym.training.runlock import LockedError
from nearsym.training.untrusted import refuse_linked_folder

StopRequested = Callable[[], bool]


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    name: str
    """For people."""
    config: RunConfig
    evaluation: Evaluation
    place: Place
    """Where it lies, as the process that works on it sees it too."""


@dataclass(frozen=True)
class Ended:
    """How the work on a run ended."""

    kind: Literal["done", "stopped", "busy", "died", "disk", "failed"]
    """`stopped`: on request, and saved; `busy`: somebody else works on it; `died`: it may go better
    the next time; `disk`: the disk refused; `failed`: it would end so again."""
    text: str = ""
    sign: str = ""
    """For `busy`: changes while the other one lives."""


def work(job: Job, stop_requested: StopRequested) -> Ended:
    """Make one run; whatever happens is told, and nothing but the process can fail."""
    try:
        perform(job, stop_requested)
    except Interrupted as error:
        return Ended("stopped", str(error))
    except BusyError as error:
        return Ended("busy", str(error), error.sign)
    except LockedError as error:  # somebody trains it by hand
        return Ended("busy", str(error))
    except DiskError as error:
        return Ended("disk", str(error))
    except (LostError, MemoryError, torch.OutOfMemoryError) as error:
        return Ended("died", str(error) or "out of memory")
    except (UsageError, RunError, MissingExtraError) as error:
        return Ended("failed", str(error))
    except Exception as error:  # the study goes on without this run, and says why
        traceback.print_exc(file=sys.stderr)
        return Ended("failed", f"{type(error).__name__}: {error}")
    return Ended("done")


def perform(job: Job, stop_requested: StopRequested) -> None:
    """Train what is missing, play the evaluation, keep the result."""
    with Hold(job.place.lock_folder) as hold:
        if job.place.result_file(job.evaluation) is not None:
            return

        def stop() -> bool:
            hold.check()
            return stop_requested()

        def stop_playing() -> None:
            if stop():
                raise Interrupted("Stopped while playing; the trained run is saved.")

        refuse_linked_folder(job.place.folder)
        run = _trained(job.config, job.place.folder, stop)
        result = result_of(run, job.config, job.evaluation, stop_playing)
        hold.check()
        write_results(run.path / job.place.result_name(job.evaluation), [result])


def _trained(config: RunConfig, folder: Path, stop: StopRequested) -> Run:
    """The run at its end: new, or from where it stands."""
    if not (folder / "config.json").is_file():
        return start_run(config, folder, stop_requested=stop)
    wanted = config.training.frames
    other_length = read_config(folder).training.frames != wanted
    return _opened(config, folder).resume(wanted if other_length else None, stop_requested=stop)


def _opened(config: RunConfig, folder: Path) -> Run:
    """The run folder with the environment that the study names, which the user has chosen."""
    task = config.task
    if isinstance(task, CustomTask):
        return Run(folder, task=task.name if task.factory is None else task.factory)
    return Run(folder)
