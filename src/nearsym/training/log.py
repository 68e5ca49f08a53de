"""Where a run writes what it measures: `metrics.jsonl`, and TensorBoard where it is installed."""

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearsym.errors import RunError, UsageError
from nearsym.training import atomic
from nearsym.training.untrusted import LARGEST_TEXT, parse_json, read_text


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

    def __init__(self, folder: Path, *, position: int | None = 0, frames: int = 0):
        """A log that begins, or goes on, `position` bytes into its file, at a number of frames.
        With None it is only looked at, until `cut` is called."""
        self.folder = folder
        self.path = folder / "metrics.jsonl"
        self._scalars: Scalars | None = None
        with self._explained():
            self._descriptor = atomic.open_file(self.path)
        self._size = os.fstat(self._descriptor).st_size
        if position is not None:
            with self._closed_on_error():
                self.cut(position, frames)

    def _explained(self) -> Any:
        return atomic.explain_errors("Writing metrics", self.folder)

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def check(self, position: int) -> None:
        """Refuse to go on where no line ends."""
        if type(position) is not int or position < 0:
            raise ValueError(f"{position!r} is no place in a log")
        if position > self._size:
            raise UsageError(
                f"{self.path} is shorter than it was at the last checkpoint: something else "
                "changed it. Restore that file, or start a new run."
            )
        if position > 0 and self._read(position - 1, 1) != b"\n":
            raise UsageError(
                f"{self.path} has no line that ends at byte {position}, where it is to go on: "
                "something else changed it. Restore that file, or start a new run."
            )

    def cut(self, position: int, frames: int) -> None:
        """Forget what comes after a position, and go on there at a number of frames."""
        self.check(position)
        with self._explained():
            os.ftruncate(self._descriptor, position)
            self._size = position
            self._scalars = _scalars(self.folder / "tb", frames)

    def write(self, frames: int, metrics: dict[str, Any]) -> None:
        """One line of metrics at a number of frames."""
        row = {"frames": frames} | {key: _plain(value) for key, value in metrics.items()}
        line = (json.dumps(row) + "\n").encode()
        self._refuse_lost()
        with self._explained():
            atomic.write_at(self._descriptor, line, self._size)
            self._size += len(line)
            if self._scalars is not None:
                found = {key: value for key, value in row.items() if isinstance(value, float)}
                self._scalars.write(frames, found)

    def position(self) -> int:
        """The length of the file on disk, for a checkpoint to remember."""
        self._refuse_lost()
        with self._explained():
            atomic.sync(self._descriptor)
        return self._size

    def _refuse_lost(self) -> None:
        """Stop where somebody has deleted, replaced or shortened the file, which would otherwise
        take every line that follows without a word."""
        ours, found = os.fstat(self._descriptor), _stat(self.path)
        if ours.st_size < self._size:
            raise RunError(
                f"{self.path} was shortened while the run wrote to it. Restore that file, then "
                "resume the run."
            )
        if found is None or not os.path.samestat(ours, found):
            raise RunError(self._rescued(gone=found is None))

    def _rescued(self, gone: bool) -> str:
        """Write what the lost file held to the disk, and say so."""
        kept = self.path if gone else self.path.with_name("metrics.kept.jsonl")
        with self._explained():
            atomic.replace(kept, self._read(0, self._size))
        if gone:
            return (
                f"{self.path} was deleted while the run wrote to it. What it held has been put "
                "back; resume the run."
            )
        return (
            f"{self.path} was replaced while the run wrote to it. What it held is in {kept.name}: "
            "give it its old name, then resume the run."
        )

    def _read(self, start: int, count: int) -> bytes:
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(start)
            return file.read(count)

    def close(self) -> None:
        """Let go of the files. What a full disk has refused was reported by `write` already."""
        os.close(self._descriptor)
        if self._scalars is not None:
            with contextlib.suppress(OSError):
                self._scalars.close()


def _stat(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


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
    lines = enumerate(read_text(path, largest=LARGEST_TEXT).split("\n")[:-1], 1)
    return [_row(line, f"{path}, line {number},") for number, line in lines if line]


def _row(line: str, where: str) -> dict[str, Any]:
    row = parse_json(line, where)
    frames = row.get("frames") if isinstance(row, dict) else None
    if type(frames) is not int or not 0 <= frames < 2**63:
        raise UsageError(f"{where} is damaged: it is no object with a number of frames.")
    return row


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
