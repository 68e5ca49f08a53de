"""Checkpoints: written aside, synced, renamed; checksummed; the last two and the best kept.

What one file holds, and how it is read without trusting it, is `checkpoint_file.py`. Order is by
frame count, never by clock.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from nearsym.errors import RunError, UsageError, unknown_name
from nearsym.training import atomic
from nearsym.training.checkpoint_file import WRONG, decode, encode, plain_settings, reason
from nearsym.training.packing import pack
from nearsym.training.storage import KEPT_CHECKPOINTS, CorruptError

_PUT_BACK = "That would give other numbers: put config.json back, or start a new run."
Accept = Callable[[dict[str, Any], int], None]
"""Takes over a state and its frame count, or raises an error if it is none that it can use."""


class OtherSettingsError(CorruptError):
    """A checkpoint is whole, and was made with other settings: of another run, or they were
    edited."""


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

    `settings` are what the numbers of the run depend on, by name. They are saved in every
    checkpoint; one that was saved under others is refused by the name of the setting.

    >>> import tempfile, torch
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
        settings: Mapping[str, Any] | None = None,
    ):
        self.folder = Path(folder)
        self.settings = None if settings is None else plain_settings(settings)
        self.replay = replay
        self.replay_folder = self.folder / "replay" if replay_folder is None else replay_folder
        self._refused: set[Path] = set()
        self._prepared = False

    # ------------------------------------------------------------------ writing

    def save(self, state: dict[str, Any], frames: int, *, best: bool = False) -> Path:
        """Save the state at a frame count and return the file; with `best` also as the best so far.

        After a failure at any point the checkpoints from before are intact and load.
        """
        packed = {"frames": int(frames), "state": pack(state), "settings": self.settings}
        with atomic.explain_errors("Saving a checkpoint", self.folder):
            if not self._prepared:  # once: a run folder that vanishes later is an error
                atomic.make_folder(self.folder)
                self._prepared = True
            replay = None if self.replay is None else self.replay.commit(self.replay_folder)
            if best:  # first: a kill in between repeats the evaluation that found it
                atomic.replace(self.folder / "best.ckpt", *encode(packed | {"replay": None}))
            path = self.folder / f"checkpoint-{frames:012d}.ckpt"
            atomic.replace(path, *encode(packed | {"replay": replay}))
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

    def load_latest(self, accept: Accept | None = None) -> tuple[dict[str, Any], int]:
        """The newest state that is whole, with its frame count; the replay is restored with it.

        A newer checkpoint that is damaged, or whose replay is, or that `accept` cannot take over,
        is passed over with a warning.
        """
        reasons: list[CorruptError] = []
        for path in self._newest_first():
            try:
                content = self._content(path)
                if content["frames"] != _frames(path):
                    raise CorruptError(f"{path} is of frame {content['frames']}, against its name.")
                if self.replay is not None:
                    self._restore_replay(path, content)
                _hand_over(path, content, accept)
            except CorruptError as error:
                reasons.append(error)
                self._refused.add(path)
                continue
            for said in reasons:
                text = f"{said} Using the checkpoint before it, {path.name}."
                warnings.warn(text, CheckpointWarning, stacklevel=2)
            return content["state"], content["frames"]
        raise self._none_left(reasons)

    def load(
        self, which: Literal["best", "last"] | str, accept: Accept | None = None
    ) -> tuple[dict[str, Any], int]:
        """A state to evaluate: the best one, or the last. Nothing on the disk is changed."""
        if which == "last":
            return self._without_replay().load_latest(accept)
        if which != "best":
            raise unknown_name("checkpoint", which, ["best", "last"])
        path = self.folder / "best.ckpt"
        if not any(self.folder.glob("*.ckpt")):
            raise UsageError(
                f"{self.folder} has no checkpoint: the run ended before its first, or somebody has "
                "deleted them."
            )
        if not path.exists():
            raise UsageError(
                f"{self.folder} has no best checkpoint yet: it appears with the first evaluation. "
                "Use `checkpoint='last'`."
            )
        try:
            content = self._content(path)
            _hand_over(path, content, accept)
        except OtherSettingsError as error:
            raise UsageError(f"{error} {_PUT_BACK}") from error
        except CorruptError as error:
            raise UsageError(f"{error} Use `checkpoint='last'`.") from error
        return content["state"], content["frames"]

    def _without_replay(self) -> "CheckpointStore":
        """The same checkpoints, for somebody who changes nothing."""
        store = CheckpointStore(self.folder)
        store.settings = self.settings
        return store

    def _content(self, path: Path) -> dict[str, Any]:
        content = decode(path)
        saved = content.get("settings")  # version 0.1 saved none
        for name, now in (self.settings or {}).items():
            before = now if saved is None else saved.get(name, now)  # nor what came later
            if before != now:
                raise OtherSettingsError(
                    f"{path} was trained with {name} {before}, and config.json says {now}."
                )
        return content

    def _restore_replay(self, path: Path, content: dict[str, Any]) -> None:
        assert self.replay is not None
        if content["replay"] is None:
            raise CorruptError(f"{path} was saved without its replay.")
        try:
            self.replay.restore(content["replay"], self.replay_folder)
        except (CorruptError, RunError):
            raise
        except UsageError as error:
            raise CorruptError(f"{path} is of another run. {error}") from error
        except WRONG as error:
            raise CorruptError(f"{path} describes no replay: {reason(error)}.") from error

    def _newest_first(self) -> Iterator[Path]:
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        found = [
            self.folder / n for n in names if n.startswith("checkpoint-") and n.endswith(".ckpt")
        ]
        ours = [path for path in found if _frames(path) >= 0]
        return iter(sorted(ours, key=_frames, reverse=True))

    def _none_left(self, reasons: list[CorruptError]) -> UsageError:
        if not self.folder.is_dir():
            return UsageError(f"There is no folder {self.folder}. Name the folder of a run.")
        if not reasons:
            return UsageError(
                f"{self.folder} holds no checkpoint: the run ended before its first one. "
                "Start a new run."
            )
        others = [error for error in reasons if isinstance(error, OtherSettingsError)]
        if others:
            return UsageError(f"{others[0]} {_PUT_BACK}")
        return UsageError(
            f"No checkpoint in {self.folder} can be used. {' '.join(map(str, reasons))} "
            "Restore the folder from a copy, or start a new run."
        )


def _frames(path: Path) -> int:
    """The frame count in a checkpoint's name; −1 for a file that is not one of ours."""
    digits = path.stem.removeprefix("checkpoint-")
    return int(digits) if digits.isdecimal() else -1


def _hand_over(path: Path, content: dict[str, Any], accept: Accept | None) -> None:
    """Let somebody take over the state of a checkpoint; `CorruptError` if it cannot be."""
    if accept is None:
        return
    try:
        accept(content["state"], content["frames"])
    except RunError:
        raise
    except WRONG as error:
        raise CorruptError(f"{path} holds no state of this run: {reason(error)}.") from error
