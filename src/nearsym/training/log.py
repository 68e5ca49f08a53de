"""Where a run writes what it measures: `metrics.jsonl`, and TensorBoard where it is installed."""

import json
import math
import os
from pathlib import Path
from typing import Any, Protocol


class ScalarWriter(Protocol):
    """The part of TensorBoard's writer that is used."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class RunLog:
    """Appends one JSON object a line, flushed at once, so that a killed run loses nothing.

    A resumed run cuts the file back to where its checkpoint stood and goes on from there.
    """

    def __init__(self, folder: Path, *, position: int = 0, frames: int = 0):
        self.path = folder / "metrics.jsonl"
        self.path.touch()
        os.truncate(self.path, position)
        self._file = self.path.open("a", encoding="utf-8")
        self._scalars = _scalar_writer(folder / "tb", frames)

    def write(self, frames: int, metrics: dict[str, Any]) -> None:
        """One line of metrics at a number of frames."""
        row = {"frames": frames} | {key: _plain(value) for key, value in metrics.items()}
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        if self._scalars is not None:
            for key, value in row.items():
                if isinstance(value, float):
                    self._scalars.add_scalar(key, value, frames)

    def position(self) -> int:
        """The length of the file on disk, for a checkpoint to remember."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        if self._scalars is not None:
            self._scalars.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The rows of a `metrics.jsonl`; a last line that was cut short is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def _plain(value: Any) -> Any:
    """Tensors and numpy values as JSON numbers and lists; what is not finite as null."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _scalar_writer(folder: Path, frames: int) -> ScalarWriter | None:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # the extra `tb` is optional; metrics.jsonl has everything
        return None
    return SummaryWriter(folder, purge_step=frames)
