"""`nearsym discover`."""

import json

import numpy as np
import pytest

from nearsym.cli.main import run


def test_a_declaration_is_found_and_written(tmp_path, capsys):
    out = tmp_path / "symmetry.py"
    assert run(["discover", "Pendulum-v1", "--samples", "100", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["group"] == "D1"
    assert found["elements"][0]["exact"]
    assert out.read_text() == found["declaration"]
    assert "dihedral(1)" in found["declaration"]


def test_people_get_a_table_and_the_source(capsys):
    assert run(["discover", "craft", "--variant", "tilt=30", "--samples", "100"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("C4, proved at 100 pairs of steps.")
    assert "symmetry = Symmetry(" in shown


def test_recorded_transitions(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(200, 2)), rng.normal(size=(200, 1))
    following = x @ np.array([[0.9, -0.1], [0.2, 0.8]]) + u @ np.array([[0.0, 0.3]])
    np.savez(tmp_path / "a.npz", obs=x, action=u, reward=-(x**2).sum(axis=1), next_obs=following)
    assert run(["discover", str(tmp_path / "a.npz")]) == 0
    assert "1 guess from 200 transitions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Pendulum-v1", "--out", "symmetry.txt"], "--out is a Python file, such as symmetry.py"),
        (["nothing.csv", "--variant", "wear"], "--variant belongs to environments"),
        (["nothing.csv"], "There is no file nothing.csv"),
        (["CartPole-v1"], "needs vectors for actions"),
    ],
)
def test_refusals(arguments, message, capsys):
    assert run(["discover", *arguments]) == 2
    assert message in capsys.readouterr().err
