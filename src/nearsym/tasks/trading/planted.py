"""Markets in which something can be learned: synthetic prices with a planted signal, and an oracle.

`data="planted:momentum=0.3"` is a source of prices like a file. Five stocks, one row for each
weekday from 1950 to mid-2024: enough to learn from if everything before the paper's validation is
trained on (`SPLIT`). Log returns of a day are

    r[t + 1] = e[t] + σ·ε,   ε normal,   σ = 1 %

| signal | e[t], what is planted |
|---|---|
| momentum | strength/√5 · Σ of the last five returns |
| stretched | strength·σ·f(u): a pattern f(u) = ± sin 3πu, 0 < u < 1, begins at random and |
| | lasts four to nine days, each time stretched by another factor |

Prices are 100 where validation begins. With a strength of 0 there is nothing to find. The *oracle*
knows e: each day it holds the stocks with e > 0 in proportion to e, and cash if there is none
(`oracle.py`). Nobody without a look ahead knows more of tomorrow, so what it earns says how much
there is to find.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nearsym.errors import UsageError, shown, unknown_name
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
WAIT, PATTERN, STRETCH = 4.0, 6.0, (0.6, 1.5)
"""Mean days between patterns, days of one that is not stretched, and the factors of stretching."""
STRONGEST = {"momentum": 0.4, "stretched": 10.0}
"""Beyond 1/√5 momentum would feed itself without end."""

Returns = tuple[np.ndarray, np.ndarray]
"""What happens, and what of it was planted."""


@dataclass(frozen=True, eq=False)
class PlantedMarket:
    """Prices, and what was planted into them."""

    table: PriceTable
    expected: np.ndarray
    """(days, stocks): e[t], the mean of the log return from day t to t + 1."""


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
    expected = np.zeros_like(noise)
    for stock in range(noise.shape[1]):
        day = 0
        while day < len(noise):
            day += int(rng.exponential(WAIT))
            length = round(PATTERN * np.exp(rng.uniform(*np.log(STRETCH))))
            u = (np.arange(length) + 0.5) / length
            shape = rng.choice((-1.0, 1.0)) * np.sin(3 * np.pi * u)
            kept = expected[day : day + length, stock]
            kept[:] = strength * DEVIATION * shape[: len(kept)]
            day += length
    returns = noise.copy()
    returns[1:] += expected[:-1]
    return returns, expected


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
