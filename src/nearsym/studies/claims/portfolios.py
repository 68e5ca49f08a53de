"""The paper's claims about trading: what portfolios end at, and what trading costs."""

from collections.abc import Callable
from typing import Any

from nearsym.errors import UsageError
from nearsym.studies.claims.claim import Claim
from nearsym.studies.claims.evidence import Evidence
from nearsym.studies.comparison import equally_long
from nearsym.studies.paper import TABLE_2
from nearsym.studies.results import RunResult
from nearsym.studies.scores import by_seed
from nearsym.studies.selection import TRADING, by_arm

APPROX, EXACT = ("approx ST", "approx T"), ("exact ST", "exact T")
MILLION = 1e6
"""The paper's unit of final values."""


def figure_of(run: RunResult, name: str, portfolio: int = 0) -> float:
    """A figure of a trading run: of its sampled policy, or of another row of its table.

    >>> from nearsym.studies.results import RunResult
    >>> about = dict(key="", task="trading", variant=None, obs=None, agent="sac", model="none")
    >>> details = {"metrics": [{"name": "none, sampled", "costs": {"mean": 12.0, "ci95": None}}]}
    >>> run = RunResult(**about, seed=0, preset="laptop", frames=[], returns=[], details=details)
    >>> figure_of(run, "costs")
    12.0
    """
    rows: list[dict[str, Any]] = run.details.get("metrics", [])
    if len(rows) <= portfolio or name not in rows[portfolio]:
        raise UsageError(f"Run {run.key} has no {name} of a portfolio in its details.")
    return float(rows[portfolio][name]["mean"])


def final_value(run: RunResult) -> float:
    """What the sampled policy's portfolio is worth at the end of the test part, in millions."""
    return figure_of(run, "final_value") / MILLION


def costs(run: RunResult) -> float:
    """The fees that the sampled policy pays in the test part."""
    return figure_of(run, "costs")


def _compare(e: Evidence, a: str, b: str, score: Callable[[RunResult], float], called: str) -> None:
    for market, runs in e.markets().items():
        arms = by_arm(runs)
        pair = equally_long(arms.get(a, []), arms.get(b, []))
        one, other = (by_seed(some, score) for some in pair)
        e.ask(market, f"{a} − {b}, {called}", one, other)


def _approx_first(e: Evidence) -> None:
    for approx in APPROX:
        for other in (*EXACT, "none"):
            _compare(e, approx, other, final_value, "final value in millions")
    for market, runs in e.markets().items():
        beside = "baselines" if market == TRADING else f"baselines, {market}"
        e.more[beside] = _baselines(runs)


def _baselines(all_runs: list[RunResult]) -> dict[str, float]:
    """The final values, in millions, of portfolios that learn nothing, random orders among them
    where they were played; they are the same beside every run."""
    runs = [run for run in all_runs if run.details.get("metrics")]
    rows = [row for run in runs[:1] for row in run.details["metrics"][2:]]
    rows += [row for run in runs for row in [run.details.get("random")] if row]
    return {row["name"]: row["final_value"]["mean"] / MILLION for row in rows}


def _order_of_exact(e: Evidence) -> None:
    _compare(e, "exact ST", "none", final_value, "final value in millions")
    _compare(e, "none", "exact T", final_value, "final value in millions")


def _cheap(e: Evidence) -> None:
    for exact in EXACT:
        _compare(e, exact, "approx ST", costs, "fees")


_VALUES = ", ".join(f"{name} {row.final_value}" for name, row in TABLE_2.items())
_PAPER = f"Table 2, final value in millions: {_VALUES}."
_NEEDS = "trading × none, exact T, exact ST, approx T, approx ST × 5 seeds (25 runs)"

CLAIMS = [
    Claim(
        "C21",
        "Trading: approx ST and approx T end above all other models.",
        "trading",
        "Final value of the sampled policy in the test part: approx ST and approx T each above "
        "none, exact T and exact ST, paired by seed. Portfolios that learn nothing are reported "
        "beside it.",
        _PAPER,
        _approx_first,
        family="trading",
        needs=_NEEDS,
    ),
    Claim(
        "C22",
        "Trading: exact ST ends above none, none above exact T.",
        "trading",
        "Final value of the sampled policy in the test part, paired by seed.",
        _PAPER,
        _order_of_exact,
        family="trading",
        needs=_NEEDS,
    ),
    Claim(
        "C24",
        "Trading: approx ST pays lower transaction costs than the exact models.",
        "trading",
        "Fees of the sampled policy in the test part: exact T and exact ST above approx ST, "
        "paired by seed.",
        "Figure 6; no numbers.",
        _cheap,
        family="trading",
        needs=_NEEDS,
    ),
]
