"""What a policy made of a market, beside what needs no learning."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearsym.tasks.trading.baselines import baseline_tracks
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.null import Null, null_distributions
from nearsym.tasks.trading.oracle import oracle_track
from nearsym.tasks.trading.planted import is_planted
from nearsym.tasks.trading.portfolio import Track, metrics, summary_row


@dataclass(frozen=True)
class Portfolios:
    """The daily records of an evaluation."""

    market: TradingEnv
    name: str
    """What the policy is called."""
    sampled: list[Track]
    """Episodes in which the policy was sampled."""
    mean_policy: Track
    baselines: list[Track]
    nulls: list[Null]
    """What chance makes of the same market."""

    @classmethod
    def beside(
        cls, market: TradingEnv, name: str, sampled: list[Track], mean_policy: Track
    ) -> "Portfolios":
        """With the baselines and the null, which obey the same rules over the same days."""
        rules: dict[str, Any] = {
            "cash": market.initial_cash,
            "cost": market.cost,
            "fill": market.fill,
        }
        found = baseline_tracks(market.table, market.split, market.days, **rules)
        if is_planted(market.table.source):
            found.append(oracle_track(market))
        return cls(market, name, sampled, mean_policy, found, null_distributions(market))

    @property
    def tracks(self) -> dict[str, list[Track]]:
        """Every record by the name of its portfolio; several are episodes."""
        own = {
            f"{self.name}, sampled": self.sampled,
            f"{self.name}, mean policy": [self.mean_policy],
        }
        return own | {track.name: [track] for track in self.baselines}

    def as_json(self) -> dict[str, Any]:
        """Daily records of the sampled episodes, of the baselines, and the table of metrics."""
        rows = [
            summary_row(name, [metrics(track) for track in tracks])
            for name, tracks in self.tracks.items()
        ]
        for row in rows:
            row["chance"] = {null.name: null.chances(row) for null in self.nulls}
        return {
            "part": self.market.part,
            "tickers": list(self.market.table.tickers),
            "dates": list(self.mean_policy.dates),
            "value": [track.value.tolist() for track in self.sampled],
            "costs": [track.costs.tolist() for track in self.sampled],
            "turnover": [_rounded(track.turnover) for track in self.sampled],
            "exposure": [_rounded(track.exposure) for track in self.sampled],
            "weights": _rounded(self._weights()),
            "baselines": {track.name: _rounded(track.value, 2) for track in self.baselines},
            "metrics": rows,
            "null": {null.name: null.as_json() for null in self.nulls},
        }

    def _weights(self) -> np.ndarray:
        """(days, tickers): the share of the value in each ticker, the mean of the episodes."""
        close = self.market.table.close[self.market.days]
        shares = [track.shares for track in self.sampled]
        worth = [held * close for held in shares if held is not None]
        each = [w / t.value[:, None] for w, t in zip(worth, self.sampled, strict=True)]
        return np.mean(each, axis=0)


def _rounded(values: np.ndarray, digits: int = 5) -> list[Any]:
    """Daily records that are there to be drawn, not to be added up: small files."""
    return np.round(values, digits).tolist()
