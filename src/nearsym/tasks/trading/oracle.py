"""What can be made of a planted market by whoever knows how it is made, and its past."""

import numpy as np

from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.planted import parse_planted
from nearsym.tasks.trading.portfolio import Track

ORACLE = "oracle"


def oracle_weights(expected: np.ndarray) -> np.ndarray:
    """(…, stocks) weights in proportion to what is expected, if that is positive; sums 1 or 0.

    >>> oracle_weights(np.array([[0.03, 0.01, -0.02], [-0.01, 0.0, -0.02]]))
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.  , 0.  ]])
    """
    hoped = np.maximum(expected, 0.0)
    total = hoped.sum(axis=-1, keepdims=True)
    return np.divide(hoped, total, out=np.zeros_like(hoped), where=total > 0)


def oracle_track(market: TradingEnv) -> Track:
    """What the oracle makes of a planted market, by the rules of the task."""
    planted = parse_planted(market.table.source)
    rows = np.searchsorted(planted.table.dates, market.table.dates)
    columns = [planted.table.tickers.index(name) for name in market.table.tickers]
    weights = oracle_weights(planted.expected[rows][:, columns])
    env = TradingEnv(
        market.table,
        market.split,
        market.part,
        window=1,
        fill=market.fill,
        cost=market.cost,
        max_shares=market.max_shares,
        cash=market.initial_cash,
        accounting=market.accounting,
        indicators=(),
        orders="weights",
        first_day=str(market.table.dates[market.days.start]),
        last_day=str(market.table.dates[market.days.stop - 1] + 1),
    )
    infos = [env.reset(seed=0)[1]]
    for day in range(market.days.start, market.days.stop - 1):
        infos.append(env.step(2 * weights[day] - 1)[4])
    return Track.from_infos(ORACLE, infos)
