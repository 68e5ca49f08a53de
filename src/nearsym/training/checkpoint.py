"""Checkpoints: written aside, synced, renamed; checksummed; the last two and the best kept.

A checkpoint is one file: a line with the format, a line with the SHA-256 of the rest, and the rest,
a `torch.save` of tensors and plain data. Reading checks the sum first and then uses
`weights_only=True`, so that no file can run code. Order is by frame count, never by clock.
"""

import hashlib
import io
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

import torch

from nearsym.errors import UsageError, unknown_name
from nearsym.training import atomic
from nearsym.training.packing import pack, unpack
from nearsym.training.storage import KEPT_CHECKPOINTS, CorruptError

FORMAT = b"nearsym-checkpoint-2"
_DIGEST = 64  # hexadecimal digits of a SHA-256


class CheckpointWarning(UserWarning):
    """A checkpoint could not be used; an older one was.

    >>> issubclass(CheckpointWarning, UserWarning)  # filter it like any other
    True
    """


class Durable(Protocol):
    """Something large that saves itself step by step beside the checkpoints: the replay."""

    def commit(self, folder: Path | None = None) -> dict[str, Any]: ...

    def release(self, folder: Path | None = None) -> None: ...

    def restore(self, state: dict[str, Any], folder: Path | None = None) -> None: ...


class CheckpointStore:
    """The checkpoints of one run.

    With a replay, each checkpoint refers to as much of it as existed then, and loading one brings
    the replay back to that point. Its segments live in `replay_folder` (by default `replay` inside
    the store's folder) unless it is memory-mapped and has a folder of its own. `best` is for
    evaluation: it does not keep the replay alive and cannot be resumed from.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = CheckpointStore(Path(folder.name) / "checkpoints")
    >>> store.save({"weight": torch.ones(2)}, frames=1000, best=True).name
    'checkpoint-000000001000.ckpt'
    >>> store.load("best")
    ({'weight': tensor([1., 1.])}, 1000)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        folder: Path,
        *,
        replay: Durable | None = None,
        replay_folder: Path | None = None,
    ):
        self.folder = Path(folder)
        self.replay = replay
        self.replay_folder = self.folder / "replay" if replay_folder is None else replay_folder
        self._refused: set[Path] = set()
        self._prepared = False

    # ------------------------------------------------------------------ writing

    def save(self, state: dict[str, Any], frames: int, *, best: bool = False) -> Path:
        """Save the state at a frame count and return the file; with `best` also as the best so far.

        After a failure at any point the checkpoints from before are intact and load.
        """
        packed = {"frames": int(frames), "state": pack(state)}
        with atomic.explain_errors("Saving a checkpoint", self.folder):
            if not self._prepared:  # once: a run folder that vanishes later is an error
                atomic.make_folder(self.folder)
                self._prepared = True
            replay = None if self.replay is None else self.replay.commit(self.replay_folder)
            if best:  # first: a kill in between repeats the evaluation that found it
                atomic.replace(self.folder / "best.ckpt", *_encode(packed | {"replay": None}))
            path = self.folder / f"checkpoint-{frames:012d}.ckpt"
            atomic.replace(path, *_encode(packed | {"replay": replay}))
            self._prune(newest=path)
            if self.replay is not None:
                self.replay.release(self.replay_folder)
        return path

    def _prune(self, newest: Path) -> None:
        """Keep the newest that can be loaded, so that a bad file never pushes a good one out."""
        bad = self._refused - {newest}
        good = [path for path in self._newest_first() if path not in bad]
        for path in [*bad, *good[KEPT_CHECKPOINTS:], *self.folder.glob("*.part")]:
            atomic.remove(path)
        self._refused.clear()

    # ------------------------------------------------------------------ reading

    def load_latest(self) -> tuple[dict[str, Any], int]:
        """The newest state that is whole, with its frame count; the replay is restored with it.

        A newer checkpoint that is damaged, or whose replay is, is passed over with a warning.
        """
        reasons = []
        for path in self._newest_first():
            try:
                content = _decode(path)
                if content["frames"] != _frames(path):
                    raise CorruptError(f"{path} is of frame {content['frames']}, against its name.")
                if self.replay is not None:
                    self._restore_replay(path, content)
            except CorruptError as error:
                reasons.append(str(error))
                self._refused.add(path)
                continue
            for reason in reasons:
                text = f"{reason} Using the checkpoint before it, {path.name}."
                warnings.warn(text, CheckpointWarning, stacklevel=2)
            return unpack(content["state"]), content["frames"]
        raise self._none_left(reasons)

    def load(self, which: Literal["best", "last"] | str) -> tuple[dict[str, Any], int]:
        """A state to evaluate: the best one, or the last. Nothing on the disk is changed."""
        if which == "last":
            return CheckpointStore(self.folder).load_latest()
        if which != "best":
            raise unknown_name("checkpoint", which, ["best", "last"])
        path = self.folder / "best.ckpt"
        if not path.exists():
            raise UsageError(
                f"{self.folder} has no best checkpoint yet: it appears with the first evaluation. "
                "Use `checkpoint='last'`."
            )
        try:
            content = _decode(path)
        except CorruptError as error:
            raise UsageError(f"{error} Use `checkpoint='last'`.") from error
        return unpack(content["state"]), content["frames"]

    def _restore_replay(self, path: Path, content: dict[str, Any]) -> None:
        assert self.replay is not None
        if content["replay"] is None:
            raise CorruptError(f"{path} was saved without its replay.")
        try:
            self.replay.restore(content["replay"], self.replay_folder)
        except UsageError as error:
            raise CorruptError(f"{path} is of another run. {error}") from error

    def _newest_first(self) -> Iterator[Path]:
        found = [path for path in self.folder.glob("checkpoint-*.ckpt") if _frames(path) >= 0]
        return iter(sorted(found, key=_frames, reverse=True))

    def _none_left(self, reasons: list[str]) -> UsageError:
        if not self.folder.is_dir():
            return UsageError(f"There is no folder {self.folder}. Name the folder of a run.")
        if not reasons:
            return UsageError(
                f"{self.folder} holds no checkpoint: the run ended before its first one. "
                "Start a new run."
            )
        return UsageError(
            f"No checkpoint in {self.folder} can be used. {' '.join(reasons)} "
            "Restore the folder from a copy, or start a new run."
        )


def _frames(path: Path) -> int:
    """The frame count in a checkpoint's name; −1 for a file that is not one of ours."""
    digits = path.stem.removeprefix("checkpoint-")
    return int(digits) if digits.isdecimal() else -1


def _encode(content: dict[str, Any]) -> tuple[bytes, memoryview]:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    body = buffer.getbuffer()
    return b"%s\n%s\n" % (FORMAT, hashlib.sha256(body).hexdigest().encode()), body


def _decode(path: Path) -> dict[str, Any]:
    """The content of a checkpoint file; `CorruptError` for anything that `_encode` did not make."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorruptError(f"{path} cannot be read ({error.strerror}).") from error
    start = len(FORMAT) + _DIGEST + 2
    if not data.startswith(FORMAT + b"\n"):
        raise CorruptError(f"{path} is not a checkpoint of this version of nearsym.")
    body = memoryview(data)[start:]
    if data[len(FORMAT) + 1 : start] != hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise CorruptError(f"{path} does not match its checksum: it is damaged or incomplete.")
    return _load_body(path, body)


def _load_body(path: Path, body: memoryview) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's remarks on files that it then refuses
            content = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:  # how torch says that it met something executable
        raise CorruptError(
            f"{path} holds more than tensors and plain data; it was refused and nothing in it ran."
        ) from error
    except (RuntimeError, EOFError, ValueError, TypeError, KeyError, OSError) as error:
        raise CorruptError(f"{path} holds no state that torch can read.") from error
    if not isinstance(content, dict) or set(content) != {"frames", "state", "replay"}:
        raise CorruptError(f"{path} holds something other than the state of a run.")
    return content
