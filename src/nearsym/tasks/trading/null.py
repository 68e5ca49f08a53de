"""What chance makes of a market: the distribution that a result has to leave behind.

Two kinds of chance, both by the rules of the task and over the same days:

| name | what is done |
|---|---|
| random fixed portfolios | weights drawn uniformly among all, bought on the first day and held |
| random orders | a uniformly random action every day |

A result counts as skill only if it lies beyond both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearsym.tasks.trading.baselines import hold
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.portfolio import Metrics, Track, metrics, summary_row
from nearsym.tasks.trading.skill import chance_of

FIXED, ORDERS = "random fixed portfolios", "random orders"
PORTFOLIOS, EPISODES = 400, 100
"""Draws of the two kinds."""
JUDGED = ("final_value", "sharpe_mean_over_std")
"""The figures whose probability is told."""
QUANTILES = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Null:
    """The draws of one kind of chance."""

    name: str
    figures: tuple[Metrics, ...]
    """Of every draw."""
    band: np.ndarray
    """(3, days): the 5, 50 and 95 % points of the draws' values, day by day."""

    @classmethod
    def of(cls, name: str, tracks: list[Track]) -> "Null":
        band = np.quantile([track.value for track in tracks], (0.05, 0.5, 0.95), axis=0)
        return cls(name, tuple(metrics(track) for track in tracks), band)

    def draws(self, figure: str) -> np.ndarray:
        return np.array([getattr(each, figure) for each in self.figures])

    def chances(self, row: dict[str, Any]) -> dict[str, float]:
        """How probable the figures of a row of results are under it."""
        return {name: chance_of(row[name]["mean"], self.draws(name)) for name in JUDGED}

    def row(self) -> dict[str, Any]:
        """A row of the results: means of the draws, and between which nine of ten lie."""
        row = summary_row(self.name, self.figures)
        for name, entry in row.items():
            if isinstance(entry, dict):
                low, high = np.quantile(self.draws(name), QUANTILES)
                entry |= {"ci95": None, "q90": [float(low), float(high)]}
        return row

    def as_json(self) -> dict[str, Any]:
        """Plain data: the row, the draws of the judged figures, and the daily band."""
        found: dict[str, Any] = {"row": self.row(), "band": np.round(self.band, 0).tolist()}
        return found | {name: np.round(self.draws(name), 5).tolist() for name in JUDGED}


def null_distributions(
    market: TradingEnv, *, portfolios: int = PORTFOLIOS, episodes: int = EPISODES, seed: int = 0
) -> list[Null]:
    """Both kinds over the days of a market. Its episode, if there is one, is lost."""
    rng = np.random.default_rng(seed)
    fixed = [random_portfolio(market, rng) for _ in range(portfolios)]
    orders = [random_orders(market, rng) for _ in range(episodes)]
    return [Null.of(FIXED, fixed), Null.of(ORDERS, orders)]


def random_portfolio(market: TradingEnv, rng: np.random.Generator) -> Track:
    """Weights drawn uniformly from all that are not negative and add up to 1."""
    weights = rng.dirichlet(np.ones(len(market.table.tickers)))
    rules: dict[str, Any] = {"cash": market.initial_cash, "cost": market.cost, "fill": market.fill}
    return hold(market.table, market.days, weights, name=FIXED, **rules)


def random_orders(market: TradingEnv, rng: np.random.Generator) -> Track:
    """A whole episode of uniformly random actions."""
    _, info = market.reset(seed=int(rng.integers(2**31)))
    infos, done = [info], False
    while not done:
        action = rng.uniform(-1, 1, market.action_space.shape)
        *_, done, info = market.step(action)
        infos.append(info)
    return Track.from_infos(ORDERS, infos)
