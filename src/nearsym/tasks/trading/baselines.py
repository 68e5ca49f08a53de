"""Portfolios to beat: bought once on the first day and held, or the market's index.

| name | what is held |
|---|---|
| uniform | the same money in each ticker |
| inverse volatility | weights ∝ 1/std of the training returns |
| minimum variance | long-only, fitted on the training returns |
| maximum Sharpe | long-only, fitted on the training returns |
| index | the table's index, or else the tickers at equal weight every day, without costs |
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from nearsym.errors import MissingExtraError, UsageError
from nearsym.tasks.trading.portfolio import Track
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.split import Split


def baseline_tracks(
    table: PriceTable,
    split: Split,
    days: slice,
    *,
    cash: float = 1_000_000.0,
    cost: float = 0.001,
    fill: Literal["close", "next_open"] = "close",
) -> list[Track]:
    """Every baseline over the rows `days` of a table, under the rules of the trading task.

    Weights are fitted on the training part alone, and only to tickers that moved in it: one that
    never did has no risk to weigh. Where none moved, nothing is fitted. Maximum Sharpe is left out
    where no ticker gained in training: its problem has no solution then.
    """
    returns = training_returns(table, split)
    moved = returns.std(axis=0) > 0
    fitted: dict[str, Callable[[np.ndarray], np.ndarray]] = {}
    if moved.any():
        fitted = {"inverse volatility": inverse_volatility, "minimum variance": minimum_variance}
    if (returns.mean(axis=0) > 0).any():
        fitted["maximum Sharpe"] = maximum_sharpe
    weights = {"uniform": np.full(len(table.tickers), 1 / len(table.tickers))}
    for name, fit in fitted.items():
        weights[name] = np.zeros(len(table.tickers))
        weights[name][moved] = fit(returns[:, moved])
    tracks = [
        hold(table, days, w, name=name, cash=cash, cost=cost, fill=fill)
        for name, w in weights.items()
    ]
    return [*tracks, index_track(table, days, cash=cash)]


def hold(
    table: PriceTable,
    days: slice,
    weights: np.ndarray,
    *,
    name: str,
    cash: float = 1_000_000.0,
    cost: float = 0.001,
    whole_shares: bool = True,
    fill: Literal["close", "next_open"] = "close",
) -> Track:
    """Spend wₙ·cash on ticker n, fee included, at the first close (or next open), and hold.

        shares = ⌊wₙ·cash / ((1 + cost)·price)⌋,   value[t] = rest + Σ shares·close[t]

    What whole shares leave over stays in cash. The trading limit of the task does not apply.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(table.tickers),) or weights.min() < 0 or weights.sum() > 1 + 1e-9:
        raise UsageError(
            f"Holding {len(table.tickers)} tickers needs as many weights ≥ 0 with sum ≤ 1, got "
            f"shape {weights.shape}, sum {weights.sum():g}."
        )
    close = table.close[days]
    price = close[0] if fill == "close" else table.bar("open")[days][1]
    shares = weights * cash / ((1 + cost) * price)
    if whole_shares:
        shares = np.floor(shares)
    spent = float(shares @ price)
    value = cash - (1 + cost) * spent + close @ shares
    value[0] = cash  # the state before the trade
    once = np.zeros(len(value))
    once[1] = spent
    held = np.tile(shares, (len(value), 1))
    held[0] = 0.0
    rest = np.full(len(value), cash - (1 + cost) * spent)
    rest[0] = cash
    return Track(name, _iso(table, days), value, cost * once, once / cash, rest, held)


def index_track(table: PriceTable, days: slice, *, cash: float = 1_000_000.0) -> Track:
    """The table's index bought for all the cash; without one, the equal-weight index

        I[t] = I[t − 1]·(1 + mean over tickers of the day's return),

    which is rebalanced every day and pays nothing: a yardstick, not a portfolio one could hold.
    """
    if table.index is not None:
        level, name = table.index[days], f"index {table.index_name}"
    else:
        close = table.close[days]
        level = np.cumprod(np.r_[1.0, (close[1:] / close[:-1]).mean(axis=1)])
        name = "equal-weight index"
    nothing = np.zeros(len(level))
    return Track(name, _iso(table, days), cash * level / level[0], nothing, nothing)


def training_returns(table: PriceTable, split: Split) -> np.ndarray:
    """Daily returns, close to close, within the training part: (days − 1, tickers)."""
    close = table.close[split.days(table, "train")]
    return close[1:] / close[:-1] - 1


def inverse_volatility(returns: np.ndarray) -> np.ndarray:
    return _fit(lambda module: module.InverseVolatility(), returns)


def minimum_variance(returns: np.ndarray) -> np.ndarray:
    """min wᵀΣw with w ≥ 0, Σw = 1."""
    return _fit(lambda module: module.MeanRisk(), returns)


def maximum_sharpe(returns: np.ndarray) -> np.ndarray:
    """max wᵀμ/√(wᵀΣw) with w ≥ 0, Σw = 1."""

    def estimator(module: Any) -> Any:
        from skfolio import RiskMeasure

        return module.MeanRisk(
            objective_function=module.ObjectiveFunction.MAXIMIZE_RATIO,
            risk_measure=RiskMeasure.STANDARD_DEVIATION,
        )

    return _fit(estimator, returns)


def _fit(estimator: Callable[[Any], Any], returns: np.ndarray) -> np.ndarray:
    try:
        import skfolio.optimization as module
    except ImportError as error:
        raise MissingExtraError("The fitted baselines", "trading") from error
    weights = np.asarray(estimator(module).fit(returns).weights_, dtype=np.float64)
    weights = np.maximum(weights, 0.0)  # solvers leave −1e-12
    return weights / weights.sum()


def _iso(table: PriceTable, days: slice) -> tuple[str, ...]:
    return tuple(str(day) for day in table.dates[days])
