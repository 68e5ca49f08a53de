"""The runs of one scale, and the questions that a claim puts to them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from nearsym.studies.claims.claim import Question
from nearsym.studies.comparison import comparable, equally_long, timed_alike
from nearsym.studies.results import RunResult
from nearsym.studies.scores import (
    Score,
    area,
    at_end,
    by_seed,
    fresh,
    kept,
    last_third,
    noise_of_tests,
    seconds_per_frame,
)
from nearsym.studies.selection import TRADING, Scale, World, by_arm, by_world, market_of, plain
from nearsym.studies.statistics import LEAST_SEEDS, Values, mean_over_seeds, paired_difference

Kind = Score | Literal["final", "kept"]
"""What is compared: a number of each run; its final return, if possible that of the best
checkpoint; or the share of its return that it keeps under noise."""
CALLED: dict[Score, str] = {
    area: "area under the curve",
    at_end: "last three evaluations",
    last_third: "last third of the curve",
    fresh: "best checkpoint",
    seconds_per_frame: "seconds per frame",
}


@dataclass
class Evidence:
    """Collects the questions of one claim at one scale, and what it misses."""

    scale: Scale
    worlds: dict[World, list[RunResult]]
    """Those without noise in training: only one claim is about that."""
    noisy: dict[World, list[RunResult]] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Iterable[RunResult], scale: Scale) -> "Evidence":
        """From all results, those of one scale."""
        every = {world: runs for world, runs in by_world(results).items() if world.scale == scale}
        noisy = {world: runs for world, runs in every.items() if world.noise}
        return cls(scale, {w: runs for w, runs in every.items() if w not in noisy}, noisy)

    def world(self, task: str, variant: str | None) -> World:
        return World(task, variant, self.scale)

    def runs(self, task: str, variant: str | None) -> list[RunResult]:
        """Every run of a world."""
        return self.worlds.get(self.world(task, variant), [])

    def markets(self) -> dict[str, list[RunResult]]:
        """The runs in every market of real prices; of the embedded one if there are none."""
        named = {market_of(world): runs for world, runs in self.worlds.items()}
        found = {market: runs for market, runs in named.items() if market is not None}
        return found or {TRADING: []}

    def arms(self, task: str, variant: str | None) -> dict[str, list[RunResult]]:
        """By model, the runs by which models are compared there."""
        return by_arm(plain(self.runs(task, variant)))

    def compare(
        self,
        task: str,
        variant: str | None,
        a: str,
        b: str,
        kind: Kind,
        low: float = 0.0,
        high: float = math.inf,
        *,
        shares: bool = False,
    ) -> None:
        """Ask whether a − b, paired by seed, lies in a region; by default above 0. With `shares`
        the borders are shares of the higher one's mean."""
        arms = self.arms(task, variant)
        called, *values = _paired(arms.get(a, []), arms.get(b, []), kind)
        if shares:
            level = higher(*_of_both(*values))
            low, high = (b if math.isinf(b) else level * b for b in (low, high))
        where = str(self.world(task, variant))
        self.ask(where, f"{a} − {b}, {called}", values[0], values[1], low, high)

    def ask(
        self,
        where: str,
        what: str,
        a: Values,
        b: Values,
        low: float = 0.0,
        high: float = math.inf,
        way: str = "",
    ) -> None:
        """The same of any two numbers by seed."""
        a, b = _of_both(a, b)
        if not a:
            self.missing.append(f"{where}: {what}")
            return
        spread = max(np.ptp([*values.values()]) for values in (a, b))
        found = paired_difference(a, b)
        self.questions.append(Question(where, what, found, low, high, float(spread), way))

    def ask_of(
        self,
        where: str,
        what: str,
        values: Values,
        low: float = 0.0,
        high: float = math.inf,
        *,
        ranks: bool = False,
    ) -> None:
        """Whether the mean of a number over seeds lies in a region. A correlation of `ranks` has
        few values, which a few seeds share by chance."""
        if not values:
            self.missing.append(f"{where}: {what}")
            return
        spread = math.inf if ranks else float(np.ptp([*values.values()]))
        self.questions.append(Question(where, what, mean_over_seeds(values), low, high, spread))


def higher(*values: Values) -> float:
    """The larger mean of several sets of numbers; margins are shares of it."""
    return max((abs(float(np.mean([*some.values()]))) for some in values if some), default=0.0)


def _of_both(a: Values, b: Values) -> tuple[Values, Values]:
    """The values of the seeds that both have: others are not compared, and move no border."""
    both = a.keys() & b.keys()
    first, second = ({seed: v for seed, v in some.items() if seed in both} for some in (a, b))
    return first, second


def _paired(one: list[RunResult], other: list[RunResult], kind: Kind) -> tuple[str, Values, Values]:
    """What is compared, and its values by seed: of best checkpoints after training as long, of
    curves up to the same frame."""
    if kind is seconds_per_frame:
        alike = set(map(id, timed_alike([*one, *other])))
        one, other = ([run for run in runs if id(run) in alike] for runs in (one, other))
    groups, whole = comparable(one, other), equally_long(one, other)
    if kind == "kept":
        name = noise_of_tests(whole[0][0].task) if whole[0] else ""
        shares = [by_seed(runs, partial(kept, name=name)) for runs in whole]
        return "share kept under noise", shares[0], shares[1]
    if kind == "final":
        wanted = {run.seed for run in groups[0]} & {run.seed for run in groups[1]}
        played = [by_seed((r for r in runs if r.seed in wanted), fresh) for runs in whole]
        tested = played[0].keys() & played[1].keys()
        if tested and (len(tested) >= LEAST_SEEDS or tested == wanted):
            return CALLED[fresh], played[0], played[1]
        kind = at_end
    first, second = (by_seed(runs, kind) for runs in groups)
    return CALLED[kind], first, second
