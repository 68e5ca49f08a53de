"""Events of a run for users to react to: progress bars, early stopping, their own records.

Subclass `Callback`, override the events of interest, and pass instances to `Trainer`:

    class StopWhenSolved(Callback):
        def on_evaluation(self, progress, metrics):
            return metrics["eval/return_mean"] > 900

A callback only receives values; all it can change is when the run ends.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from nearsym.errors import UsageError
from nearsym.training.bars import make_bar


class Progress(NamedTuple):
    """Where a run stands.

    >>> Progress(frames=50, total=200).frames / 200
    0.25
    """

    frames: int
    """Environment steps so far."""
    total: int
    """Environment steps that the run was asked for."""
    last_return: float = math.nan
    """Mean return of the last evaluation; NaN before the first."""
    best_return: float = -math.inf
    """The largest so far; −∞ before the first evaluation."""
    shown: Mapping[str, str] = {}
    """What a progress bar shows beside the frames: returns and losses as short text."""


class Callback:
    """Does nothing at every event; subclasses override those of interest.

    >>> class Note(Callback):
    ...     def on_checkpoint(self, progress, path):
    ...         print(f"{path.name} at frame {progress.frames}")
    >>> Note().on_checkpoint(Progress(frames=10, total=20), Path("run/best.ckpt"))
    best.ckpt at frame 10
    """

    def on_start(self, progress: Progress) -> None:
        """The run begins, or goes on from a checkpoint."""

    def on_step(self, progress: Progress) -> None:
        """The agent has made a step. This is called often: keep it fast."""

    def on_evaluation(self, progress: Progress, metrics: Mapping[str, Any]) -> bool | None:
        """An evaluation is done and logged; `metrics` is its row of the log.

        Return True to end the run here. It is saved first, and can be resumed.
        """
        return None

    def on_checkpoint(self, progress: Progress, path: Path) -> None:
        """A checkpoint has been saved at `path`."""

    def on_end(self, progress: Progress) -> None:
        """The run is over: it came to its end, was stopped, or failed."""


class Callbacks(Callback):
    """Several callbacks as one, called in their order.

    >>> bool(Callbacks([])), bool(Callbacks([ProgressBar()]))
    (False, True)
    """

    def __init__(self, callbacks: Iterable[Callback]):
        self._callbacks = tuple(callbacks)
        for callback in self._callbacks:
            if not isinstance(callback, Callback):
                raise UsageError(
                    f"`callbacks` takes instances of nearsym.training.Callback, got {callback!r}."
                )

    def __bool__(self) -> bool:
        """Whether there is any callback."""
        return bool(self._callbacks)

    def on_start(self, progress: Progress) -> None:
        for callback in self._callbacks:
            callback.on_start(progress)

    def on_step(self, progress: Progress) -> None:
        for callback in self._callbacks:
            callback.on_step(progress)

    def on_evaluation(self, progress: Progress, metrics: Mapping[str, Any]) -> bool:
        """Call all of them; True if any asks the run to end."""
        asked = [callback.on_evaluation(progress, metrics) for callback in self._callbacks]
        return any(asked)

    def on_checkpoint(self, progress: Progress, path: Path) -> None:
        for callback in self._callbacks:
            callback.on_checkpoint(progress, path)

    def on_end(self, progress: Progress) -> None:
        for callback in self._callbacks:
            callback.on_end(progress)


class ProgressBar(Callback):
    """A bar of frames with the last returns and losses, in shells and notebooks.

    It is live on a terminal and in a notebook; in a file it is a line every 30 seconds. `file` is
    standard error unless given.

    >>> import io
    >>> shown = io.StringIO()
    >>> bar = ProgressBar(file=shown)
    >>> bar.on_start(Progress(frames=0, total=200))
    >>> bar.on_step(Progress(frames=200, total=200, shown={"return": "12"}))
    >>> bar.on_end(Progress(frames=200, total=200, shown={"return": "12"}))
    >>> "200/200" in shown.getvalue() and "return=12" in shown.getvalue()
    True
    """

    def __init__(self, *, file: TextIO | None = None):
        self._file = file
        self._bar: Any = None
        self._shown: Mapping[str, str] = {}

    def on_start(self, progress: Progress) -> None:
        self._bar = make_bar(
            total=progress.total, unit="frame", initial=progress.frames, file=self._file
        )

    def on_step(self, progress: Progress) -> None:
        if progress.shown is not self._shown:  # formatting it at every step is slow
            self._bar.set_postfix(progress.shown, refresh=False)
            self._shown = progress.shown
        self._bar.update(progress.frames - self._bar.n)

    def on_evaluation(self, progress: Progress, metrics: Mapping[str, Any]) -> None:
        self._bar.set_postfix(progress.shown)

    def on_end(self, progress: Progress) -> None:
        if self._bar is not None:
            self._bar.close()


def all_of(callbacks: Sequence[Callback], progress: bool) -> tuple[Callback, ...]:
    """The callbacks of a run, behind a bar where one is wanted."""
    if isinstance(callbacks, Callback):
        raise UsageError("`callbacks` is a list, even for one: callbacks=[…].")
    return (*([ProgressBar()] if progress else []), *callbacks)
