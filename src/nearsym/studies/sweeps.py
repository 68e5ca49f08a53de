"""Strength sweeps: one variant of one task at several strengths, and what the audit says."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from nearsym.studies.audited import MEASURES, Quantity, measure_of
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
from nearsym.tasks.strength import ORIGINAL
from nearsym.training.bars import over

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

    def measured(self, quantity: Quantity) -> dict[float, float | None]:
        """What the audit measures at each strength."""
        return {s: measure_of(self.worlds[s], self.runs[s], quantity) for s in self.worlds}


def sweeps(results: Iterable[RunResult]) -> list[Sweep]:
    """Every variant that was run at three strengths or more, with zero."""
    trained = [run for run in results if run.frames]
    worlds = {world: plain(runs) for world, runs in by_world(trained).items()}
    found: dict[tuple[str, str, Scale], dict[float, World]] = {}
    for world in worlds:
        name, strength = variant_of(world.task, world.variant)
        if name != ORIGINAL and world.task != TRADING and not world.noise:
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


def with_audits(results: Iterable[RunResult], *, progress: bool = False) -> list[RunResult]:
    """The same results, those of tasks with a sweep with what the audit says of their worlds among
    their details: an audit takes seconds, and a file of results is read often."""
    runs = unique(results)
    swept = {(sweep.task, sweep.scale) for sweep in sweeps(runs)}
    worlds = {w: there for w, there in by_world(runs).items() if (w.task, w.scale) in swept}
    known: dict[World, dict[str, float]] = {}
    for world, there in over(worlds.items(), "audits") if progress else worlds.items():
        found = {name: measure_of(world, there, name) for name in MEASURES}
        known[world] = {name: value for name, value in found.items() if value is not None}
    return [replace(run, details=run.details | known.get(world_of(run), {})) for run in runs]
