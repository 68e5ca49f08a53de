"""Confidence intervals. Which one fits depends on how many numbers there are, and of what:

| function | numbers | why |
|---|---|---|
| `student_interval` | a few runs or seeds | a bootstrap of so few is far too narrow |
| `bootstrap_interval` | tens of episodes | assumes no distribution |
| `episode_interval` | episodes, few or many | one of the two above |
| `mean_interval` | tens of skewed numbers ≥ 0 | corrects for the skewness |
| `stratified_interval` | runs of several worlds, any statistic | worlds differ |
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError

DRAWS = 2000
"""Resamples for an interval."""
ENOUGH = 10
"""Episodes for a bootstrap."""
STUDENT, NO_INTERVAL = "Student's t", "no interval"


def student_interval(
    values: Sequence[float] | np.ndarray,
) -> tuple[float, tuple[float, float] | None]:
    """Mean and its 95 % interval, mean ± t₀.₉₇₅(n−1)·s/√n; no interval for a single value.

    Student's t and not a bootstrap: over three to five seeds a bootstrap is far too narrow.

    >>> student_interval([1.0])
    (1.0, None)
    >>> mean, (low, high) = student_interval([1.0, 2.0, 3.0])
    >>> round(mean, 3), round(low, 3), round(high, 3)
    (2.0, -0.484, 4.484)
    """
    sample = np.asarray(values, dtype=np.float64)
    n = _count(sample)
    mean = float(sample.mean())
    if n == 1:
        return mean, None
    from scipy.special import stdtrit  # here: slow to import, and importing nearsym would have to

    half = float(stdtrit(n - 1, 0.975)) * float(sample.std(ddof=1)) / math.sqrt(n)
    return mean, (mean - half, mean + half)


def bootstrap_interval(
    values: Sequence[float] | np.ndarray, *, level: float = 0.95, draws: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """A percentile bootstrap interval of the mean.

    >>> bootstrap_interval(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    sample = np.asarray(values, dtype=np.float64)
    n = _count(sample)
    picks = np.random.default_rng(seed).integers(n, size=(draws, n))
    low, high = np.quantile(sample[picks].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def episode_interval(
    returns: Sequence[float] | np.ndarray,
) -> tuple[tuple[float, float] | None, str]:
    """The 95 % interval of a mean return over episodes, and what it is by: a bootstrap from ten
    episodes on, Student's t for fewer, of which a bootstrap would be too narrow.

    >>> episode_interval([1.0])
    (None, 'no interval')
    >>> episode_interval([1.0, 1.0])
    ((1.0, 1.0), "Student's t")
    """
    if len(returns) >= ENOUGH:
        return bootstrap_interval(returns), "bootstrap"
    interval = student_interval(returns)[1]
    return interval, NO_INTERVAL if interval is None else STUDENT


def stratified_interval(
    groups: Sequence[np.ndarray],
    statistic: Callable[[list[np.ndarray]], np.ndarray],
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """A percentile bootstrap interval of a statistic of several groups, each resampled by itself.

    `statistic` is given the resamples of all groups, (draws, n − 1) each, and returns (draws, …).
    A resample has n − 1 of a group's n values: n of n would make the variance too small by the
    factor (n − 1)/n, a fifth for five runs.

    >>> low, high = stratified_interval(
    ...     [np.zeros(5), np.ones(5)], lambda groups: np.concatenate(groups, 1).mean(1)
    ... )
    >>> float(low), float(high)
    (0.5, 0.5)
    """
    samples = [np.asarray(group, dtype=np.float64) for group in groups]
    for sample in samples:
        if _count(sample) < 2:
            raise UsageError("A bootstrap needs at least two values of every group, got one.")
    rng = np.random.default_rng(seed)
    drawn = [sample[rng.integers(len(sample), size=(draws, len(sample) - 1))] for sample in samples]
    low, high = np.quantile(statistic(drawn), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


@dataclass(frozen=True)
class Estimate:
    """Mean with an interval, the 95 % quantile, and the largest value seen (no bound)."""

    mean: float
    mean_ci95: tuple[float, float]
    q95: float
    largest: float
    mean_from_above: float | None = None
    """Random dynamics: the mean estimated from above; `mean` is then estimated from below, and the
    interval covers both."""

    def as_json(self) -> dict[str, float | list[float]]:
        numbers: dict[str, float | list[float]] = {
            "mean": self.mean,
            "mean_ci95": list(self.mean_ci95),
            "q95": self.q95,
            "largest": self.largest,
        }
        if self.mean_from_above is not None:
            numbers["mean_from_above"] = self.mean_from_above
        return numbers


def estimate(values: Float[np.ndarray, "episodes samples"], rng: np.random.Generator) -> Estimate:
    """Summary of samples that are independent between episodes and may depend within one.

    >>> estimate(np.array([[1.0, 2.0], [1.0, 2.0]]), np.random.default_rng(0)).mean
    1.5
    """
    return Estimate(
        float(values.mean()),
        mean_interval(values.mean(axis=1), rng),
        float(np.quantile(values, 0.95)),
        float(values.max()),
    )


def mean_interval(
    means: Float[np.ndarray, "episodes"], rng: np.random.Generator, level: float = 0.95
) -> tuple[float, float]:
    """An interval for the expected value of independent numbers by the studentised bootstrap.

    It resamples t* = (m* − m) / s*, and inverts its quantiles: [m − t*_{hi} s, m − t*_{lo} s]. That
    corrects for skewness, which a plain t interval does not: mismatches are ≥ 0 and mostly small.

    >>> low, high = mean_interval(np.linspace(0.0, 1.0, 50), np.random.default_rng(0))
    >>> low < 0.5 < high
    True
    """
    n, mean = len(means), float(means.mean())
    error = float(means.std(ddof=1)) / np.sqrt(n) if n > 1 else np.inf
    if error == 0:
        return mean, mean
    if not np.isfinite(error):
        return -np.inf, np.inf
    drawn = means[rng.integers(n, size=(DRAWS, n))]
    errors = drawn.std(axis=1, ddof=1) / np.sqrt(n)
    # Where one episode of many saw something, resamples without it have no spread. A fifth of the
    # error then gives an upper end of 6 means, near the 5.6 of a Poisson count of one.
    errors = np.maximum(errors, 0.2 * error)
    t = (drawn.mean(axis=1) - mean) / errors
    low, high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    smallest = 0.0 if means.min() >= 0 else -np.inf
    return float(max(mean - high * error, smallest)), float(mean - low * error)


def _count(sample: np.ndarray) -> int:
    if len(sample) == 0:
        raise UsageError("An interval needs at least one value, got none.")
    return len(sample)
