"""What a set of samples, taken in independent episodes, says about its mean."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

DRAWS = 2000
"""Resamples for an interval."""


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
    """Summary of samples that are independent between episodes and anything within one."""
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
