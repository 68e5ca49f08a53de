"""What one run is worth, as one number: at its end, over its curve, tested, in time, in weights."""

from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np

from nearsym.errors import UsageError
from nearsym.runs.presets import preset_config
from nearsym.studies.results import RunResult
from nearsym.studies.selection import settings_of
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.registry import find_task

Score = Callable[[RunResult], float]
LAST = 3
"""Evaluations that make up the end of a run."""
REACHED = 0.9
"""Share of the best model's final return to which time is measured."""


def at_end(run: RunResult) -> float:
    """The mean return of the last three evaluations in training."""
    return float(np.mean(_curve(run)[-LAST:]))


def last_third(run: RunResult) -> float:
    """The mean return of the evaluations in the last third of training."""
    curve = _curve(run)
    return float(np.mean(curve[-max(1, len(curve) // 3) :]))


def area(run: RunResult) -> float:
    """The area under the learning curve over the frames it spans: the mean return in training.

    >>> area(RunResult(
    ...     key="", task="craft", variant=None, obs="state", agent="sac", model="none", seed=0,
    ...     preset="smoke", frames=[100, 200, 400], returns=[[0.0], [10.0], [20.0]],
    ... ))
    11.666666666666666
    """
    curve = _curve(run)
    if len(curve) == 1:
        return float(curve[0])
    return float(np.trapezoid(curve, run.frames) / (run.frames[-1] - run.frames[0]))


def fresh(run: RunResult, name: str = "clean") -> float:
    """The mean return of the best checkpoint in fresh episodes, `clean` or under noise."""
    if not run.evaluations.get(name):
        raise UsageError(f"Run {run.key} was not evaluated {name!r}, only {[*run.evaluations]}.")
    return float(np.mean(run.evaluations[name]))


def noise_of_tests(task: str) -> str:
    """The evaluation under the noise with which the paper tests policies on a control task.

    >>> noise_of_tests("reacher-hard")
    'noise=0.02'
    """
    return f"noise={DOMAINS[task].test_noise:g}"


def kept(run: RunResult, name: str) -> float:
    """The share of the noise-free return that is kept under noise at test time."""
    clean = fresh(run)
    if clean <= 0:
        raise UsageError(f"Run {run.key} has no positive return without noise.")
    return fresh(run, name) / clean


def seconds_per_frame(run: RunResult) -> float:
    """Time of training for each environment step."""
    if not run.frames or not run.seconds:
        raise UsageError(f"Run {run.key} was not timed.")
    return run.seconds / run.frames[-1]


def seconds_to(run: RunResult, level: float) -> float:
    """Time until an evaluation first reached a return; infinite if none did."""
    reached = [f for f, value in zip(run.frames, run.curve(), strict=True) if value >= level]
    return seconds_per_frame(run) * reached[0] if reached else np.inf


def nearly_best(groups: Iterable[Iterable[RunResult]]) -> float:
    """The return to which time is measured: nine tenths of the best group's at the end."""
    return REACHED * max(float(np.mean([at_end(run) for run in runs])) for runs in groups)


def median_seconds_to(runs: Iterable[RunResult], level: float) -> float:
    """The median of the time to a return over the runs that were timed; infinite if half of them
    never get there. To leave those out would favour a model that seldom arrives."""
    times = [seconds_to(run, level) for run in runs if run.seconds]
    return float(np.median(times)) if times else np.inf


def tau_of(run: RunResult) -> float | None:
    """The speed of a run's target critic, as set or that of its preset; None for a preset, an agent
    or a model that is not nearsym's."""
    tau = settings_of(run).get("target_tau")
    if tau is None:
        with suppress(UsageError):
            task = find_task(run.task) if run.obs is None else find_task(run.task, obs=run.obs)
            tau = preset_config(run.preset, task, run.agent, run.model).algorithm.target_tau
    return None if tau is None else round(float(tau), 6)  # presets multiply: 0.009000000000000001


def first_layer(run: RunResult, part: str) -> str | None:
    """The first relaxed layer of a part of the networks: `encoder`, `actor` or `critic`."""
    return next((name for name in run.relaxed if name.startswith(f"{part}.")), None)


def spread(run: RunResult, layer: str) -> float:
    """How far the relaxed weights of a layer lie apart at the end: their mean absolute difference
    from their mean over elements, over that mean's size, averaged over filters."""
    weights = final_weights(run, layer)
    middle = weights.mean(axis=-1, keepdims=True)
    return float((np.abs(weights - middle) / np.abs(middle)).mean())


def final_weights(run: RunResult, layer: str) -> np.ndarray:
    """(filters, elements) of a layer at the last evaluation; of several kernels the mean."""
    weights = np.asarray(run.relaxed[layer][-1], dtype=np.float64)
    return weights.mean(axis=tuple(range(1, weights.ndim - 1)))


def by_seed(runs: Iterable[RunResult], score: Score) -> dict[int, float]:
    """A number for each seed; runs that cannot give it are left out."""
    found = {}
    for run in runs:
        try:
            found[run.seed] = score(run)
        except UsageError:
            continue
    return dict(sorted(found.items()))


def _curve(run: RunResult) -> list[float]:
    if not run.returns:
        raise UsageError(f"Run {run.key} has no evaluation yet.")
    return run.curve()
