"""`nearsym eval`: what it refuses. (What it gives is tested beside `train`.)"""

from pathlib import Path

import pytest

RUN = str(Path(__file__).parents[1] / "runs" / "data" / "run-0.1-state")

MISTAKES = {
    "no run": (
        ["eval"],
        "RUN is missing: a run folder; with --protocol, all those of one model. See nearsym eval",
    ),
    "no such run": (["eval", "nowhere"], "There is no folder nowhere. Name the folder of a run."),
    "no episodes": (["eval", RUN, "--episodes", "0"], "--episodes must be at least 1, got 0"),
    "a negative seed": (["eval", RUN, "--seed", "-5"], "--seed must be at least 0, got -5"),
    "shuffled elsewhere": (
        ["eval", RUN, "--shuffled", "1"],
        "--shuffled needs a task with prices, and cartpole-swingup has none",
    ),
    "a film of shuffled days": (
        ["eval", RUN, "--shuffled", "5", "--video", "x.gif"],
        "--shuffled takes only --checkpoint and --seed beside it",
    ),
    "several runs and no word what for": (
        ["eval", RUN, RUN],
        "2 runs need --protocol mean (recommended) or --protocol best (the paper's Table 1).",
    ),
    "one run twice": (["eval", RUN, RUN, "--protocol", "mean"], "both have the seed 1"),
    "a film of several": (
        ["eval", RUN, "--protocol", "mean", "--video", "x.gif"],
        "--video is about one run: leave it out, or --protocol.",
    ),
    "the last of the best": (
        ["eval", RUN, "--protocol", "best", "--checkpoint", "last"],
        "--protocol best plays the best checkpoint: leave out --checkpoint.",
    ),
    "noise in words": (
        ["eval", RUN, "--noise", "some"],
        "--noise needs a number or 'task', got 'some'.",
    ),
    "noise without images": (
        ["eval", RUN, "--noise", "task"],
        "--noise is noise on images; this run does not see pixels.",
    ),
    "mistyped protocol": (["eval", RUN, "--protocol", "men"], "Did you mean 'mean'?"),
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


@pytest.mark.longer
def test_several_runs_as_one_result(command):
    train = ["train", "craft", "--preset", "smoke", "--frames", 600, "--eval-every", 300]
    for seed in (0, 1):
        assert command(*train, "--seed", seed, "--out", f"run{seed}").code == 0
    asked = ["eval", "run0", "--episodes", 2, "run1"]  # arguments may stand anywhere
    result = command(*asked, "--protocol", "mean", "--json").json
    assert set(result) >= {"return_mean", "return_ci95", "returns", "episodes", "noise", "runs"}
    assert [run["run"] for run in result["runs"]] == ["run0", "run1"]
    assert result["episodes"] == len(result["returns"]) == 4
    shown = command(*asked, "--protocol", "mean")
    assert "craft, sac, approx, noise 0: mean over 2 runs\n" in shown.out
    assert f"seed 1: {result['runs'][1]['return_mean']:.1f}" in shown.out
    assert "4/4" in shown.err  # one bar for all
    best = command(*asked, "--protocol", "best")
    assert "best of 2 runs" in best.out
    assert "was chosen by its best evaluation in training" in best.out
