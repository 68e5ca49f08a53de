"""Callbacks by themselves; what the loop tells them is in test_loop.py."""

import io
import math
from pathlib import Path

import pytest

from nearsym.errors import UsageError
from nearsym.training.callbacks import Callback, Callbacks, Progress, ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def play(bar, *steps):
    """A run of steps, each the frames and what is shown."""
    bar.on_start(Progress(frames=0, total=100))
    for frames, shown in steps:
        bar.on_step(Progress(frames=frames, total=100, shown=shown))
    bar.on_end(Progress(frames=steps[-1][0], total=100))


def test_a_callback_does_nothing_by_itself():
    callback, progress = Callback(), Progress(frames=1, total=2)
    assert callback.on_evaluation(progress, {}) is None
    for event in (callback.on_start, callback.on_step, callback.on_end):
        event(progress)
    callback.on_checkpoint(progress, Path("best.ckpt"))


def test_progress_before_the_first_evaluation():
    progress = Progress(frames=0, total=10)
    assert math.isnan(progress.last_return)
    assert progress.best_return == -math.inf


def test_all_are_told_even_when_the_first_asks_for_the_end():
    told = []

    class Asks(Callback):
        def __init__(self, answer):
            self.answer = answer

        def on_evaluation(self, progress, metrics):
            told.append(self.answer)
            return self.answer

    several = Callbacks([Asks(True), Asks(None), Asks(False)])
    assert several.on_evaluation(Progress(frames=0, total=1), {}) is True
    assert told == [True, None, False]
    assert Callbacks([Asks(None)]).on_evaluation(Progress(frames=0, total=1), {}) is False


@pytest.mark.parametrize("wrong", [ProgressBar, print, None])
def test_only_instances_are_taken(wrong):
    with pytest.raises(UsageError, match=r"`callbacks` takes instances of .*Callback, got"):
        Callbacks([wrong])


def test_the_bar_shows_frames_returns_and_losses():
    file = Terminal()
    play(ProgressBar(file=file), (50, {"critic/loss": "1"}), (100, {"return": "5", "best": "8"}))
    last = file.getvalue().split("\r")[-1]
    assert "100/100" in last
    assert "return=5, best=8" in last


def test_a_file_gets_few_lines():
    file, terminal = io.StringIO(), Terminal()
    steps = [(frames, {"n": str(frames)}) for frames in range(1, 101)]
    play(ProgressBar(file=file), *steps)
    assert file.getvalue().count("\n") <= 3
    assert "\r" not in file.getvalue()
    assert "100/100" in file.getvalue().splitlines()[-1]
    bar = ProgressBar(file=terminal)
    bar.on_start(Progress(frames=0, total=100))
    bar.on_evaluation(Progress(frames=0, total=100, shown={"return": "7"}), {})
    assert "return=7" in terminal.getvalue()  # an evaluation is shown at once
    bar.on_end(Progress(frames=0, total=100))


def test_a_resumed_bar_starts_where_the_run_stands():
    file = Terminal()
    bar = ProgressBar(file=file)
    bar.on_start(Progress(frames=60, total=100))
    bar.on_end(Progress(frames=60, total=100))
    assert "60/100" in file.getvalue()


def test_a_bar_that_never_started_ends_quietly():
    ProgressBar().on_end(Progress(frames=0, total=1))
