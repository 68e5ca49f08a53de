"""Temporary."""

from typing import Any, NamedTuple


class Progress(NamedTuple):
    frames: int
    total: int
    shown: dict[str, str]


class Callback:
    def on_start(self, progress: Progress) -> None: ...

    def on_step(self, progress: Progress) -> None: ...

    def on_evaluation(self, progress: Progress, metrics: dict[str, Any]) -> bool | None:
        return None

    def on_checkpoint(self, progress: Progress, path: Any) -> None: ...

    def on_end(self, progress: Progress) -> None: ...


class ProgressBar(Callback):
    pass
