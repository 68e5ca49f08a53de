"""`nearsym eval`: what it refuses. (What it gives is tested beside `train`.)"""

from pathlib import Path

import pytest

RUN = str(Path(__file__).parents[1] / "runs" / "data" / "run-0.1-state")

MISTAKES = {
    "no run": (["eval"], "RUN is missing: a run folder. See nearsym eval --help."),
    "no such run": (["eval", "nowhere"], "nowhere is no run: it has no config.json"),
    "no episodes": (["eval", RUN, "--episodes", "0"], "--episodes must be at least 1, got 0"),
    "a negative seed": (["eval", RUN, "--seed", "-5"], "--seed must lie between 0 and"),
    "shuffled elsewhere": (
        ["eval", RUN, "--shuffled", "1"],
        "--shuffled needs a task with prices, and cartpole-swingup has none",
    ),
    "a film of shuffled days": (
        ["eval", RUN, "--shuffled", "5", "--video", "x.gif"],
        "--shuffled takes only --checkpoint and --seed beside it",
    ),
    "mistyped option": (["eval", "nowhere", "--episode", "3"], "Did you mean '--episodes'?"),
    "mistyped checkpoint": (["eval", "nowhere", "--checkpoint", "bset"], "Did you mean 'best'?"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake, command):
    argv, text = MISTAKES[mistake]
    result = command(*argv)
    assert result.code == 2
    assert text in result.err
    assert result.out == ""
