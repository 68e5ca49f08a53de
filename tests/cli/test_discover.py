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
    assert found["declaration"] in out.read_text()
    assert "dihedral(1)" in found["declaration"]


@pytest.mark.longer
@pytest.mark.parametrize("env", ["Pendulum-v1", "own_pendulum:make", "InvertedPendulum-v5"])
def test_what_was_written_can_be_audited_and_trained(env, tmp_path, monkeypatch, capsys):
    (tmp_path / "own_pendulum.py").write_text(
        "import gymnasium\n\n\ndef make():\n    return gymnasium.make('Pendulum-v1')\n"
    )
    name = f"found_{env[:5]}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert run(["discover", env, "--samples", "100", "--out", f"{name}.py"]) == 0
    shown = capsys.readouterr().out
    assert f"Next: nearsym audit {name}:make_env\nThen: nearsym train {name}:make_env" in shown
    assert run(["audit", f"{name}:make_env", "--samples", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] in ("exact", "approximate")
    short = ["--preset", "smoke", "--frames", "600", "--out", "run", "--json"]
    assert run(["train", f"{name}:make_env", "--model", "exact", *short]) == 0


def test_tasks_of_nearsym_need_no_factory(tmp_path, capsys):
    out = tmp_path / "new" / "symmetry.py"
    assert run(["discover", "craft", "--samples", "100", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["factory"] is None
    assert out.read_text() == found["declaration"]


def test_people_get_a_table_and_the_source(capsys):
    assert run(["discover", "craft", "--variant", "tilt=30", "--samples", "100"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("C4, verified at 100 pairs of steps.")
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
        (["craft", "--out", "/dev/null/mine.py"], "The folder /dev/null cannot be made"),
        (["mine:make", "--out", "mine.py"], "--out mine.py would replace the module of mine:make"),
        (["nothing.csv", "--variant", "wear"], "--variant belongs to environments"),
        (["nothing.csv"], "There is no file nothing.csv"),
        (["CartPole-v1"], "needs vectors for actions"),
    ],
)
def test_refusals(arguments, message, capsys):
    assert run(["discover", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_task_that_does_not_exist_leaves_no_folder(tmp_path, capsys):
    assert run(["discover", "crft", "--out", str(tmp_path / "new" / "symmetry.py")]) == 2
    assert "craft" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
