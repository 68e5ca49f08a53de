"""The metrics of updates, kept where they were computed until somebody wants to read them.

To read a number from a GPU is to wait for everything that was asked of it before. So what an update
returns stays tensors. They are read together: for a line of the log, for a checkpoint, where
something looks wrong, and otherwise after `AT_MOST` updates, so that they stay few.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

AT_MOST = 256


class Row(NamedTuple):
    """The metrics of one update."""

    frames: int
    names: tuple[str, ...]
    values: Tensor
    """In the order of the names, on the device of the update."""


class UpdateMetrics:
    """Rows of metrics that nobody has read yet.

    >>> kept = UpdateMetrics()
    >>> kept.add(100, {"critic/loss": torch.tensor(0.5), "critic/q": torch.tensor(2.0)})
    >>> list(kept.take())
    [(100, {'critic/loss': 0.5, 'critic/q': 2.0})]
    >>> list(kept.take())
    []
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def add(self, frames: int, metrics: Mapping[str, Any]) -> None:
        """Keep the metrics of an update at a number of frames; nothing is read."""
        values = [torch.as_tensor(value) for value in metrics.values()]
        self._rows.append(Row(frames, tuple(metrics), torch.stack(values).detach()))

    @property
    def full(self) -> bool:
        """Whether they should be read now, whoever wants them."""
        return len(self._rows) >= AT_MOST

    def take(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Every row as numbers, in order; they are not kept any longer."""
        rows, self._rows = self._rows, []
        for row in rows:
            yield row.frames, dict(zip(row.names, row.values.tolist(), strict=True))
