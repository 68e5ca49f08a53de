"""Regret: how much a model loses, world by world, to the model that is best there.

Where the world is symmetric exact should win, where it is not none should, and approx should lose
little anywhere: its mean and its worst regret over worlds say so in one number.

Returns are normalised per task, from 0, what the first evaluations earn, to 1, what the best model
earns in the best of its worlds. The best of several noisy means is too high, and so is the worst of
several regrets. So the best model of a world, and the worst world of a model, are chosen on half of
the seeds and measured on the other half, over many splits into halves and both ways round. The
regret of a model may therefore come out below 0.

Worlds share their seeds, and a seed that is unlucky in one is often unlucky in others. So a split
is the same in all worlds, and intervals come from leaving out a seed everywhere.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError
from nearsym.studies.comparison import comparable
from nearsym.studies.results import RunResult
from nearsym.studies.scores import Score, at_end, by_seed
from nearsym.studies.selection import TRADING, World, by_world, model_order, plain, unique
from nearsym.studies.statistics import Measured

SPLITS = 100
"""Ways to split the seeds into halves; each is used both ways round."""
JACKKNIFE = "a jackknife over seeds"
LEAST = 3
"""Seeds of a world from which one can be left out and the rest still be split."""

Means = Float[np.ndarray, "worlds splits models"]
"""Mean scores over half of the seeds."""


class Halves(NamedTuple):
    """Splits of the seeds: the half that chooses, and the one that is measured."""

    chooses: Means
    measured: Means


Statistic = Callable[[Halves], float]


@dataclass(frozen=True)
class Regret:
    """The normalised scores of the same models in several worlds."""

    models: tuple[str, ...]
    worlds: tuple[World, ...]
    scores: tuple[Float[np.ndarray, "models seeds"], ...]
    """For each world; the seeds are those that all models have there."""
    seeds: tuple[tuple[int, ...], ...]
    """For each world. One seed in several worlds is one random start, not several."""

    def gap(self, world: int, model: str) -> Measured:
        """What a model loses in one world to the best there."""
        return self._alone[world].mean(model)

    def mean(self, model: str) -> Measured:
        """Its mean over worlds; every task counts the same, however many worlds it has."""
        return self._measured(lambda halves: self._mean(halves, model))

    def worst(self, model: str) -> Measured:
        """Its regret in the world where that is highest."""
        return self._measured(lambda halves: self._worst(halves, model))

    def mean_beyond(self, other: str, model: str) -> Measured:
        """How much more another model loses on average than this one."""
        return self._measured(lambda h: self._mean(h, other) - self._mean(h, model))

    def worst_beyond(self, other: str, model: str) -> Measured:
        """How much more another model loses at worst than this one."""
        return self._measured(lambda h: self._worst(h, other) - self._worst(h, model))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(dict.fromkeys(world.task for world in self.worlds))

    def of_tasks(self, tasks: Collection[str]) -> "Regret":
        """The same scores in the worlds of some tasks alone."""
        each = zip(self.worlds, self.scores, self.seeds, strict=True)
        return Regret(
            self.models, *zip(*(one for one in each if one[0].task in tasks), strict=True)
        )

    def _gaps(self, halves: Halves, model: str) -> Float[np.ndarray, "worlds splits"]:
        """The model that one half of the seeds calls best, less another, on the other half."""
        best = halves.chooses.argmax(axis=2, keepdims=True)
        measured = halves.measured
        return np.take_along_axis(measured, best, 2)[..., 0] - measured[..., self._place(model)]

    def _mean(self, halves: Halves, model: str) -> float:
        tasks = [world.task for world in self.worlds]
        weights = [1 / tasks.count(task) for task in tasks]
        return float(np.average(self._gaps(halves, model).mean(axis=1), weights=weights))

    def _worst(self, halves: Halves, model: str) -> float:
        """The gap in the world that the half which chooses calls the worst."""
        chooses = halves.chooses
        lost = chooses.max(axis=2) - chooses[..., self._place(model)]
        return float(np.take_along_axis(self._gaps(halves, model), lost.argmax(0)[None], 0).mean())

    def _place(self, model: str) -> int:
        return self.models.index(model)

    def _measured(self, statistic: Statistic) -> Measured:
        """A number of all seeds, and its interval from those that lack one seed each.

        A seed is left out of all its worlds at once. So the jackknife counts what the seed does
        to several worlds, and what it does to the choice of the best model.
        """
        value, fewest = statistic(self._whole), min(map(len, self.seeds))
        without = np.array([statistic(halves) for halves in self._without_one])
        # What one seed of n changes is too large by n / (n − 1).
        beside = np.array([min(len(s) for s in self.seeds if seed in s) for seed in self._ranks])
        error = np.sqrt(((beside - 1) / beside * (without - without.mean()) ** 2).sum())
        half = _quantile(fewest - 1) * float(error)
        return Measured(value, (value - half, value + half), fewest, JACKKNIFE, fewest - 1.0)

    @cached_property
    def _alone(self) -> "list[Regret]":
        """Each world by itself: it may have more seeds than others."""
        each = zip(self.worlds, self.scores, self.seeds, strict=True)
        return [Regret(self.models, (w,), (scores,), (seeds,)) for w, scores, seeds in each]

    @cached_property
    def _ranks(self) -> dict[int, np.ndarray]:
        """For each seed its place in every split: those of one split order all seeds."""
        every = sorted(set().union(*self.seeds))
        places = np.tile(np.arange(len(every)), (SPLITS, 1))
        ranks = np.random.default_rng(0).permuted(places, axis=1)
        return dict(zip(every, ranks.T, strict=True))

    @cached_property
    def _whole(self) -> Halves:
        return self._halves()

    @cached_property
    def _without_one(self) -> list[Halves]:
        return [self._halves(seed) for seed in self._ranks]

    def _halves(self, left_out: int | None = None) -> Halves:
        """All splits, the same in all worlds as far as they have the same seeds."""
        pairs = [
            self._split(scores, seeds, left_out)
            for scores, seeds in zip(self.scores, self.seeds, strict=True)
        ]
        return Halves(*map(np.array, zip(*pairs, strict=True)))

    def _split(
        self, scores: np.ndarray, seeds: tuple[int, ...], left_out: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        kept = [place for place, seed in enumerate(seeds) if seed != left_out]
        ranks = np.stack([self._ranks[seeds[place]] for place in kept], axis=1)  # (splits, seeds)
        orders = np.array(kept)[ranks.argsort(axis=1)]
        half = len(kept) // 2
        first = scores[:, orders[:, :half]].mean(axis=2).T  # (splits, models)
        second = scores[:, orders[:, half:]].mean(axis=2).T
        return np.concatenate([first, second]), np.concatenate([second, first])


def regret_of(
    results: Iterable[RunResult], score: Score = at_end, *, models: Sequence[str] | None = None
) -> Regret | None:
    """The regret of models over the worlds in which all of them were run with three seeds or more.

    By default the models are those that all such worlds have. Tasks on which no model learned
    anything are left out. None if there is nothing to compare.
    """
    every = [run for run in unique(results) if run.frames]
    worlds = {world: plain(runs) for world, runs in by_world(every).items() if _counts(world)}
    named = next(iter(model_sets(every)), ()) if models is None else tuple(models)
    if len(named) < 2:
        return None
    found: dict[World, np.ndarray] = {}
    shared: dict[World, tuple[int, ...]] = {}
    for world, runs in worlds.items():
        groups = comparable(*([run for run in runs if run.model == m] for m in named))
        worlds[world] = [run for group in groups for run in group]
        values = [by_seed(group, score) for group in groups]
        seeds = sorted(set.intersection(*map(set, values)))
        if len(seeds) >= LEAST:
            shared[world] = tuple(seeds)
            found[world] = np.array([[value[seed] for seed in seeds] for value in values])
    normalised = _normalised(found, worlds)
    if not normalised:
        return None
    seeds_of = tuple(shared[world] for world in normalised)
    return Regret(named, tuple(normalised), tuple(normalised.values()), seeds_of)


def _counts(world: World) -> bool:
    """Portfolios have no regret; training with noise on the images is a study of its own."""
    return world.task != TRADING and not world.noise


def normaliser(runs: Iterable[RunResult], best: float) -> Callable[[np.ndarray], np.ndarray]:
    """Scores of a task from 0, the mean of its runs' first evaluations, to 1, the best.

    >>> from nearsym.studies.results import RunResult
    >>> about = dict(key="", task="t", variant=None, obs=None, agent="sac", model="none", seed=0)
    >>> run = RunResult(**about, preset="smoke", frames=[1, 2], returns=[[10.0], [90.0]])
    >>> normaliser([run], best=110.0)(np.array([60.0]))
    array([0.5])
    """
    first = float(np.mean([run.curve()[0] for run in runs]))
    if best <= first:
        raise UsageError(
            f"Returns cannot be normalised where nothing was learned: the best mean is {best:g}, "
            f"the first evaluations have {first:g}."
        )
    return lambda scores: (scores - first) / (best - first)


def _normalised(
    found: dict[World, np.ndarray], worlds: dict[World, list[RunResult]]
) -> dict[World, np.ndarray]:
    normalised = {}
    for world, scores in found.items():
        same = [w for w in found if (w.task, w.scale) == (world.task, world.scale)]
        best = max(float(found[w].mean(axis=1).max()) for w in same)
        with suppress(UsageError):  # nothing was learned
            normalised[world] = normaliser([run for w in same for run in worlds[w]], best)(scores)
    return normalised


def model_sets(results: Iterable[RunResult]) -> list[tuple[str, ...]]:
    """The models that most worlds share, of several such sets the largest; then, as long as two
    worlds or more have further models, those that most of these share."""
    worlds = [_together(plain(runs)) for w, runs in by_world(results).items() if _counts(w)]
    worlds = [models for models in worlds if len(models) > 1]
    if not worlds:
        return []
    sets = [set.intersection(*worlds), *(a & b for a, b in combinations(worlds, 2))]
    chosen: list[set[str]] = []
    larger = [models for models in sets if len(models) > 1]
    while larger:
        most = max(larger, key=lambda s: (sum(s <= models for models in worlds), len(s)))
        chosen.append(most)
        larger = [models for models in larger if models > most]
    return [tuple(sorted(models, key=model_order)) for models in chosen]


def _together(runs: Sequence[RunResult]) -> set[str]:
    """The largest set of models with seeds enough in common; of several the one that has most."""
    seeds: dict[str, set[int]] = {}
    for run in (run for run in runs if run.frames):
        seeds.setdefault(run.model, set()).add(run.seed)
    models = sorted((m for m in seeds if len(seeds[m]) >= LEAST), key=lambda m: (model_order(m), m))
    for count in range(len(models), 1, -1):
        shared = {
            s: len(set.intersection(*(seeds[m] for m in s))) for s in combinations(models, count)
        }
        best = max(shared, key=lambda some: shared[some])
        if shared[best] >= LEAST:
            return set(best)
    return set()


def _quantile(freedom: float) -> float:
    from scipy.special import stdtrit  # here: slow to import

    return float(stdtrit(freedom, 0.975))
