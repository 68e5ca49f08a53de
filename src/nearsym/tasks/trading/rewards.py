"""What a day is worth to an agent, in per cent.

| `reward` | value of a day |
|---|---|
| gain (the paper) | 100·(V' − V)/c₀: grows with the portfolio |
| log_return | 100·log(V'/V): the same scale in every year |
| excess | the latter less 100·log(mean over tickers of p'/p): what an agent can influence |

V is the value before the day and c₀ the starting cash.
"""

import math
from collections.abc import Callable

import numpy as np

from nearsym.tasks.trading.prices import PriceTable

REWARDS = ("gain", "log_return", "excess")
_PERCENT = 100.0

Reward = Callable[[float, float, int], float]
"""(V, V', day of V') → reward."""


def make_reward(kind: str, table: PriceTable, cash: float, scale: float) -> Reward:
    """The reward of a kind, times `scale`."""
    size = scale * _PERCENT
    if kind == "gain":
        return lambda before, after, day: size * ((after - before) / cash)
    if kind == "log_return":
        return lambda before, after, day: size * math.log(after / before)
    market = market_returns(table)
    return lambda before, after, day: size * (math.log(after / before) - market[day])


def market_returns(table: PriceTable) -> np.ndarray:
    """(days,) log returns of the tickers at equal weight, rebalanced every day; the first is 0."""
    close = table.close
    return np.log(np.r_[1.0, (close[1:] / close[:-1]).mean(axis=1)])
