"""Whether what a result tells of portfolios goes together: as many numbers as days and tickers."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

FIGURES = (
    "final_value",
    "annual_return",
    "sharpe_mean_over_std",
    "sharpe_return_over_volatility",
    "max_drawdown",
    "turnover",
    "costs",
)
"""What every portfolio that learns nothing is known by."""
LEARNED = 2
"""Portfolios of the agent, sampled and its mean; they come first."""
DAILY = ("value", "costs", "turnover", "exposure")
_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\d.*")


def check_portfolios(details: dict[str, Any]) -> None:
    """Refuse details, of the right kinds, that contradict each other."""
    for row in _baselines(details):
        missing = [name for name in FIGURES if name not in row]
        if missing:
            raise ValueError(f"its portfolio {row['name']!r} has no {missing[0]!r}")
        if np.shape(row["final_value"].get("q90", (0, 0))) != (2,):
            raise ValueError(f"the `q90` of its portfolio {row['name']!r} are not two numbers")
    if "weights" in details and np.shape(details["weights"])[1:] != (_count(details, "tickers"),):
        raise ValueError("its `weights` are not those of its `tickers`")
    if details.get("dates"):
        _check_days(details, len(details["dates"]))
    if any(np.any(np.asarray(held) <= 0) for held in _held(details)):
        raise ValueError("a portfolio of it is worth nothing")


def _baselines(details: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from details.get("metrics", [])[LEARNED:]
    yield from [details["random"]] if details.get("random") else []
    yield from (null["row"] for null in details.get("null", {}).values())


def _held(details: dict[str, Any]) -> Iterator[Any]:
    yield details.get("value", 1.0)
    yield from details.get("baselines", {}).values()


def _count(details: dict[str, Any], name: str) -> int:
    return len(details.get(name, ()))


def _check_days(details: dict[str, Any], days: int) -> None:
    if not all(map(_DAY.fullmatch, details["dates"])):
        raise ValueError("its `dates` are no days such as 2024-01-31")
    lengths = {name: np.shape(details[name])[1:] for name in DAILY if name in details}
    lengths |= {"weights": np.shape(details["weights"])[:1]} if "weights" in details else {}
    lengths |= {name: np.shape(held) for name, held in details.get("baselines", {}).items()}
    for name, null in details.get("null", {}).items():
        lengths[f"band of {name}"] = np.shape(null.get("band", ()))[1:]
    wrong = [name for name, length in lengths.items() if length != (days,)]
    if wrong:
        raise ValueError(f"its `{wrong[0]}` are not of its {days} `dates`")
