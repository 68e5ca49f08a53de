"""The evaluations of a run, as arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nearsym.errors import UsageError


class Curve(NamedTuple):
    """The returns of every evaluation of a run.

    >>> curve_of([{"frames": 100, "eval/returns": [1.0, 3.0]}, {"frames": 120}]).mean
    array([2.])
    """

    frames: np.ndarray
    """(evaluations,) environment steps before each."""
    returns: np.ndarray
    """(evaluations, episodes) returns."""

    @property
    def mean(self) -> np.ndarray:
        """(evaluations,) mean returns."""
        return self.returns.mean(axis=1)


def curve_of(rows: Sequence[dict[str, Any]]) -> Curve:
    """The learning curve in the rows of a log."""
    evaluations = _evaluations(rows)
    if not evaluations:
        return Curve(np.empty(0, np.int64), np.empty((0, 1)))
    frames = np.array([row["frames"] for row in evaluations])
    return Curve(frames, _numbers(evaluations, "eval/returns"))


def relaxed_weights_of(rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Layer to its relaxed weights in the rows of a log, one set for each evaluation."""
    evaluations = _evaluations(rows)
    names = [name for name in (evaluations or [{}])[0] if name.startswith("relaxed/")]
    return {name.removeprefix("relaxed/"): _numbers(evaluations, name) for name in names}


def _numbers(evaluations: list[dict[str, Any]], name: str) -> np.ndarray:
    """What every evaluation says of a name, as one array."""
    try:
        found = np.array([row[name] for row in evaluations], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.ndim < 2 or not found.size:
        raise UsageError(f"metrics.jsonl is damaged: {name} is no table of numbers.")
    return found


def _evaluations(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if "eval/returns" in row]
