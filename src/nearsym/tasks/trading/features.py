"""What an agent sees of the market: prices and indicators, normalised by the training period."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearsym.errors import UsageError
from nearsym.tasks.trading.days import import_pandas
from nearsym.tasks.trading.indicators import IN_PRICE_UNITS, INDICATORS, WARM_UP, choose
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.split import Split

CLIP = 10.0
"""Normalised features are cut to [−10, 10], ten training deviations, so the space is bounded."""

FEATURES = ("levels", "returns")
VOLATILITY_DAYS, LEAST_VOLATILITY = 20, 1e-4


@dataclass(frozen=True, eq=False)
class MarketFeatures:
    """Normalised features of each day, and their names."""

    values: np.ndarray
    """(days, features) float32; rows before `first` are not usable."""
    names: tuple[str, ...]
    """`price/AAPL`, …, then `macd/AAPL`, …: one block of tickers after the other."""
    first: int
    """The first day on which every indicator exists."""


def market_features(
    table: PriceTable,
    split: Split,
    *,
    indicators: Sequence[str] | None = None,
    foresight: bool = False,
    kind: str = "levels",
) -> MarketFeatures:
    """z = (x − mean) / std with mean and std of the training days, for each column alone.

    With `kind="levels"` (the paper) x is the logarithm of the close; an indicator in price units
    divided by the close, less one for levels (bands and averages); or an indicator that is a pure
    number, as it is. So a stock at 0.30 and one at 300 look alike. But prices grow: years after
    training most of them lie beyond all that was seen in it.

    With `kind="returns"` nothing drifts: x is the day's log return, and an indicator in price
    units relative to the close, both divided by the ticker's volatility of late.

    `foresight` adds the return to the next day's close: only for testing a learner.
    """
    chosen = choose(table, indicators)
    first = max((WARM_UP[name] for name in chosen), default=0)
    unit = np.ones_like(table.close)
    if kind == "levels":
        columns = {"price": np.log(table.close)}
    else:
        first = max(first, VOLATILITY_DAYS)
        unit = volatility(table.close)
        columns = {"return": log_returns(table.close) / unit}
    for name in chosen:
        relative = _free_of_price(name, INDICATORS[name](table), table.close)
        columns[name] = relative / unit if name in IN_PRICE_UNITS else relative
    if foresight:
        tomorrow = np.zeros_like(table.close)
        tomorrow[:-1] = table.close[1:] / table.close[:-1] - 1
        columns["tomorrow"] = tomorrow
    train = split.days(table, "train")
    if max(train.start, first) + 2 > train.stop:
        raise UsageError(
            f"The training period of {split} has {train.stop - train.start} days in "
            f"{table.source}, and the indicators need {first} days before they exist. "
            "Start training earlier, or choose fewer indicators."
        )
    used = slice(max(train.start, first), train.stop)
    normalised = [_standardised(column, used) for column in columns.values()]
    values = np.concatenate(normalised, axis=1).astype(np.float32)
    values[:first] = 0.0
    values.flags.writeable = False
    names = tuple(f"{name}/{ticker}" for name in columns for ticker in table.tickers)
    return MarketFeatures(values, names, first)


def log_returns(close: np.ndarray) -> np.ndarray:
    """(days, tickers): log p[t]/p[t − 1]; the first day has 0."""
    return np.diff(np.log(close), axis=0, prepend=np.log(close[:1]))


def volatility(close: np.ndarray) -> np.ndarray:
    """(days, tickers): the deviation of daily log returns around 0 over the past, recent days
    weighing more (half of the weight on the last 20); never below a hundredth of a per cent."""
    squares = import_pandas().DataFrame(log_returns(close)[1:] ** 2)
    mean = squares.ewm(halflife=VOLATILITY_DAYS).mean().to_numpy()
    return np.sqrt(np.maximum(np.r_[mean[:1], mean], LEAST_VOLATILITY**2))


def _free_of_price(name: str, values: np.ndarray, close: np.ndarray) -> np.ndarray:
    if name not in IN_PRICE_UNITS:
        return values
    relative = values / close
    return relative if name == "macd" else relative - 1.0  # macd is a difference already


def _standardised(column: np.ndarray, train: slice) -> np.ndarray:
    mean, std = column[train].mean(axis=0), column[train].std(axis=0)
    std = np.where(std > 1e-12 * np.abs(mean), std, 1.0)  # a column that never moves stays at 0
    return np.clip((column - mean) / std, -CLIP, CLIP)
