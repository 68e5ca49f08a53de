"""An append-only log of records in segment files: the disk side of the replay.

Record number i lives in segment ⌊i / length⌋, so no byte is ever written twice: whole segments are
dropped at the old end, and new records never overwrite them. What a checkpoint refers to therefore
stays as it was for as long as its segment files exist.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.training import atomic
from nearsym.training.untrusted import refuse_irregular

KEPT_CHECKPOINTS = 2
"""How many checkpoints can be resumed from; the segments that these need are kept."""


class CorruptError(RuntimeError):
    """A saved file is truncated, altered or foreign; an older one may still be good.

    >>> print(CorruptError("segment-000001.bin does not match its checksum."))
    segment-000001.bin does not match its checksum.
    """


class SegmentLog:
    """Records appended one by one, kept in memory or, given a folder, as memory-mapped files.

    Mapped segments are written with `pwrite` into space reserved beforehand and read through a
    read-only mapping: a full disk is an `OSError` at the write, never a SIGBUS.
    """

    def __init__(self, record: np.dtype, *, length: int, folder: Path | None = None):
        self.record = record
        self.length = length
        self.folder = folder
        self._descriptor: int | None = None
        self._clear()
        if folder is not None:
            with atomic.explain_errors("Creating the replay", folder, advice=atomic.TRY_AGAIN):
                atomic.make_folder(folder)

    def _clear(self) -> None:
        self.close()
        self.size = 0
        self.segments: dict[int, np.ndarray] = {}
        self._hashes: dict[int, Any] = {}
        self._committed = 0
        # What each kept checkpoint needs: its log size -> its first segment. Saving again at the
        # same size replaces an entry, as it replaces the checkpoint.
        self._kept: dict[int, int] = {}

    def close(self) -> None:
        """Let go of the file being written; the log may be appended to again all the same."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.close()

    def append(self, record: np.ndarray) -> None:
        """Add one record (an array of shape (1,)) at the end."""
        number, row = divmod(self.size, self.length)
        if self.folder is None:
            if row == 0:
                self.segments[number] = np.zeros(self.length, self.record)  # committed lazily
            self.segments[number][row] = record[0]
        else:
            with atomic.explain_errors("Writing the replay", self.folder):
                if row == 0 or self._descriptor is None:
                    self._open(self.folder, number)
                offset = row * self.record.itemsize
                assert self._descriptor is not None
                atomic.write_at(self._descriptor, _bytes(record), offset)
        self.size += 1

    def _open(self, folder: Path, number: int) -> None:
        """Make `number` the mapped segment that is written to."""
        self.close()
        path = _path(folder, number)
        self._descriptor = atomic.open_file(path)
        atomic.allocate(self._descriptor, self.length * self.record.itemsize)
        if number not in self.segments:
            self.segments[number] = self._map(path)

    def _map(self, path: Path) -> np.ndarray:
        mapped = np.memmap(path, dtype=self.record, mode="r", shape=(self.length,))
        return mapped.view(np.ndarray)  # indexing the subclass is several times slower

    def drop(self, before: int) -> None:
        """Forget all segments that end at or before record `before`."""
        first = before // self.length
        gone = [number for number in self.segments if number < first]
        for number in gone:
            del self.segments[number]
            self._hashes.pop(number, None)
        if gone and self.folder is not None:
            with atomic.explain_errors("Tidying the replay", self.folder):
                self._remove_unneeded(self.folder)

    # ------------------------------------------------------------------ checkpoints

    def commit(self, folder: Path) -> dict[str, Any]:
        """Make all records durable and describe them in plain data.

        Only what is new since the last commit is written, synced and hashed. The description
        holds the log's size and, for each segment, the SHA-256 of its records so far.
        """
        hashes = dict(self._hashes)
        with atomic.explain_errors("Saving the replay", folder):
            if self._committed == 0:  # later on, a missing folder is an error
                atomic.make_folder(folder)
            for number in sorted(self.segments):
                start, rows = self._uncommitted(number)
                if len(rows) == 0:
                    continue
                self._persist(_path(folder, number), start, rows)
                hashes[number] = hashes[number].copy() if number in hashes else hashlib.sha256()
                hashes[number].update(_bytes(rows))
            atomic.sync_folder(folder)
        self._hashes, self._committed = hashes, self.size
        return {
            "size": self.size,
            "sha256": {number: hashes[number].hexdigest() for number in sorted(self.segments)},
        }

    def _persist(self, path: Path, start: int, rows: np.ndarray) -> None:
        """Bring `rows` to the disk as the records of a segment from `start` on."""
        offset = start * self.record.itemsize
        with atomic.opened(path) as fd:
            if os.fstat(fd).st_size < offset:
                raise atomic.DiskError(
                    f"{path} has lost records that were saved before: something else changed the "
                    "run folder. Restore that file, or start a new run."
                )
            if self.folder is None:
                atomic.write_at(fd, _bytes(rows), offset)
            atomic.sync(fd)

    def _uncommitted(self, number: int) -> tuple[int, np.ndarray]:
        """The records of a segment that are not on the disk yet, and where they start in it."""
        first = number * self.length
        start = max(self._committed - first, 0)
        return start, self.segments[number][start : self.size - first]

    def release(self, folder: Path) -> None:
        """The last commit's checkpoint is safely on disk: delete what only older ones needed."""
        self._kept[self._committed] = min(self.segments, default=0)
        for size in sorted(self._kept)[:-KEPT_CHECKPOINTS]:
            del self._kept[size]
        with atomic.explain_errors("Tidying the replay", folder):
            self._remove_unneeded(folder)

    def _remove_unneeded(self, folder: Path) -> None:
        needed = min([*self._kept.values(), min(self.segments, default=0)])
        for number, path in _saved(folder).items():
            if number < needed:
                atomic.remove(path)

    def restore(self, state: dict[str, Any], folder: Path) -> None:
        """Become the log that `commit` described; `CorruptError` if the files no longer match."""
        self._clear()
        self._check_description(state)
        for number, digest in sorted(state["sha256"].items()):
            rows = min(state["size"] - number * self.length, self.length)
            with atomic.explain_errors("Reading the replay", folder):
                segment = self._load(_path(folder, number), rows)
            self._hashes[number] = hashlib.sha256(_bytes(segment[:rows]))
            if self._hashes[number].hexdigest() != digest:
                raise CorruptError(f"{_path(folder, number)} does not match its checksum.")
            self.segments[number] = segment
        self.size = self._committed = state["size"]
        # An older checkpoint may still need what lies before: keep it until two newer ones exist.
        self._kept = {-1: min(_saved(folder), default=0)}
        self._kept[self.size] = min(self.segments, default=0)

    def _check_description(self, state: dict[str, Any]) -> None:
        """The segments of a log are numbered without gaps, and the last one holds its last record;
        names of files are made from these numbers."""
        size, numbers = state["size"], [*state["sha256"]]
        if type(size) is not int or any(type(number) is not int for number in numbers):
            raise ValueError("its log is not described by whole numbers")
        end = -(-size // self.length)
        if size < 0 or sorted(numbers) != list(range(max(end - len(numbers), 0), end)):
            raise ValueError(f"a log of {size:,} records has other segments than these")

    def _load(self, path: Path, rows: int) -> np.ndarray:
        needed = rows * self.record.itemsize
        refuse_irregular(path)
        size = path.stat().st_size if path.is_file() else 0
        if size < needed:
            raise CorruptError(f"{path} should hold {needed:,} bytes and holds {size:,}.")
        if self.folder is not None:
            with atomic.opened(path) as fd:  # a segment saved from memory ends with its records
                atomic.allocate(fd, self.length * self.record.itemsize)
            return self._map(path)
        segment = np.zeros(self.length, self.record)
        with path.open("rb") as file:
            if file.readinto(_bytes(segment[:rows])) != needed:
                raise CorruptError(f"{path} became shorter while it was read.")
        return segment


def _bytes(records: np.ndarray) -> memoryview:
    return records.view(np.uint8).reshape(-1).data


def _path(folder: Path, number: int) -> Path:
    return folder / f"segment-{number:06d}.bin"


def _saved(folder: Path) -> dict[int, Path]:
    """The segment files in a folder by their numbers."""
    found = {path.stem.removeprefix("segment-"): path for path in folder.glob("segment-*.bin")}
    return {int(digits): path for digits, path in found.items() if digits.isdecimal()}
