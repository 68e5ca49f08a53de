"""What an agent sees of the market: prices and indicators, normalised by the training period."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearsym.errors import UsageError
from nearsym.tasks.trading.indicators import IN_PRICE_UNITS, INDICATORS, WARM_UP, choose
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.split import Split

CLIP = 10.0
"""Normalised features are cut to [−10, 10], ten training deviations, so the space is bounded."""


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
) -> MarketFeatures:
    """z = (x − mean) / std with mean and std of the training days, for each column alone.

    x is the logarithm of the close; an indicator in price units divided by the close, less one
    for levels (bands and averages); or an indicator that is a pure number, as it is. So a stock at
    0.30 and one at 300 look alike, and a price that has grown tenfold since training stays in
    range. `foresight` adds the return to the next day's close: only for testing a learner.
    """
    chosen = choose(table, indicators)
    first = max((WARM_UP[name] for name in chosen), default=0)
    columns = {"price": np.log(table.close)}
    for name in chosen:
        columns[name] = _free_of_price(name, INDICATORS[name](table), table.close)
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


def _free_of_price(name: str, values: np.ndarray, close: np.ndarray) -> np.ndarray:
    if name not in IN_PRICE_UNITS:
        return values
    relative = values / close
    return relative if name == "macd" else relative - 1.0  # macd is a difference already


def _standardised(column: np.ndarray, train: slice) -> np.ndarray:
    mean, std = column[train].mean(axis=0), column[train].std(axis=0)
    std = np.where(std > 1e-12 * np.abs(mean), std, 1.0)  # a column that never moves stays at 0
    return np.clip((column - mean) / std, -CLIP, CLIP)
