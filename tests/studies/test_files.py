"""Studies from files: short TOML, or Python if somebody trusts it."""

import sys

import pytest

from nearsym.errors import UsageError
from nearsym.studies.files import read_study
from nearsym.studies.study import Evaluation, Grid

WIND = """
title = "Wind"
seeds = 4

[evaluation]
episodes = 10
noise = "task"

[[grid]]
task = "craft"
variant = ["original", "wind=0.3"]
network.spread_strength = [0.0, 1e-3]
frames = 900

[[grid]]
task = "craft"
preset = "smoke"
seed = [7]
[grid.training]
batch_size = 32
"""


@pytest.fixture
def file(tmp_path):
    """`file(text)`: a file with this text."""

    def write(text, name="wind.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_study_in_toml(file):
    study = read_study(file(WIND), scale="laptop")
    assert (study.name, study.title, study.scale) == ("wind", "Wind", "laptop")
    assert study.evaluation == Evaluation(episodes=10, noise="task")
    first, second = study.grids
    worlds = {"task": "craft", "variant": ["original", "wind=0.3"], "frames": 900}
    usual = {"preset": "laptop", "seed": range(4)}
    assert first == Grid(worlds | usual | {"network.spread_strength": [0.0, 1e-3]})
    assert second.axes["preset"] == ("smoke",)
    assert second.axes["seed"] == (7,)
    assert second.axes["training.batch_size"] == (32,)


def test_a_single_grid_and_the_seeds_of_a_scale(file):
    path = file('name = "own"\n[grid]\ntask = "craft"\n')
    for scale, count in (("smoke", 2), ("laptop", 3), ("paper", 5)):
        study = read_study(path, scale=scale)
        assert study.folder_name == f"own-{scale}"
        assert study.grids == (Grid({"task": "craft", "preset": scale, "seed": range(count)}),)


R = [*range(400)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("grid = 3", "`grid` is written as tables: [[grid]]."),
        ("", "has no `grids`"),
        ("[[grid]]\nmodel = 'none'", "A grid needs the axis `task`"),
        ("[[grid]]\ntask = 'craft'\nmodle = 1", "Unknown axis 'modle'. Did you mean 'model'?"),
        ("[[grid]]\ntask = 'craft'\n[grid.nework]\nhidden = 3", "Did you mean 'network'?"),
        ("seed = 3", "Unknown entry 'seed'. Did you mean 'seeds'?"),
        ("seeds = 0", "`seeds` must be at least 1, got 0."),
        ("seeds = 99999999999999", "`seeds` must be at most 10,000, got 99999999999999."),
        (f"[grid]\ntask='craft'\nseed={[*range(10_001)]}", "'seed' has more than 10,000 values."),
        (f"[grid]\ntask='craft'\nseed={R}\nframes={R}", "at most 100,000 runs, and wind 160,000."),
        (f"[evaluation]\nepisodes = {10**30}", "`episodes` must be at most 1,000,000"),
        ("seeds = true", "`seeds` must be a whole number, got True."),
        ("title = 3", "`title` must be a text, got 3."),
        ("evaluation = 3", "`evaluation` must be a table, got 3."),
        ("[evaluation]\nepisods = 3", "Did you mean 'episodes'?"),
        ("[evaluation]\nepisodes = 1.5", "`episodes` must be a whole number, got 1.5."),
        ("[evaluation]\nepisodes = 1\nnoise = [1]", "`noise` is a number or 'task'"),
        ("name = 'a b'\n[grid]\ntask = 'craft'", "letters, digits, - and _"),
        ("grid = [", "is no TOML file"),
    ],
)
def test_files_that_are_refused_are_named(file, text, said):
    path = file(text)
    with pytest.raises(UsageError) as caught:
        read_study(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_files_that_are_none(file, tmp_path):
    with pytest.raises(UsageError, match=r"Cannot read .*none\.toml: No such file"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(UsageError, match=r"a \.toml or a \.py file, got study\.yaml"):
        read_study(file("", "study.yaml"))
    with pytest.raises(UsageError, match="Unknown scale 'tiny'"):
        read_study(file(WIND), scale="tiny")


def test_a_file_imports_nothing_unless_somebody_says_so(file):
    path = file("[grid]\ntask = ['craft', 'payload:make']")
    with pytest.raises(UsageError, match="would import payload:make: if you trust it, add `trust"):
        read_study(path)
    assert read_study(path, trust_task=True).grids[0].axes["task"] == ("craft", "payload:make")
    assert "payload" not in sys.modules


PYTHON = """
from pathlib import Path
from nearsym.studies import Grid, Study

Path(__file__).with_name("imported").touch()


def study(scale):
    return Study(name="mine", scale=scale, grids=(Grid({"task": "craft", "preset": scale}),))
"""


@pytest.fixture
def python(file, monkeypatch):
    """`python(text)`: a Python file, forgotten in the end."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield lambda text, name="own_study": file(text, f"{name}.py")
    for name in {*sys.modules} - before:
        del sys.modules[name]


def test_a_study_in_python_needs_trust(python):
    path = python(PYTHON)
    with pytest.raises(UsageError, match="runs it: if you trust it, add `trust_task=True`"):
        read_study(path)
    assert not path.with_name("imported").exists()
    assert read_study(path, scale="smoke", trust_task=True).folder_name == "mine-smoke"


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("study = 3", "wrong_study", "needs a variable `study` that is a nearsym.studies.Study"),
        ("", "empty_study", "got NoneType"),
        ("", "my-study", "imported by its name, and 'my-study' cannot be one"),
        ("", "json", "Another module is called 'json' too"),
    ],
)
def test_python_files_that_are_refused(python, text, name, said):
    path = python(text, name)
    with pytest.raises(UsageError) as caught:
        read_study(path, trust_task=True)
    assert said in str(caught.value)
