"""Where a training loop stands, and what of it a checkpoint holds."""

import math
import time
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass
class LoopState:
    """Where the loop stands. Everything else that changes lives in agent, replay and env.

    >>> LoopState().frames
    0
    """

    frames: int = 0
    step: int = 0
    episode_return: float = 0.0
    evaluation_due: bool = False
    best_return: float = -math.inf
    final_return: float = math.nan
    seconds: float = 0.0
    """On the clock."""
    processor_seconds: float = 0.0
    """Of processor time, all threads together: other work on the machine hardly changes it."""
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of the update metrics since the last line of the log."""
    count: int = 0
    """Updates in those sums."""


class Stopwatch:
    """Counts on from the times that a state has."""

    def __init__(self, state: LoopState):
        self.state = state
        self._clock = time.monotonic() - state.seconds
        self._processor = time.process_time() - state.processor_seconds

    def read(self) -> None:
        """Write the times into the state."""
        self.state.seconds = time.monotonic() - self._clock
        self.state.processor_seconds = time.process_time() - self._processor


def saved_loop_state(saved: Any) -> LoopState:
    """The state that `asdict` gave; `ValueError` for anything else.

    >>> saved_loop_state({"frames": 100})
    Traceback (most recent call last):
        ...
    ValueError: its loop has no 'step'
    """
    if not isinstance(saved, dict):
        raise ValueError(f"its loop is a {type(saved).__name__}")
    if "seconds" in saved:  # version 0.1 had no other time
        saved = {"processor_seconds": saved["seconds"]} | saved
    for known in fields(LoopState):
        if known.name not in saved:
            raise ValueError(f"its loop has no {known.name!r}")
        if type(saved[known.name]) is not _KINDS[known.name]:
            raise ValueError(f"its loop has a wrong {known.name!r}")
    state = LoopState(**saved)
    _check_numbers(state)
    return state


_KINDS = {known.name: type(getattr(LoopState(), known.name)) for known in fields(LoopState)}


def _check_numbers(state: LoopState) -> None:
    times = state.seconds, state.processor_seconds
    numbers = [state.episode_return, *times, *state.sums.values()]
    if not all(type(number) is float and math.isfinite(number) for number in numbers):
        raise ValueError("its loop holds numbers that are not finite")
    if min(state.frames, state.step, state.count, *times) < 0:
        raise ValueError("its loop holds numbers below zero")
    if state.sums and not state.count:
        raise ValueError("its loop has summed what it did not count")
