"""Markets in which something can be learned: synthetic prices with a planted signal, and an oracle.

`data="planted:momentum=0.3"` is a source of prices like a file. Five stocks, one row for each
weekday from 1950 to mid-2024: enough to learn from if everything before the paper's validation is
trained on (`SPLIT`). Log returns of a day are

    r[t + 1] = e[t] + σ·ε,   ε normal,   σ = 1 %

| signal | e[t], what is planted |
|---|---|
| momentum | strength/√5 · Σ of the last five returns |
| stretched | strength·σ·f(u): a pattern f(u) = ± sin 3πu, 0 < u < 1, begins at random and |
| | lasts four to nine days, each time stretched by another factor (`patterns.py`) |

Prices are 100 where validation begins. With a strength of 0 there is nothing to find. The *oracle*
knows how the market is made and all prices so far, so what it earns says how much there is to find:
each day it holds the stocks with E[e] > 0 in proportion to it, and cash if there is none
(`oracle.py`). Momentum is known from the past; of a pattern that may have begun the past says only
how probable it is.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearsym.errors import UsageError, shown, unknown_name
from nearsym.tasks.trading.patterns import draw_patterns, knowable
from nearsym.tasks.trading.prices import PriceTable

PREFIX = "planted:"
STOCKS = 5
FIRST, LAST = "1950-01-02", "2024-06-30"
SPLIT = "2019-01-01,2021-01-01"
"""The paper's validation and test, and everything before them for training."""
DEVIATION = 0.01
"""Of a daily log return without signal."""
SPAN = 5
"""Days that momentum looks back on."""
STRONGEST = {"momentum": 0.4, "stretched": 10.0}
"""Beyond 1/√5 momentum would feed itself without end."""

Returns = tuple[np.ndarray, np.ndarray]
"""What happens, and what could be known of it the day before."""


@dataclass(frozen=True, eq=False)
class PlantedMarket:
    """Prices, and what can be known of them a day ahead."""

    table: PriceTable
    expected: np.ndarray
    """(days, stocks): the mean of the log return from day t to t + 1, as far as the past tells."""


@lru_cache(maxsize=8)
def planted_market(signal: str = "momentum", strength: float = 0.3, seed: int = 0) -> PlantedMarket:
    """The market with a signal of some strength; a seed draws another one of the kind.

    >>> planted_market("momentum", 0.3).table
    PriceTable(5 tickers, 19435 days 1950-01-02…2024-06-28, from planted:momentum=0.3)
    """
    if signal not in STRONGEST:
        raise unknown_name("planted signal", signal, STRONGEST)
    if not 0 <= strength <= STRONGEST[signal]:
        raise UsageError(
            f"The strength of {signal} lies between 0 and {STRONGEST[signal]:g}, got "
            f"{shown(strength)}."
        )
    dates = np.arange(FIRST, LAST, dtype="datetime64[D]")
    dates = dates[np.is_busday(dates)]
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, DEVIATION, (len(dates), STOCKS))
    plant = _momentum if signal == "momentum" else _stretched
    returns, expected = plant(noise, strength, rng)
    # Less half the variance: without signal a price is as likely to gain as to lose money.
    level = np.cumsum(returns - DEVIATION**2 / 2, axis=0)
    close = 100.0 * np.exp(level - level[np.searchsorted(dates, np.datetime64(SPLIT[:10]))])
    name = f"{PREFIX}{signal}={strength:g}" + (f",seed={seed}" if seed else "")
    tickers = tuple(f"P{i}" for i in range(STOCKS))
    return PlantedMarket(PriceTable(dates, tickers, close, source=name), expected)


def _momentum(noise: np.ndarray, strength: float, rng: np.random.Generator) -> Returns:
    returns, expected = noise.copy(), np.zeros_like(noise)
    for t in range(len(noise) - 1):
        expected[t] = strength / np.sqrt(SPAN) * returns[max(0, t - SPAN + 1) : t + 1].sum(axis=0)
        returns[t + 1] += expected[t]
    return returns, expected


def _stretched(noise: np.ndarray, strength: float, rng: np.random.Generator) -> Returns:
    (days, stocks), scale = noise.shape, strength * DEVIATION
    returns = noise.copy()
    returns[1:] += scale * draw_patterns(days, stocks, rng)[:-1]
    return returns, knowable(returns, scale, DEVIATION)


def is_planted(source: object) -> bool:
    """Whether a name of data is that of a planted market."""
    return str(source).startswith(PREFIX)


def parse_planted(source: str) -> PlantedMarket:
    """From `planted:SIGNAL=STRENGTH`, optionally with `,seed=N`."""
    named, _, seed = source.removeprefix(PREFIX).partition(",seed=")
    signal, _, strength = named.partition("=")
    try:
        return planted_market(signal, float(strength), int(seed or 0))
    except ValueError as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"A planted market is named like 'planted:momentum=0.3' or "
            f"'planted:momentum=0.3,seed=1', got {shown(source)}."
        ) from error
