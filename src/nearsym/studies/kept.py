"""What is kept of a finished run: its curve, its weights, and how its best checkpoint plays."""

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from nearsym.groups.symmetry import Symmetry, symmetry_of
from nearsym.runs.config import RunConfig
from nearsym.runs.evaluate import evaluate_run
from nearsym.runs.folder import changed_settings, versions
from nearsym.runs.identity import digest
from nearsym.runs.run import Run
from nearsym.studies.plan import Planned, built, named
from nearsym.studies.results import RunResult
from nearsym.studies.study import OF_HARDWARE, Evaluation, noises_of
from nearsym.tasks.task import Task
from nearsym.tasks.trading.null import ORDERS
from nearsym.training.untrusted import read_object

OF_EVERY_TASK = {"return_mean", "return_ci95", "interval", "returns", "episodes", "noise"}
OF_EVERY_TASK |= {"checkpoint", "run", "video", "files"}
"""What an evaluation tells of every task; the rest are details of one."""
DIGITS = {"value": 0, "costs": 2, "turnover": 4, "exposure": 4, "weights": 4}
"""Of daily records."""


def result_of(
    run: Run, config: RunConfig, evaluation: Evaluation, on_episode: Callable[[], None]
) -> RunResult:
    """The result of a run that has come to its end; plays the episodes of the evaluation.

    `config` is what the study asked for: how often a run is saved, say, may have been another's
    choice.
    """
    curve = run.curve()
    recorded = read_object(run.path / "config.json")
    played = _played(run, evaluation, on_episode)
    return RunResult(
        **about(config),
        frames=curve.frames.tolist(),
        returns=curve.returns.tolist(),
        relaxed={layer: weights.tolist() for layer, weights in run.relaxed_weights().items()},
        elements=_elements(config.task),
        parameters=run.summary["parameters"],
        seconds=_spent(run.summary, config),
        evaluations={name: found["returns"] for name, found in played.items()},
        details=_details(played.get("clean", {})),
        versions=recorded["versions"] | {n: str(getattr(config, n)) for n in OF_HARDWARE},
    )


def _spent(summary: Mapping[str, Any], config: RunConfig) -> float:
    """Seconds of processor time, which other work on the machine hardly changes; with a GPU, whose
    time they do not contain, and where there are no others, those on the clock."""
    name = "processor_seconds" if config.device == "cpu" else "seconds"
    return float(summary.get(name, summary["seconds"]))


def counted(planned: Planned) -> RunResult:
    """The result of a run that is not trained: how many numbers its networks would learn."""
    with named(planned.name):
        found = built(planned.config)
    return RunResult(
        **about(planned.config),
        frames=[],
        returns=[],
        parameters=found.parameters,
        elements=found.elements,
        versions=versions(),
    )


def about(config: RunConfig) -> dict[str, Any]:
    """What says which run it is."""
    task = config.task
    return {
        "key": digest(config),
        "task": task.name,
        "variant": task.variant,
        "obs": getattr(task, "obs", None),
        "agent": config.agent,
        "model": config.network.model,
        "seed": config.seed,
        "preset": config.preset,
        "settings": changed_settings(config),
    }


def _played(run: Run, evaluation: Evaluation, on_episode: Callable[[], None]) -> dict[str, Any]:
    """What each evaluation tells, by its name."""
    return {
        name: evaluate_run(run, episodes=evaluation.episodes, noise=noise, progress=on_episode)
        for name, noise in noises_of(evaluation, run.task).items()
    }


def _elements(task: Task) -> list[str]:
    with closing(task.make("test")) as env:
        symmetry = symmetry_of(env)
    return list(symmetry.group.elements) if isinstance(symmetry, Symmetry) else []


def _details(found: dict[str, Any]) -> dict[str, Any]:
    """What the task told beside the returns. Daily values in whole units of money and fees in
    hundredths keep the file small."""
    details = {name: value for name, value in found.items() if name not in OF_EVERY_TASK}
    for name, digits in DIGITS.items():
        if name in details:
            details[name] = np.round(details[name], digits).tolist()
    if ORDERS in details.get("null", {}):
        details["random"] = details["null"][ORDERS]["row"]
    return details
