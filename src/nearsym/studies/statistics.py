"""Numbers of several runs, each with how many seeds it rests on and which interval it carries.

    one world        mean_over_seeds, paired_difference: Student's t over seeds
    several worlds   interquartile_mean, probability_of_improvement, performance_profile:
                     a stratified bootstrap over runs

One seed gives no interval. A bootstrap is refused below `LEAST_RUNS` runs or `LEAST_SEEDS` seeds in
a world: over three seeds in each of four worlds a nominal 95 % would cover 88 %.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearsym.errors import UsageError
from nearsym.measures.intervals import (
    NO_INTERVAL,
    STUDENT,
    stratified_interval,
    student_interval,
)

LEAST_RUNS = 10
"""From so many runs on an aggregate is bootstrapped."""
LEAST_SEEDS = 5
"""In every world; fewer also decide no claim."""
BOOTSTRAP = "stratified bootstrap"

Values = Mapping[int, float]
"""A number for each seed."""


@dataclass(frozen=True)
class Measured:
    """A number, its 95 % interval, and what they rest on.

    >>> mean_over_seeds({0: 1.0, 1: 2.0, 2: 3.0})
    2 ± 2.48 (3 seeds, Student's t)
    >>> mean_over_seeds({0: 1.0})
    1 (1 seed, no interval)
    """

    value: float
    ci95: tuple[float, float] | None
    seeds: int
    """How many; of several worlds, the smallest number in one of them."""
    interval: str
    """The kind of interval."""
    freedom: float | None = None
    """Degrees of freedom, where the interval comes from Student's t."""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        ends = None if self.ci95 is None else list(self.ci95)
        return {"value": self.value, "ci95": ends, "seeds": self.seeds, "interval": self.interval}

    def scaled(self, factor: float) -> "Measured":
        """In other units."""
        ends = None if self.ci95 is None else (factor * self.ci95[0], factor * self.ci95[1])
        return replace(self, value=factor * self.value, ci95=ends)

    def text(self, digits: int | None = None) -> str:
        """`mean ± half` where the interval lies around it evenly, else `mean [low, high]`."""
        show = _short if digits is None else lambda x: _unsigned_zero(f"{x:.{digits}f}")
        if self.ci95 is None:
            return show(self.value)
        low, high = self.ci95
        if low == self.value == high == 0:
            return "0"
        half = (high - low) / 2
        if math.isclose(low + half, self.value, rel_tol=1e-6, abs_tol=1e-9):
            return f"{show(self.value)} ± {show(half)}"
        return f"{show(self.value)} [{show(low)}, {show(high)}]"

    def __repr__(self) -> str:
        plural = "" if self.seeds == 1 else "s"
        return f"{self.text()} ({self.seeds} seed{plural}, {self.interval})"


def _short(number: float) -> str:
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


def _unsigned_zero(number: str) -> str:
    """0.00 for −0.00."""
    return number.removeprefix("-") if not number.strip("-0.") else number


def mean_over_seeds(values: Values) -> Measured:
    """The mean of a number over seeds, with Student's t."""
    mean, interval = student_interval(list(values.values()))
    if interval is None:
        return Measured(mean, None, len(values), NO_INTERVAL)
    return Measured(mean, interval, len(values), STUDENT, freedom=len(values) - 1.0)


def differences(a: Values, b: Values) -> dict[int, float]:
    """a − b for each seed that both have.

    >>> differences({0: 3.0, 1: 5.0}, {1: 4.0, 2: 9.0})
    {1: 1.0}
    """
    return {seed: a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())}


def paired_difference(a: Values, b: Values) -> Measured:
    """The mean of a − b over the seeds that both have.

    Pairing takes out what a seed does to both: initial states and, where shapes agree, weights.
    """
    found = differences(a, b)
    if not found:
        raise UsageError("A paired difference needs a seed that both have, got none.")
    return mean_over_seeds(found)


def interquartile_mean(worlds: Sequence[np.ndarray]) -> Measured:
    """The mean of the middle half of all runs; `worlds` holds the normalised scores of each.

    >>> interquartile_mean([np.array([0.0, 1.0, 2.0, 99.0])]).value
    1.5
    """
    return _aggregate(worlds, worlds, lambda groups: _middle(np.concatenate(groups, axis=1)))


def probability_of_improvement(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> Measured:
    """How probably a run of `a` beats one of `b` in the same world, averaged over worlds.

    >>> probability_of_improvement([np.array([1.0, 2.0])], [np.array([1.0, 0.0])]).value
    0.875
    """
    if len(a) != len(b):
        raise UsageError(f"`a` and `b` must hold the same worlds, got {len(a)} and {len(b)}.")

    def better(groups: list[np.ndarray]) -> np.ndarray:
        pairs = zip(groups[: len(a)], groups[len(a) :], strict=True)
        return np.mean([_wins(mine, others) for mine, others in pairs], axis=0)

    return _aggregate([*a, *b], a, better)


def performance_profile(
    worlds: Sequence[np.ndarray], thresholds: Sequence[float]
) -> list[Measured]:
    """For each threshold the share of runs whose score is above it, every world counted alike.

    >>> [point.value for point in performance_profile([np.array([0.2, 0.8])], [0.0, 0.5, 1.0])]
    [1.0, 0.5, 0.0]
    """
    return [
        _aggregate(worlds, worlds, lambda groups, t=threshold: _share(groups, t))
        for threshold in thresholds
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: p-values that hold for the whole family at once.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    count, largest = len(p_values), 0.0
    adjusted = [0.0] * count
    for rank, i in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        largest = max(largest, (count - rank) * p_values[i])
        adjusted[i] = min(1.0, largest)
    return adjusted


def tails(measured: Measured, threshold: float) -> tuple[float, float]:
    """Student's t: one-sided p-values, that the truth is above the threshold and that it is below.

    >>> above, below = tails(mean_over_seeds({0: 1.0, 1: 2.0, 2: 3.0}), 0.0)
    >>> round(above, 4), round(below, 4)
    (0.0371, 0.9629)
    """
    from scipy.special import stdtr, stdtrit  # here: slow to import

    if measured.ci95 is None or measured.freedom is None:
        return 1.0, 1.0
    gap, half = measured.value - threshold, (measured.ci95[1] - measured.ci95[0]) / 2
    if half == 0 or math.isinf(gap):
        return float(gap <= 0), float(gap >= 0)
    t = gap / half * float(stdtrit(measured.freedom, 0.975))
    return float(stdtr(measured.freedom, -t)), float(stdtr(measured.freedom, t))


def _aggregate(groups: Sequence[np.ndarray], worlds: Sequence[np.ndarray], statistic: Any) -> Any:
    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    if not arrays or min(map(len, arrays)) == 0:
        raise UsageError("An aggregate needs at least one run in every world, got none.")
    value = float(statistic([array[None] for array in arrays])[0])
    seeds, runs = min(map(len, arrays)), sum(map(len, worlds))
    if seeds < LEAST_SEEDS or runs < LEAST_RUNS:
        return Measured(value, None, seeds, NO_INTERVAL)
    low, high = stratified_interval(arrays, statistic)
    return Measured(value, (float(low), float(high)), seeds, BOOTSTRAP)


def _middle(scores: np.ndarray) -> np.ndarray:
    from scipy.stats import trim_mean

    return trim_mean(scores, 0.25, axis=1)


def _wins(mine: np.ndarray, others: np.ndarray) -> np.ndarray:
    gaps = mine[:, :, None] - others[:, None, :]  # (draws, mine, others)
    return ((gaps > 0) + 0.5 * (gaps == 0)).mean(axis=(1, 2))


def _share(groups: list[np.ndarray], threshold: float) -> np.ndarray:
    return np.mean([(group > threshold).mean(axis=1) for group in groups], axis=0)
