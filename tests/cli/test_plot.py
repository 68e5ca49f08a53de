"""`nearsym plot`: two pictures, from one run or several."""

from pathlib import Path

import pytest

RUN = str(Path(__file__).parents[1] / "runs" / "data" / "run-0.1-state")

MISTAKES = {
    "no run": (["plot", "--out", "x.png"], "RUN is missing: a run folder"),
    "no file": (["plot", RUN], "--out is missing: write to this file"),
    "two curves": (["plot", RUN, RUN, "--out", "x.png"], "--what curve draws one run, got 2."),
    "a curve at its end": (
        ["plot", RUN, "--when", "end", "--out", "x.png"],
        "--when is about relaxed weights: use it with --what relaxed.",
    ),
    "an odd file": (["plot", RUN, "--out", "x.txt"], ".png, .pdf or .svg file, got 'x.txt'"),
    "an odd folder": (["plot", RUN, "--out", f"{RUN}/config.json/x.png"], "cannot be made"),
    "one run twice": (
        ["plot", RUN, RUN, "--what", "relaxed", "--out", "x.png"],
        "both have the seed 1",
    ),
    "mistyped": (["plot", RUN, "--what", "relaxd", "--out", "x.png"], "Did you mean 'relaxed'?"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake, command):
    argv, text = MISTAKES[mistake]
    result = command(*argv)
    assert result.code == 2
    assert text in result.err
    assert result.out == ""
    assert not Path("x.png").exists()


@pytest.mark.parametrize(
    "options", [[], ["--what", "relaxed"], ["--what", "relaxed", "--when", "end"]]
)
def test_pictures(options, command):
    result = command("plot", RUN, *options, "--out", "x.png", "--json")
    assert result.code == 0
    what = "relaxed" if options else "curve"
    assert result.json == {"file": "x.png", "what": what, "runs": [RUN]}
    assert Path("x.png").stat().st_size > 5000
    assert command("plot", RUN, *options, "--out", "new/x.svg").out == "Look at new/x.svg\n"
