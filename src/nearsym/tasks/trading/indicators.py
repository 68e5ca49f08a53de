"""Technical indicators that look only backwards.

The eight that FinRL feeds its agents; the paper does not list its own. Each is a function of a
table's prices up to a day, shape (days, tickers), NaN until its window is full.

    macd            EMA₁₂(close) − EMA₂₆(close)
    boll_ub/lb      SMA₂₀(close) ± 2·std₂₀(close)
    rsi_30          100·U/(U+D), U and D the Wilder means of the daily gains and losses
    cci_30          (m − SMA₃₀(m)) / (0.015·MAD₃₀(m)), m = (high + low + close)/3
    dx_30           100·|P−M|/(P+M), P and M the Wilder means of the directional moves over the
                    Wilder mean of the true range
    close_30/60_sma SMA₃₀(close), SMA₆₀(close)

EMA and Wilder means weigh the past by (1−α)^age, normalised over the days that exist.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.trading.days import import_pandas
from nearsym.tasks.trading.prices import PriceTable


def macd(table: PriceTable) -> np.ndarray:
    close = _frame(table.close)
    short, long = (close.ewm(span=span, min_periods=26).mean() for span in (12, 26))
    return (short - long).to_numpy()


def bollinger(table: PriceTable, sign: int) -> np.ndarray:
    rolling = _frame(table.close).rolling(20)
    return (rolling.mean() + sign * 2 * rolling.std()).to_numpy()


def rsi(table: PriceTable, window: int = 30) -> np.ndarray:
    """50 where the price has not moved at all."""
    change = _frame(np.diff(table.close, axis=0, prepend=np.nan))
    up = _wilder(change.clip(lower=0), window)
    down = _wilder(-change.clip(upper=0), window)
    return _ratio(100 * up, up + down, otherwise=50.0)


def cci(table: PriceTable, window: int = 30) -> np.ndarray:
    """0 where the price has not moved at all."""
    middle = (table.bar("high") + table.bar("low") + table.close) / 3
    mean = _frame(middle).rolling(window).mean().to_numpy()
    spread = np.full_like(middle, np.nan)
    if len(middle) >= window:
        windows = sliding_window_view(middle, window, axis=0)  # (…, tickers, window)
        spread[window - 1 :] = np.abs(windows - mean[window - 1 :, :, None]).mean(axis=2)
    flat = spread < 1e-12 * middle  # what rounding leaves of a constant price
    return _ratio(middle - mean, np.where(flat, 0.0, 0.015 * spread), otherwise=0.0)


def dx(table: PriceTable, window: int = 30) -> np.ndarray:
    """0 where the price has not moved in any direction."""
    rise = np.diff(table.bar("high"), axis=0, prepend=np.nan)
    fall = -np.diff(table.bar("low"), axis=0, prepend=np.nan)
    plus = np.where((rise > fall) & (rise > 0), rise, 0.0)
    minus = np.where((fall > rise) & (fall > 0), fall, 0.0)
    plus[0] = minus[0] = np.nan
    # The true range divides both and cancels from |P−M|/(P+M).
    p, m = _wilder(_frame(plus), window), _wilder(_frame(minus), window)
    return _ratio(100 * np.abs(p - m), p + m, otherwise=0.0)


def sma(table: PriceTable, window: int) -> np.ndarray:
    return _frame(table.close).rolling(window).mean().to_numpy()


INDICATORS: dict[str, Callable[[PriceTable], np.ndarray]] = {
    "macd": macd,
    "boll_ub": lambda table: bollinger(table, +1),
    "boll_lb": lambda table: bollinger(table, -1),
    "rsi_30": rsi,
    "cci_30": cci,
    "dx_30": dx,
    "close_30_sma": lambda table: sma(table, 30),
    "close_60_sma": lambda table: sma(table, 60),
}
"""Name to function; the order is the order of the features."""

NEED_BARS = ("cci_30", "dx_30")
"""Indicators that need high and low beside the close."""

WARM_UP = {"macd": 25, "boll_ub": 19, "boll_lb": 19, "rsi_30": 30, "cci_30": 29, "dx_30": 30}
WARM_UP |= {"close_30_sma": 29, "close_60_sma": 59}
"""Days at the start of a table on which an indicator does not exist yet."""

IN_PRICE_UNITS = ("macd", "boll_ub", "boll_lb", "close_30_sma", "close_60_sma")
"""Indicators that scale with the price; the others are pure numbers."""


def choose(table: PriceTable, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """The wanted indicators, or by default all that the table's prices allow."""
    left_out = missing(table)
    if names is None:
        return tuple(name for name in INDICATORS if name not in left_out)
    for name in names:
        if name not in INDICATORS:
            raise unknown_name("indicator", name, INDICATORS)
        if name in left_out:
            raise UsageError(
                f"The indicator {name} needs high and low prices, and {table.source} has closes "
                "only. Leave it out, or give OHLC data."
            )
    return tuple(names)


def missing(table: PriceTable) -> tuple[str, ...]:
    """The indicators that a table's prices do not allow: those of high and low, for closes only."""
    return NEED_BARS if table.high is None or table.low is None else ()


def _frame(values: np.ndarray) -> Any:
    return import_pandas().DataFrame(values)


def _wilder(frame: Any, window: int) -> np.ndarray:
    return frame.ewm(alpha=1 / window, min_periods=window).mean().to_numpy()


def _ratio(top: np.ndarray, bottom: np.ndarray, otherwise: float) -> np.ndarray:
    """top / bottom, `otherwise` where bottom is 0, NaN where it is NaN."""
    zero = bottom == 0
    return np.where(zero, otherwise, top / np.where(zero, 1.0, bottom))
