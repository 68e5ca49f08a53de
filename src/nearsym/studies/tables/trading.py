"""Portfolios over the test part, beside the paper's Table 2."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from nearsym.studies.claims.portfolios import figure_of
from nearsym.studies.luck import beyond, chance, deflated, nulls_of
from nearsym.studies.paper import TABLE_2, TABLE_2_SOURCE
from nearsym.studies.results import RunResult
from nearsym.studies.scores import by_seed
from nearsym.studies.selection import by_arm, by_world, market_of
from nearsym.studies.statistics import mean_over_seeds
from nearsym.studies.tables.table import Cell, Table, tabled
from nearsym.tasks.trading.tear_sheet import MONTHS, monthly_returns

FIGURES = {
    "final_value": ("final value (mm)", 1e-6),
    "annual_return": ("return a year (%)", 100.0),
    "sharpe_mean_over_std": ("Sharpe, mean/std", 1.0),
    "sharpe_return_over_volatility": ("Sharpe, return/volatility", 1.0),
    "max_drawdown": ("max drawdown (%)", 100.0),
    "turnover": ("turnover a year", 1.0),
    "costs": ("costs (thousand)", 1e-3),
}
CAUTION = (
    "p: how probable it is that chance, random fixed portfolios or random orders, ends at least as "
    "high."
)
DEFLATED = "deflated Sharpe"
OF_DEFLATED = (
    " Deflated Sharpe: the probability that the returns over uniform holding are more "
    "than the best of all runs shown would have by chance."
)
"""Needs the days, or what is left of them in kept results (`luck.EXCESS`)."""
POLICIES = ("sampled", "mean policy")


def trading(results: list[RunResult]) -> list[Table]:
    """For each market: models over seeds, each counted by the mean of its episodes; then what
    learns nothing."""
    found: dict[str, list[dict[str, Cell]]] = {}
    for market, scale, told in _markets(results, "metrics"):
        rows: list[dict[str, Cell]] = []
        for place, policy in enumerate(POLICIES):
            for arm, some in by_arm(told).items():
                rows.append(_row(arm, policy, place, some) | _luck(some, told, place))
        rows += _baselines(told)
        found.setdefault(market, []).extend(row | {"scale": scale} for row in rows)
    about = (
        "Test part of the data. A model's numbers are means over seeds, each seed counted by the "
        f"mean of its sampled episodes, or by its mean policy. {CAUTION} {TABLE_2_SOURCE} The "
        "paper does not name its stocks; it tests on 2021 to mid-2024."
    )
    return [
        table
        for market, rows in found.items()
        for more in [OF_DEFLATED if any(DEFLATED in row for row in rows) else ""]
        for table in tabled(market, about + more, rows)
    ]


def _markets(results: list[RunResult], *needed: str) -> Iterator[tuple[str, str, list[RunResult]]]:
    """The runs in each market and at each scale that tell what is needed."""
    for world, runs in by_world(results).items():
        market = market_of(world)
        told = [run for run in runs if all(run.details.get(name) for name in needed)]
        if market is not None and told:
            yield market, str(world.scale), told


def _luck(runs: Sequence[RunResult], all_runs: Sequence[RunResult], place: int) -> dict[str, Cell]:
    """What of a result chance may explain."""
    cells: dict[str, Cell] = {}
    probability, seeds = chance(runs, place), beyond(runs, place)
    if probability is not None and seeds is not None:
        cells = {"p of the value": probability, "seeds beyond chance": f"{seeds[0]} of {seeds[1]}"}
    ratio = deflated(runs, all_runs) if place == 0 else None
    return cells if ratio is None else cells | {DEFLATED: ratio}


def months(results: list[RunResult]) -> list[Table]:
    """The return of every calendar month, as a tear sheet has it."""
    found: dict[str, list[dict[str, Cell]]] = {}
    for market, scale, told in _markets(results, "value", "dates"):
        for arm, some in by_arm(told).items():
            rows = [row | {"scale": scale} for row in _months(arm, some)]
            found.setdefault(market, []).extend(rows)
    about = "Return of each month in per cent, mean of the sampled episodes and of the runs."
    return [t for market, rows in found.items() for t in tabled(f"{market} months", about, rows)]


def _months(arm: str, runs: Sequence[RunResult]) -> list[dict[str, Cell]]:
    by_year: dict[int, dict[str, Cell]] = {}
    values = np.mean([np.mean(run.details["value"], axis=0) for run in runs], axis=0)
    for (year, month), change in monthly_returns(runs[0].details["dates"], values).items():
        row = by_year.setdefault(year, {"portfolio": arm, "year": str(year)})
        row[MONTHS[month - 1]] = 100 * change
    return list(by_year.values())


def _row(arm: str, policy: str, place: int, runs: Sequence[RunResult]) -> dict[str, Cell]:
    row: dict[str, Cell] = {"portfolio": f"{arm}, {policy}"}
    for name, (title, unit) in FIGURES.items():
        values = by_seed(runs, partial(figure_of, name=name, portfolio=place))
        if values:
            row[title] = mean_over_seeds(values).scaled(unit)
    return row | (_paper(arm) if policy == "sampled" else {})


def _baselines(runs: Sequence[RunResult]) -> list[dict[str, Cell]]:
    """They do not depend on the run; then what chance does, which has learned nothing."""
    first = runs[0]
    rows = [*first.details["metrics"][len(POLICIES) :]]
    nulls = [null["row"] for null in nulls_of(runs).values()]
    rows += nulls or ([first.details["random"]] if first.details.get("random") else [])
    return [
        {
            "portfolio": row["name"],
            **{title: unit * row[name]["mean"] for name, (title, unit) in FIGURES.items()},
            **_spread(row),
            **_paper(str(row["name"]).partition(" ")[0]),
        }
        for row in rows
    ]


def _spread(row: dict[str, Any]) -> dict[str, Cell]:
    """Between which final values nine of ten draws of chance lie."""
    title, unit = FIGURES["final_value"]
    ends = row["final_value"].get("q90")
    if ends is None:
        return {}
    return {f"{title}, 5 %": unit * ends[0], f"{title}, 95 %": unit * ends[1]}


def _paper(name: str) -> dict[str, Cell]:
    if name not in TABLE_2:
        return {}
    row = TABLE_2[name]
    return {
        "paper: value": row.final_value,
        "paper: return": row.annual_return,
        "paper: Sharpe": row.sharpe,
    }
