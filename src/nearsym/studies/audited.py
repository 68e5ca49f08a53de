"""What the audit measures of a world, before anything is trained there."""

from collections.abc import Iterable
from functools import cache
from typing import Literal, NamedTuple

from nearsym.errors import MissingExtraError, UsageError
from nearsym.studies.results import RunResult
from nearsym.studies.selection import TRADING, World
from nearsym.tasks.registry import NAMES

PAIRS = 600
"""Pairs of steps that the audit of a world compares."""
LEAST_WORLDS = 3
"""Fewer worlds of a task make no trend."""
Quantity = Literal["epsilon", "mean_error"]
"""The names under which the details of a result have them, too."""
MEASURES: dict[Quantity, str] = {"epsilon": "ε", "mean_error": "mean error"}
"""What people call them."""


class Audited(NamedTuple):
    """Two ways to say how broken a world is, both in mean steps."""

    epsilon: float
    """The smallest ε up to which the whole declared group holds: how strongly it fails where it
    fails."""
    mean_error: float
    """The error of a step, averaged over all samples, of the element that fails most: how strongly
    and how often."""


def measure_of(world: World, runs: Iterable[RunResult], quantity: Quantity) -> float | None:
    """What the audit says of a world; where its results say it, they are believed."""
    known = kept_measure(runs, quantity)
    if known is not None:
        return known
    found = audited(world.task, world.variant)
    return None if found is None else float(getattr(found, quantity))


def kept_measure(runs: Iterable[RunResult], quantity: Quantity) -> float | None:
    """The same, where the results say it."""
    kept = [run.details.get(quantity) for run in runs]
    known = [value for value in kept if isinstance(value, float | int)]
    return float(known[0]) if known else None


def worlds_by_task(
    worlds: dict[World, list[RunResult]],
) -> dict[str, dict[World, list[RunResult]]]:
    """The worlds of each task of nearsym and scale, where there are enough to see a trend."""
    found: dict[tuple[str, str], dict[World, list[RunResult]]] = {}
    for world, runs in worlds.items():
        found.setdefault((world.task, str(world.scale)), {})[world] = runs
    return {
        f"{task} ({scale})": inside
        for (task, scale), inside in found.items()
        if len(inside) >= LEAST_WORLDS and task in NAMES and task != TRADING
    }


@cache
def audited(task: str, variant: str | None) -> Audited | None:
    """What the audit measures on the state of a world, a step being two environment steps on
    control tasks; None for tasks that are not nearsym's, or cannot be simulated here.

    >>> audited("craft", None)
    Audited(epsilon=0.0, mean_error=0.0)
    """
    if task not in NAMES or task == TRADING:
        return None
    from nearsym.audits.any_environment import audit  # here: slow to import
    from nearsym.audits.environment import EnvironmentAudit
    from nearsym.tasks.registry import make

    try:
        found = audit(make(task, variant=variant, obs="state"), samples=PAIRS)
    except (MissingExtraError, UsageError):
        return None
    assert isinstance(found, EnvironmentAudit)  # nearsym's tasks can be set to any state
    failing = [element for element in found.elements if not element.strength.exact]
    errors = [element.eps_p_relative.mean for element in failing]
    return Audited(found.smallest_epsilon, max(errors, default=0.0))
