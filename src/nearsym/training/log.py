"""Where a run writes what it measures: `metrics.jsonl`, and TensorBoard where it is installed."""

import contextlib
import json
import math
import os
import time
from pathlib import Path
from typing import Any

from nearsym.errors import UsageError
from nearsym.training import atomic


class RunLog:
    """Appends one JSON object a line, flushed at once, so that a killed run loses nothing.

    A resumed run cuts the file back to where its checkpoint stood and goes on from there.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = RunLog(Path(folder.name))
    >>> log.write(1000, {"eval/return_mean": 12.5})
    >>> log.close()
    >>> read_metrics(log.path)
    [{'frames': 1000, 'eval/return_mean': 12.5}]
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path, *, position: int = 0, frames: int = 0):
        self.folder = folder
        self.path = folder / "metrics.jsonl"
        with self._explained():
            self.path.touch()
            if self.path.stat().st_size < position:
                raise UsageError(
                    f"{self.path} is shorter than it was at the last checkpoint: something else "
                    "changed it. Restore that file, or start a new run."
                )
            os.truncate(self.path, position)
            self._file = self.path.open("a", encoding="utf-8")
            self._scalars = _scalars(folder / "tb", frames)

    def _explained(self) -> Any:
        return atomic.explain_errors("Writing metrics", self.folder)

    def write(self, frames: int, metrics: dict[str, Any]) -> None:
        """One line of metrics at a number of frames."""
        row = {"frames": frames} | {key: _plain(value) for key, value in metrics.items()}
        with self._explained():
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
            if self._scalars is not None:
                found = {key: value for key, value in row.items() if isinstance(value, float)}
                self._scalars.write(frames, found)

    def position(self) -> int:
        """The length of the file on disk, for a checkpoint to remember."""
        with self._explained():
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()

    def close(self) -> None:
        """Let go of the files. What a full disk has refused was reported by `write` already."""
        for file in (self._file, self._scalars):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


class Scalars:
    """A file of TensorBoard events.

    TensorBoard's own writer works in a thread, where a full disk ends in a traceback of the thread
    and perhaps, much later, in an error here; this one writes at once and fails at once.
    """

    def __init__(self, folder: Path, frames: int):
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        folder.mkdir(exist_ok=True)
        # As TensorBoard names them: it reads a folder's files in the order of their names.
        name = f"events.out.tfevents.{time.time():010.0f}.{os.getpid()}"
        self._records = RecordWriter((folder / name).open("ab"))
        self._add(file_version="brain.Event:2")
        start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        self._add(step=frames + 1, session_log=start)  # hides what a killed run wrote from there on

    def write(self, frames: int, values: dict[str, float]) -> None:
        """Add values at a number of frames."""
        scalars = [self._summary.Value(tag=k, simple_value=v) for k, v in values.items()]
        self._add(step=frames, summary=self._summary(value=scalars))

    def _add(self, **content: Any) -> None:
        event = self._event(wall_time=time.time(), **content)
        self._records.write(event.SerializeToString())
        self._records.flush()

    def close(self) -> None:
        self._records.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The rows of a `metrics.jsonl`; a last line that was cut short is left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "metrics.jsonl"
    ...     _ = path.write_text('{"frames": 1000, "train/return": 3.5}\\n{"frames": 20')
    ...     read_metrics(path)
    [{'frames': 1000, 'train/return': 3.5}]
    """
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


def _scalars(folder: Path, frames: int) -> Scalars | None:
    try:
        return Scalars(folder, frames)
    except ImportError:  # the extra `tb` is optional; metrics.jsonl has everything
        return None
