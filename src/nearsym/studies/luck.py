"""Portfolios against chance: how probable results are under the null that was kept beside them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nearsym.studies.claims.portfolios import figure_of
from nearsym.studies.results import RunResult
from nearsym.studies.scores import by_seed
from nearsym.tasks.trading.skill import chance_of, daily_sharpe, deflated_sharpe

FIGURE = "final_value"
EXCESS = "excess"
"""Where a result that has lost its days keeps what `excess` made of them."""


def nulls_of(runs: Sequence[RunResult]) -> dict[str, Any]:
    """What chance did over the days of the first run that knows it: by name its row, its draws."""
    return next((run.details["null"] for run in runs if run.details.get("null")), {})


def chance(runs: Sequence[RunResult], portfolio: int) -> float | None:
    """How probable the mean final value over seeds is by chance, under the less favourable kind."""
    values = by_seed(runs, partial(figure_of, name=FIGURE, portfolio=portfolio))
    draws = [null[FIGURE] for null in nulls_of(runs).values()]
    if not values or not draws:
        return None
    return max(chance_of(float(np.mean(list(values.values()))), each) for each in draws)


def beyond(runs: Sequence[RunResult], portfolio: int) -> tuple[int, int] | None:
    """How many seeds end beyond the 95 % point of every kind of chance, and of how many."""
    values = by_seed(runs, partial(figure_of, name=FIGURE, portfolio=portfolio))
    draws = [null[FIGURE] for null in nulls_of(runs).values()]
    if not values or not draws:
        return None
    limit = max(float(np.quantile(each, 0.95)) for each in draws)
    return sum(value > limit for value in values.values()), len(values)


def deflated(runs: Sequence[RunResult], others: Sequence[RunResult]) -> float | None:
    """The deflated Sharpe ratio of a model's daily returns in excess of uniform holding.

    The trials are all runs that are shown; a model's returns are those of the mean of its seeds.
    """
    mine = [e for run in runs if (e := excess(run)) is not None]
    trials = [daily_sharpe(e) for run in others if (e := excess(run)) is not None]
    if not mine or len({len(each) for each in mine}) > 1 or len(mine[0]) < 3:
        return None
    return deflated_sharpe(np.mean(mine, axis=0), trials)


def excess(run: RunResult) -> np.ndarray | None:
    """Daily returns, mean of the sampled episodes, less those of uniform holding."""
    if run.details.get(EXCESS):
        return np.asarray(run.details[EXCESS])
    value, held = run.details.get("value"), run.details.get("baselines", {}).get("uniform")
    if not value or not held or len(held) != len(value[0]):
        return None
    return _returns(np.asarray(value)).mean(axis=0) - _returns(np.asarray(held))


def _returns(value: np.ndarray) -> np.ndarray:
    return value[..., 1:] / value[..., :-1] - 1
