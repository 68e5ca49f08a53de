"""Regret: how much a model loses, world by world, to the model that is best there.

Where the world is symmetric exact should win, where it is not none should, and approx should lose
little anywhere: its mean and its worst regret over worlds say so in one number.

Returns are normalised per task, from 0, what the first evaluations earn, to 1, what the best model
earns in the best of its worlds. The best of several noisy means is too high, and so is the worst of
several regrets. So the best model of a world, and the worst world of a model, are chosen on half of
the seeds and measured on the other half, over many splits into halves and both ways round. The
regret of a model may therefore come out below 0.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError
from nearsym.studies.results import RunResult
from nearsym.studies.scores import Score, at_end, by_seed
from nearsym.studies.selection import (
    TRADING,
    World,
    by_world,
    cut,
    model_order,
    plain,
    unique,
)
from nearsym.studies.statistics import STUDENT, Measured

SPLITS = 100
"""Ways to split the seeds into halves; each is used both ways round."""

Means = Float[np.ndarray, "worlds splits models"]
"""Mean scores over half of the seeds."""
Contrast = Float[np.ndarray, "worlds splits models"]
"""Coefficients of the models' mean scores, which make one number when summed over worlds."""


@dataclass(frozen=True)
class Regret:
    """The normalised scores of the same models in several worlds."""

    models: tuple[str, ...]
    worlds: tuple[World, ...]
    scores: tuple[Float[np.ndarray, "models seeds"], ...]
    """For each world; the seeds are those that all models have there."""

    def gap(self, world: int, model: str) -> Measured:
        """What a model loses in one world to the best there."""
        only = np.arange(len(self.scores)) == world
        return self._measured(self._gaps(model) * only[:, None, None])

    def mean(self, model: str) -> Measured:
        """Its mean over worlds."""
        return self._measured(self._mean(model))

    def worst(self, model: str) -> Measured:
        """Its regret in the world where that is highest."""
        return self._measured(self._worst(model))

    def mean_beyond(self, other: str, model: str) -> Measured:
        """How much more another model loses on average than this one."""
        return self._measured(self._mean(other) - self._mean(model))

    def worst_beyond(self, other: str, model: str) -> Measured:
        """How much more another model loses at worst than this one."""
        return self._measured(self._worst(other) - self._worst(model))

    def _gaps(self, model: str) -> Contrast:
        """In each world the model that half of the seeds call best, less another."""
        unit = np.eye(len(self.models))
        return unit[self._halves[0].argmax(axis=2)] - unit[self.models.index(model)]

    def _mean(self, model: str) -> Contrast:
        return self._gaps(model) / len(self.scores)

    def _worst(self, model: str) -> Contrast:
        """As `_gaps`, in the world that the same half calls the worst."""
        chosen = self._halves[0]
        lost = chosen.max(axis=2) - chosen[:, :, self.models.index(model)]  # (worlds, splits)
        worst = np.arange(len(lost))[:, None] == lost.argmax(axis=0)
        return self._gaps(model) * worst[:, :, None]

    def _measured(self, contrast: Contrast) -> Measured:
        """What the other halves say of contrasts that halves of the seeds have chosen.

        Every seed is measured in half of the splits, so the variance is that of a mean over all
        seeds. That of the choice is left out: the intervals cover 92 % or more in simulations.
        """
        value = float((contrast * self._halves[1]).sum(axis=(0, 2)).mean())
        sizes = np.array([score.shape[1] for score in self.scores])
        covariances = np.array([np.cov(score) for score in self.scores]) / sizes[:, None, None]
        parts = np.einsum("wsi,wij,wsj->ws", contrast, covariances, contrast)
        error = float(np.sqrt(max(parts.sum(axis=0).mean(), 0.0)))  # rounding may be below 0
        freedom = _freedom(parts, sizes)
        half = _quantile(freedom) * error
        return Measured(value, (value - half, value + half), int(sizes.min()), STUDENT, freedom)

    @cached_property
    def _halves(self) -> tuple[Means, Means]:
        """Mean scores over one half of the seeds and over the other, split by split."""
        rng = np.random.default_rng(0)
        every = [_split(score, rng) for score in self.scores]
        return np.array([one for one, _ in every]), np.array([other for _, other in every])


def _split(
    scores: Float[np.ndarray, "models seeds"], rng: np.random.Generator
) -> tuple[Float[np.ndarray, "splits models"], Float[np.ndarray, "splits models"]]:
    count = scores.shape[1]
    orders = rng.permuted(np.tile(np.arange(count), (SPLITS, 1)), axis=1)
    first = scores[:, orders[:, : count // 2]].mean(axis=2).T
    second = scores[:, orders[:, count // 2 :]].mean(axis=2).T
    return np.concatenate([first, second]), np.concatenate([second, first])


def _freedom(parts: Float[np.ndarray, "worlds splits"], sizes: np.ndarray) -> float:
    """Degrees of freedom of a sum of variances, by Welch and Satterthwaite."""
    below = (parts**2 / (sizes - 1)[:, None]).sum(axis=0)
    varied = below > 0
    if not varied.any():
        return float(sizes.min() - 1)
    return float((parts.sum(axis=0)[varied] ** 2 / below[varied]).mean())


def regret_of(
    results: Iterable[RunResult], score: Score = at_end, *, models: Sequence[str] | None = None
) -> Regret | None:
    """The regret of models over the worlds in which all of them were run with two seeds or more.

    By default the models are those that all such worlds have. Tasks on which no model learned
    anything are left out. None if there is nothing to compare.
    """
    every = unique(results)
    worlds = {w: plain(runs) for w, runs in by_world(every).items() if w.task != TRADING}
    named = next(iter(model_sets(every)), ()) if models is None else tuple(models)
    found: dict[World, np.ndarray] = {}
    for world, runs in worlds.items():
        worlds[world] = cut([run for run in runs if run.model in named])
        values = [by_seed((r for r in worlds[world] if r.model == m), score) for m in named]
        seeds = sorted(set.intersection(*map(set, values))) if values else []
        if len(seeds) > 1:
            found[world] = np.array([[value[seed] for seed in seeds] for value in values])
    normalised = _normalised(found, worlds)
    if len(named) < 2 or not normalised:
        return None
    return Regret(named, tuple(normalised), tuple(normalised.values()))


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
    """The models that all worlds have which can be compared at all; then, if that leaves some out
    and two worlds have them all, every model."""
    worlds = [_repeated(plain(r)) for w, r in by_world(results).items() if w.task != TRADING]
    worlds = [models for models in worlds if len(models) > 1]
    if not worlds:
        return []
    shared, every = set.intersection(*worlds), set.union(*worlds)
    whole = [every] if every != shared and worlds.count(every) > 1 else []
    chosen = [models for models in (shared, *whole) if len(models) > 1]
    return [tuple(sorted(models, key=model_order)) for models in chosen]


def _repeated(runs: Sequence[RunResult]) -> set[str]:
    """Models with two seeds or more."""
    return {model for model, seeds in Counter(run.model for run in runs).items() if seeds > 1}


def _quantile(freedom: float) -> float:
    from scipy.special import stdtrit  # here: slow to import

    return float(stdtrit(freedom, 0.975))
