"""Strength sweeps: one variant of one task at several strengths, and the audit's ε at each."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from nearsym.errors import MissingExtraError, UsageError
from nearsym.studies.regret import Regret, regret_of
from nearsym.studies.results import RunResult
from nearsym.studies.scores import Score, at_end
from nearsym.studies.selection import TRADING, Scale, World, by_world, plain, variant_of
from nearsym.tasks.registry import NAMES
from nearsym.tasks.strength import ORIGINAL

PAIRS = 600
"""Pairs of steps that the audit of a world compares."""
LEAST_STRENGTHS = 3
"""Fewer make no sweep."""


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
        """What the audit measures at each strength."""
        return {s: measured_epsilon(w.task, w.variant) for s, w in self.worlds.items()}


def sweeps(results: Iterable[RunResult]) -> list[Sweep]:
    """Every variant that was run at three strengths or more, with zero."""
    worlds = {world: plain(runs) for world, runs in by_world(results).items()}
    found: dict[tuple[str, str, Scale], dict[float, World]] = {}
    for world in worlds:
        name, strength = variant_of(world.task, world.variant)
        if name != ORIGINAL:
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
