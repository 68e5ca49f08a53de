"""What became of a portfolio: its daily record, the usual figures, and their spread over seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from nearsym.errors import UsageError
from nearsym.measures.intervals import student_interval

DAYS_PER_YEAR = 252
"""Trading days, the convention of both paper and market."""


@dataclass(frozen=True, eq=False)
class Track:
    """The daily record of one portfolio over n trading steps."""

    name: str
    dates: tuple[str, ...]
    """n + 1 days: the first is the one before any trade."""
    value: np.ndarray
    """n + 1 closing values."""
    costs: np.ndarray
    """n + 1 fees, each paid in the step that ends on its day; the first is 0."""
    turnover: np.ndarray
    """n + 1 fractions: money traded in the step over the value before it; the first is 0."""
    cash: np.ndarray | None = None
    """n + 1 amounts that are not invested, where it is known."""
    shares: np.ndarray | None = None
    """(n + 1, tickers) holdings, where they are known."""

    @classmethod
    def from_infos(cls, name: str, infos: Sequence[Mapping[str, Any]]) -> "Track":
        """From the infos of a whole episode: that of `reset`, then those of every `step`."""
        return cls(
            name,
            tuple(str(info["date"]) for info in infos),
            np.array([info["value"] for info in infos], dtype=np.float64),
            np.array([info["costs"] for info in infos], dtype=np.float64),
            np.array([info["turnover"] for info in infos], dtype=np.float64),
            np.array([info["cash"] for info in infos], dtype=np.float64),
            np.array([info["shares"] for info in infos], dtype=np.float64),
        )

    @property
    def exposure(self) -> np.ndarray:
        """The invested share of the value, day by day; all of it where cash is not known."""
        return np.ones_like(self.value) if self.cash is None else 1 - self.cash / self.value


@dataclass(frozen=True)
class Metrics:
    """The figures of n daily returns r, from value V₀ to V_n; the risk-free rate is 0."""

    final_value: float
    """V_n, in money."""
    annual_return: float
    """(V_n/V₀)^(252/n) − 1."""
    sharpe_mean_over_std: float
    """√252·mean(r)/std(r), std with n − 1: the usual definition."""
    sharpe_return_over_volatility: float
    """annual_return / (√252·std(r)): the definition that the paper's figures follow."""
    max_drawdown: float
    """Largest fall from an earlier high, as a fraction of that high."""
    turnover: float
    """Money traded, buys and sells, over the portfolio's value: times a year."""
    costs: float
    """Fees paid, in money."""


def metrics(track: Track) -> Metrics:
    """The figures of one track; a Sharpe ratio of a portfolio that never moved is 0."""
    value = track.value
    steps = len(value) - 1
    if steps < 2:
        raise UsageError(f"Metrics of {track.name} need at least 2 daily returns, got {steps}.")
    returns = value[1:] / value[:-1] - 1
    years = steps / DAYS_PER_YEAR
    annual = float((value[-1] / value[0]) ** (1 / years) - 1)
    std = float(returns.std(ddof=1))
    yearly = math.sqrt(DAYS_PER_YEAR)
    return Metrics(
        final_value=float(value[-1]),
        annual_return=annual,
        sharpe_mean_over_std=yearly * float(returns.mean()) / std if std > 0 else 0.0,
        sharpe_return_over_volatility=annual / (yearly * std) if std > 0 else 0.0,
        max_drawdown=float((1 - value / np.maximum.accumulate(value)).max()),
        turnover=float(track.turnover.sum()) / years,
        costs=float(track.costs.sum()),
    )


def summary_row(name: str, runs: Sequence[Metrics]) -> dict[str, Any]:
    """One row of the results: `{"name", "runs", metric: {"mean", "ci95"}}`, ready for JSON."""
    row: dict[str, Any] = {"name": name, "runs": len(runs)}
    for field in fields(Metrics):
        mean, interval = student_interval([asdict(run)[field.name] for run in runs])
        row[field.name] = {"mean": mean, "ci95": None if interval is None else list(interval)}
    return row


_COLUMNS = {
    "final_value": ("final value (mm)", 1e-6, 3),
    "annual_return": ("return a year (%)", 100.0, 1),
    "sharpe_mean_over_std": ("Sharpe, mean/std", 1.0, 2),
    "sharpe_return_over_volatility": ("Sharpe, return/volatility", 1.0, 2),
    "max_drawdown": ("max drawdown (%)", 100.0, 1),
    "turnover": ("turnover a year", 1.0, 2),
    "costs": ("costs (thousand)", 1e-3, 2),
}


_CHANCES = {"final_value": "p of the value", "sharpe_mean_over_std": "p of the Sharpe"}


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows for people: `mean ± half of the 95 % interval` where there are several runs, `mean
    (5 to 95 %)` for what chance does, and how probable a result is by chance, where that is known:
    the larger of the probabilities under each kind of it."""
    judged = _CHANCES if any("chance" in row for row in rows) else {}
    titles = ["portfolio", *(title for title, _, _ in _COLUMNS.values()), *judged.values()]
    lines = [_line(titles), _line(["---"] + ["---:"] * (len(titles) - 1))]
    for row in rows:
        cells = [_cell(row[name], scale, digits) for name, (_, scale, digits) in _COLUMNS.items()]
        cells += [_chance(row, name) for name in judged]
        lines.append(_line([str(row["name"]), *cells]))
    return "\n".join(lines)


def _chance(row: Mapping[str, Any], name: str) -> str:
    return f"{max(each[name] for each in row['chance'].values()):.3f}" if "chance" in row else ""


def _cell(entry: Mapping[str, Any], scale: float, digits: int) -> str:
    text = f"{scale * entry['mean']:.{digits}f}"
    if "q90" in entry:
        low, high = (f"{scale * end:.{digits}f}" for end in entry["q90"])
        return f"{text} ({low} to {high})"
    if entry["ci95"] is None:
        return text
    low, high = entry["ci95"]
    return f"{text} ± {scale * (high - low) / 2:.{digits}f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
