"""Studies of seconds: a craft, two models, two seeds."""

import json

import pytest

from nearsym.studies.study import Evaluation, Grid, Study

PLAYED = Evaluation(episodes=2)
CRAFT = {
    "task": "craft",
    "model": ["none", "exact"],
    "preset": "smoke",
    "frames": 600,
    "seed": range(2),
    "training.eval_every": 300,
    "training.checkpoint_every": 150,
}


@pytest.fixture
def study():
    """`study(model="approx", …)`: a small study, with other values of some axes."""

    def make(name="mine", evaluation=PLAYED, **axes):
        dotted = {axis.replace("__", "."): values for axis, values in axes.items()}
        grid = Grid(CRAFT | dotted)
        return Study(name=name, scale="smoke", grids=(grid,), evaluation=evaluation)

    return make


@pytest.fixture
def numbers():
    """`numbers(path)`: the lines of a file of results, without what depends on the clock."""

    def read(path):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [{n: value for n, value in line.items() if n != "seconds"} for line in lines]

    return read
