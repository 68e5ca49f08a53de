"""Strength sweeps: one variant of one task at several strengths, and the audit's ε at each."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from nearsym.errors import MissingExtraError, UsageError
from nearsym.studies.regret import Regret, regret_of
from nearsym.studies.results import RunResult
from nearsym.studies.scores import Score, at_end
from nearsym.studies.selection import (
    TRADING,
    Scale,
    World,
    by_world,
    plain,
    unique,
    variant_of,
    world_of,
)
from nearsym.tasks.registry import NAMES
from nearsym.tasks.strength import ORIGINAL

PAIRS = 600
"""Pairs of steps that the audit of a world compares."""
LEAST_STRENGTHS = 3
"""Fewer make no sweep."""
KEPT_AS = "epsilon"
"""Where the details of a result have the ε of its world."""


class Sweep(NamedTuple):
    """The worlds of one sweep, by strength; the original, where it was run, is strength 0."""

    task: str
    variant: str
    scale: Scale
    worlds: dict[float, World]
    runs: dict[float, list[RunResult]]

    @property
    def title(self) -> str:
        return f"{self.task} {self.variant} ({self.scale})"

    def regret(self, score: Score = at_end) -> Regret | None:
        """The regret of each model, the worlds in the order of their strengths."""
        return regret_of([run for runs in self.runs.values() for run in runs], score)

    def epsilons(self) -> dict[float, float | None]:
        """What the audit measures at each strength; where the results say it, it is believed."""
        return {strength: self._epsilon(strength) for strength in self.worlds}

    def _epsilon(self, strength: float) -> float | None:
        kept = [run.details.get(KEPT_AS) for run in self.runs[strength]]
        known = [value for value in kept if isinstance(value, float | int)]
        world = self.worlds[strength]
        return float(known[0]) if known else measured_epsilon(world.task, world.variant)


def sweeps(results: Iterable[RunResult]) -> list[Sweep]:
    """Every variant that was run at three strengths or more, with zero."""
    worlds = {world: plain(runs) for world, runs in by_world(results).items()}
    found: dict[tuple[str, str, Scale], dict[float, World]] = {}
    for world in worlds:
        name, strength = variant_of(world.task, world.variant)
        if name != ORIGINAL and world.task != TRADING:
            found.setdefault((world.task, name, world.scale), {})[strength] = world
    for (task, _, scale), by_strength in found.items():
        original = World(task, None, scale)
        if original in worlds:
            by_strength.setdefault(0.0, original)
    return [
        Sweep(*about, dict(sorted(by.items())), {s: worlds[by[s]] for s in sorted(by)})
        for about, by in found.items()
        if len(by) >= LEAST_STRENGTHS
    ]


def with_epsilons(results: Iterable[RunResult]) -> list[RunResult]:
    """The same results, those of sweeps with the ε of their worlds among their details: an audit
    takes seconds, and a file of results is read often."""
    runs = unique(results)
    found = {
        world: epsilon
        for sweep in sweeps(runs)
        for world, epsilon in zip(sweep.worlds.values(), sweep.epsilons().values(), strict=True)
    }
    known = {world: {KEPT_AS: epsilon} for world, epsilon in found.items() if epsilon is not None}
    return [replace(run, details=run.details | known.get(world_of(run), {})) for run in runs]


@cache
def measured_epsilon(task: str, variant: str | None) -> float | None:
    """The smallest ε up to which the whole declared group holds, in mean steps, as the audit
    measures it on the state; None for tasks that are not nearsym's, or cannot be simulated here.

    >>> measured_epsilon("craft", None)
    0.0
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
    return found.smallest_epsilon
