"""Luck or skill: a result's probability under chance, and the Sharpe ratio of the best of many."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from nearsym.errors import UsageError

_EULER = 0.5772156649015329


def chance_of(result: float, draws: Sequence[float] | np.ndarray) -> float:
    """How probable it is that chance does at least as well: (1 + #{draws ≥ result}) / (1 + n).

    >>> chance_of(5.0, [1.0, 2.0, 5.0])
    0.5
    """
    return (1 + int(np.sum(np.asarray(draws) >= result))) / (1 + len(draws))


def probabilistic_sharpe(returns: np.ndarray, benchmark: float = 0.0) -> float:
    """The probability that the true Sharpe ratio of daily returns lies above a benchmark.

        Φ((S − S*) √(n − 1) / √(1 − g₃ S + (g₄ − 1)/4 · S²))

    with S = mean/std of a day, g₃ the skewness and g₄ the kurtosis (3 for a normal): Bailey and
    López de Prado, 2012. `benchmark` is S*, of a day too.
    """
    returns = np.asarray(returns, dtype=np.float64)
    if len(returns) < 3:
        raise UsageError(f"A Sharpe ratio needs at least 3 daily returns, got {len(returns)}.")
    std = returns.std(ddof=1)
    if std == 0:
        return 0.5
    ratio = float(returns.mean() / std)
    unit = (returns - returns.mean()) / returns.std()
    skewness, kurtosis = float((unit**3).mean()), float((unit**4).mean())
    shape = 1 - skewness * ratio + (kurtosis - 1) / 4 * ratio**2
    spread = math.sqrt(max(shape, 1e-12) / (len(returns) - 1))
    return NormalDist().cdf((ratio - benchmark) / spread)


def expected_largest(trials: int, variance: float) -> float:
    """The Sharpe ratio that the best of so many trials reaches by chance, if none is any good.

        √V · ((1 − γ) Φ⁻¹(1 − 1/N) + γ Φ⁻¹(1 − 1/(N e))),   γ = 0.5772…

    with V the variance of the trials' ratios: Bailey and López de Prado, 2014.
    """
    if trials < 2:
        return 0.0
    high, higher = (NormalDist().inv_cdf(1 - 1 / (trials * k)) for k in (1.0, math.e))
    return math.sqrt(variance) * ((1 - _EULER) * high + _EULER * higher)


def deflated_sharpe(returns: np.ndarray, ratios: Sequence[float]) -> float:
    """The probability that a Sharpe ratio is more than the best of several trials has by chance.

    `ratios` are those of every trial that was made, of a day, this one among them.
    """
    variance = float(np.var(ratios, ddof=1)) if len(ratios) > 1 else 0.0
    return probabilistic_sharpe(returns, expected_largest(len(ratios), variance))


def daily_sharpe(returns: np.ndarray) -> float:
    """mean/std of a day; 0 for what never moves.

    >>> daily_sharpe(np.zeros(5))
    0.0
    """
    std = float(np.std(returns, ddof=1))
    return float(np.mean(returns)) / std if std > 0 else 0.0
