"""Made-up price tables: random walks, and real returns with all that could be predicted removed."""

from dataclasses import replace
from typing import Any

import numpy as np

from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.split import Part, Split


def random_walk_prices(
    stocks: int = 30, days: int = 1000, seed: int = 0, *, start: str = "2001-01-01"
) -> PriceTable:
    """Geometric random walks with open, high and low, one row for each weekday from `start`."""
    rng = np.random.default_rng(seed)
    overnight, intraday = rng.normal(0.0, 0.01, (2, days, stocks))
    close = 100.0 * np.exp(np.cumsum(overnight + intraday, axis=0))
    open_ = close * np.exp(-intraday)
    reach = np.abs(rng.normal(0.0, 0.005, (2, days, stocks)))
    first = np.busday_offset(start, 0, roll="forward")
    return PriceTable(
        dates=np.busday_offset(first, np.arange(days)),
        tickers=tuple(f"S{i:02d}" for i in range(stocks)),
        close=close,
        open=open_,
        high=np.maximum(open_, close) * (1 + reach[0]),
        low=np.minimum(open_, close) * (1 - reach[1]),
        source=f"random walk, seed {seed}",
    )


def shuffled_returns(
    table: PriceTable, split: Split, seed: int, *, part: Part = "test", replacement: bool = True
) -> PriceTable:
    """The table with the returns of one part made unpredictable: a martingale for every ticker.

        r'[t] = r[π(t)] − mean(r),   p'[t] = p'[t − 1]·(1 + r'[t])

    with r the close-to-close returns within the part, each ticker's mean removed, and one draw π
    of days for all tickers, so that they keep moving together. Opens, highs and lows keep their
    ratio to the close of the drawn day. The days before the part are the real ones; the table
    ends with the part.

    Days are drawn with replacement by default. Then the next return has mean 0 given the past,
    and every policy has the expected value of cash less its costs. A permutation
    (`replacement=False`) does not: it fixes the final price of every ticker below its first one
    (by half its variance), so that holding cash beats holding shares for certain.
    """
    days = split.days(table, part)
    cut = table.rows(slice(0, days.stop))
    rng = np.random.default_rng(seed)
    later = np.arange(days.start + 1, days.stop)
    drawn = rng.choice(later, len(later)) if replacement else rng.permutation(later)
    returns = cut.close[later] / cut.close[later - 1] - 1
    moves = returns[drawn - later[0]] - returns.mean(axis=0)
    close = cut.close.copy()
    close[later] = close[days.start] * np.cumprod(1 + moves, axis=0)
    changed: dict[str, Any] = {"close": close}
    for name in ("open", "high", "low"):
        prices = getattr(cut, name)
        if prices is not None:
            changed[name] = prices.copy()
            changed[name][later] = close[later] * (prices[drawn] / cut.close[drawn])
    return replace(
        cut, **changed, index=None, index_name="", source=f"{table.source}, shuffled, seed {seed}"
    )
