"""The evaluations of a run, as arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


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
    frames = np.array([row["frames"] for row in evaluations], dtype=np.int64)
    returns = np.array([row["eval/returns"] for row in evaluations], dtype=np.float64)
    return Curve(frames, returns if len(returns) else np.empty((0, 1)))


def relaxed_weights_of(rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Layer to its relaxed weights in the rows of a log, one set for each evaluation."""
    evaluations = _evaluations(rows)
    names = [name for name in (evaluations or [{}])[0] if name.startswith("relaxed/")]
    return {
        name.removeprefix("relaxed/"): np.array([row[name] for row in evaluations])
        for name in names
    }


def _evaluations(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if "eval/returns" in row]
