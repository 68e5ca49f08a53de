"""Moves that prices hardly make: unadjusted splits, jumps by a factor of five, spikes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nearsym.tasks.trading.problems import LARGEST, SMALLEST, Problem, RawPrices, row_in_file

SPLIT_RATIOS = (2.0, 3.0, 4.0)
"""Common ratios of share splits; reverse splits are their inverses, larger ones are jumps.

3:2 is left out: real falls and rises of a third are more common than such splits (PG lost a
third overnight in March 2000, AMD in October 2002).
"""
SPLIT_TOLERANCE = 0.03
"""How far a day's price ratio may lie from a split ratio and still look like that split."""
LARGEST_MOVE = 4.8
"""A factor overnight or in a day, up or down, beyond which a move looks like a mistake."""
SPIKE = 1.5
"""A factor up or down that looks like a mistake if the next day takes it back."""
SPIKE_TOLERANCE = 0.1
"""How near the price after a spike has to come to the one before it."""
DOUBTFUL = ("split", "jump", "spike")
"""Kinds of problems that can be accepted by choice: a real move may look the same."""


class _Prices(NamedTuple):
    """What one ticker was worth, from its first price on; NaN where that is no price."""

    close: np.ndarray
    morning: np.ndarray
    """The first known price of each day: its open, or else its close."""


def suspicious_moves(raw: RawPrices, column: int, first: int) -> Iterator[Problem]:
    """Every day of a ticker on which its price moved as prices hardly do."""
    ticker = raw.tickers[column]
    prices = _prices(raw, column, first)
    told = -1
    for day, kind in _suspects(prices):
        if day == told:  # the way back of a spike
            continue
        if kind == "spike":
            told = day + 1
        row = row_in_file(raw, day + first, column)
        text = (
            f"row {row} ({raw.dates[day + first]}), column {ticker}: the price goes from "
            f"{prices.close[day - 1]:g} to {_described(prices, day, kind)}. Use adjusted prices, "
            "or take it for a real move with `jumps='accept'`."
        )
        yield Problem(kind, text, ticker, row, str(raw.dates[day + first]))


def _prices(raw: RawPrices, column: int, first: int) -> _Prices:
    closes = raw.fields["close"]
    mornings = closes if raw.tickers[column].startswith("^") else raw.fields.get("open", closes)
    used = [prices[first:, column] for prices in (closes, mornings)]
    return _Prices(*(np.where((p >= SMALLEST) & (p <= LARGEST), p, np.nan) for p in used))


def _suspects(prices: _Prices) -> Iterator[tuple[int, str]]:
    """Days and what is suspected of them, in order."""
    overnight = _factor(prices.morning[1:], prices.close[:-1])
    daily = _factor(prices.close[1:], prices.close[:-1])
    kinds = np.full(len(daily), "", dtype="U5")
    for ratio in SPLIT_RATIOS:
        kinds[np.abs(overnight / ratio - 1) < SPLIT_TOLERANCE] = "split"
    kinds[np.fmax(overnight, daily) > LARGEST_MOVE] = "jump"
    back = np.abs(prices.close[2:] / prices.close[:-2] - 1) < SPIKE_TOLERANCE
    kinds[:-1][back & (daily[:-1] > SPIKE)] = "spike"
    for position in np.flatnonzero(kinds != ""):
        yield int(position) + 1, str(kinds[position])


def _factor(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """How many times larger the larger of two prices is; NaN if one is missing."""
    return np.maximum(after, before) / np.minimum(after, before)


def _described(prices: _Prices, day: int, kind: str) -> str:
    before, morning, close = prices.close[day - 1], prices.morning[day], prices.close[day]
    if kind == "spike":
        return f"{close:g} and back to {prices.close[day + 1]:g}: the cell looks wrong"
    if kind == "split":
        ratio = max(morning, before) / min(morning, before)
        shown = f"{ratio:.0f}:1" if before > morning else f"1:{ratio:.0f}"
        return f"{morning:g}, which looks like an unadjusted {shown} split"
    then = max(
        (morning, close), key=lambda p: 0 if np.isnan(p) else max(p, before) / min(p, before)
    )
    factor = max(then, before) / min(then, before)
    return f"{then:g}, by a factor of {factor:.3g}: probably an unadjusted split or a wrong cell"
