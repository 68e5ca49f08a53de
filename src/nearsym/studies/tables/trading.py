"""Portfolios over the test part, beside the paper's Table 2."""

from collections.abc import Sequence
from functools import partial

from nearsym.studies.claims.portfolios import figure_of
from nearsym.studies.paper import TABLE_2, TABLE_2_SOURCE
from nearsym.studies.results import RunResult
from nearsym.studies.scores import by_seed
from nearsym.studies.selection import TRADING, by_arm, by_world
from nearsym.studies.statistics import mean_over_seeds
from nearsym.studies.tables.table import Cell, Table, tabled

FIGURES = {
    "final_value": ("final value (mm)", 1e-6),
    "annual_return": ("return a year (%)", 100.0),
    "sharpe_mean_over_std": ("Sharpe, mean/std", 1.0),
    "sharpe_return_over_volatility": ("Sharpe, return/volatility", 1.0),
    "max_drawdown": ("max drawdown (%)", 100.0),
    "turnover": ("turnover a year", 1.0),
    "costs": ("costs (thousand)", 1e-3),
}
POLICIES = ("sampled", "mean policy")


def trading(results: list[RunResult]) -> list[Table]:
    """Models over seeds, each counted by the mean of its episodes; then what learns nothing."""
    rows: list[dict[str, Cell]] = []
    for world, runs in by_world(results).items():
        told = [run for run in runs if run.details.get("metrics")]
        if world.task != TRADING or not told:
            continue
        for place, policy in enumerate(POLICIES):
            rows += [_row(arm, policy, place, some) for arm, some in by_arm(told).items()]
        rows += _baselines(told)
    about = (
        "Test part of the data. A model's numbers are means over seeds, each seed counted by the "
        f"mean of its sampled episodes, or by its mean policy. {TABLE_2_SOURCE} Other stocks, "
        "another test period."
    )
    return tabled("trading", about, rows)


def _row(arm: str, policy: str, place: int, runs: Sequence[RunResult]) -> dict[str, Cell]:
    row: dict[str, Cell] = {"portfolio": f"{arm}, {policy}"}
    for name, (title, unit) in FIGURES.items():
        values = by_seed(runs, partial(figure_of, name=name, portfolio=place))
        if values:
            row[title] = mean_over_seeds(values).scaled(unit)
    return row | (_paper(arm) if policy == "sampled" else {})


def _baselines(runs: Sequence[RunResult]) -> list[dict[str, Cell]]:
    """They do not depend on the run; random orders are an agent that has learned nothing."""
    first = runs[0]
    rows = [*first.details["metrics"][len(POLICIES) :]]
    rows += [first.details["random"]] if first.details.get("random") else []
    return [
        {
            "portfolio": row["name"],
            **{title: unit * row[name]["mean"] for name, (title, unit) in FIGURES.items()},
            **_paper(str(row["name"]).partition(" ")[0]),
        }
        for row in rows
    ]


def _paper(name: str) -> dict[str, Cell]:
    if name not in TABLE_2:
        return {}
    row = TABLE_2[name]
    return {
        "paper: value": row.final_value,
        "paper: return": row.annual_return,
        "paper: Sharpe": row.sharpe,
    }
