"""`nearsym eval`: what it refuses. (What it gives is tested beside `train`.)"""

import pytest

MISTAKES = {
    "no run": (["eval"], "RUN is missing: a run folder. See nearsym eval --help."),
    "no such run": (["eval", "nowhere"], "nowhere is no run: it has no config.json"),
    "no episodes": (["eval", "nowhere", "--episodes", "0"], "--episodes must be at least 1, got 0"),
    "a negative seed": (["eval", "nowhere", "--seed", "-5"], "--seed must lie between 0 and"),
    "one world": (["eval", "nowhere", "--shuffled", "1"], "at least 2 test periods, got 1"),
    "a film of shuffled days": (
        ["eval", "nowhere", "--shuffled", "5", "--video", "x.gif"],
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
