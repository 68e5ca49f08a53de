"""`nearsym audit`: tables, JSON, pictures and refusals."""

import json
import shutil
import sys
import textwrap

import pytest

from nearsym.cli.main import run

OWN = """
    import gymnasium as gym
    import numpy as np

    from nearsym import Symmetry
    from nearsym.groups.catalog import dihedral
    from nearsym.groups.representation import Representation, diagonal

    D1 = dihedral(1)

    class Closed(gym.Env):
        observation_space = gym.spaces.Box(-9, 9, (2,), np.float64)
        action_space = gym.spaces.Box(-1, 1, (1,), np.float64)
        symmetry = Symmetry(
            diagonal(D1, {"mirror_x": [-1, -1]}, "state"), diagonal(D1, {"mirror_x": [-1]}, "push")
        )

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.s, self.t = self.np_random.uniform(-1, 1, 2), 0
            return self.s.copy(), {}

        def step(self, action):
            x, v = self.s
            v = 0.9 * v + 0.1 * float(action[0]) - 0.05 * x + (0.05 if x > 0.3 else 0.0)
            self.s, self.t = np.array([x + 0.1 * v, v]), self.t + 1
            return self.s.copy(), -abs(x), False, self.t >= 60, {}

    class Open(Closed):
        def get_state(self):
            return {"x": np.array(self.s[0]), "v": np.array(self.s[1]), "time": np.array(self.t)}

        def set_state(self, state):
            self.s, self.t = np.array([state["x"], state["v"]], float), int(state["time"])

        def transform(self, g, state):
            return {**state, "x": -state["x"], "v": -state["v"]} if g else state

    class NoRepresentation(Open):
        symmetry = Symmetry(
            Representation(D1, np.stack([np.eye(2), 2 * np.eye(2)]), "twice"),
            diagonal(D1, {"mirror_x": [-1]}, "push"),
        )

    class Leaving(Open):
        observation_space = gym.spaces.Box(-1, 9, (2,), np.float64)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of one's own, importable as `audited_worlds`."""
    (tmp_path / "audited_worlds.py").write_text(textwrap.dedent(OWN), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield "audited_worlds"
    sys.modules.pop("audited_worlds", None)


def test_a_table_for_people_and_a_picture(own, tmp_path, capsys):
    picture = tmp_path / "where.png"
    assert run(["audit", f"{own}:Open", "--samples", "1000", "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "Verdict: approximate." in out
    assert "largest seen" in out
    assert "≤ x ≤" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_follows_the_contract_and_repeats(own, capsys):
    arguments = ["audit", f"{own}:Open", "--samples", "1000", "--seed", "7", "--json"]
    texts = []
    for _ in range(2):
        assert run(arguments) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    found = json.loads(texts[0])
    assert found["verdict"] == "approximate"
    assert found["samples"] == 1000
    (element,) = found["elements"]
    assert element["name"] == "mirror_x"
    for key in ("eps_r", "eps_p"):
        assert {"mean", "mean_ci95", "q95", "largest"} <= element[key].keys()
    edges = sorted(b["low"] for region in element["regions"] for b in region["bounds"])
    assert edges[-1] == pytest.approx(0.3, abs=0.03)
    assert {"coordinate", "low", "high"} == element["regions"][0]["bounds"][0].keys()


def test_without_set_state_it_measures_rollouts_and_says_so(own, capsys):
    assert run(["audit", f"{own}:Closed", "--samples", "400", "--json"]) == 2
    captured = capsys.readouterr()
    assert "has no get_state, set_state or transform" in captured.err
    found = json.loads(captured.out)
    assert found["verdict"] is None
    assert found["elements"][0]["floor_p"]["mean"] > 0
    assert run(["audit", f"{own}:Closed", "--samples", "400"]) == 2
    assert "floor" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{own}:NoRepresentation"], "are no representation of D1: ρ(mirror_x)·ρ(mirror_x)"),
        (["{own}:Leaving"], "mirror_x leaves the observation space"),
        (["CartPole-v1"], "declares no symmetry"),
        (["cartpol-swingup"], "Did you mean 'cartpole-swingup'?"),
        (["cartpole-swingup", "--samples", "3"], "must be at least 100, got 3"),
        (["cartpole-swingup", "--epsilon", "0"], "positive number of mean steps"),
        (
            ["cartpole-swingup", "--plot", "picture.doc"],
            "written to a .png, .pdf or .svg file, got 'picture.doc'",
        ),
        (["cartpole-swingup", "--plot", "{own}.py/a.png"], "cannot be made (File exists)"),
        (["cartpole-swingup", "--policy", "nowhere"], "There is no folder nowhere."),
        (["."], "Unknown task '.'"),
    ],
)
def test_bad_input_is_one_sentence(own, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run(["audit", *(a.format(own=own) for a in arguments)]) == 2
    (line,) = [x for x in capsys.readouterr().err.splitlines() if x.startswith("nearsym: ")]
    assert message in line


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["cartpole-swingup", "--obs", "state", "--preset", "smoke", "--frames", "1000"]
    assert run(["train", *arguments, "--out", str(folder)]) == 0
    return folder


def test_a_run(trained, capsys):
    capsys.readouterr()
    assert run(["audit", str(trained), "--samples", "100", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"relaxed", "q_gap", "alpha", "verdict", "elements"} <= found.keys()
    (element,) = found["elements"]
    for part in ("policy", "critic"):
        assert {"mean", "mean_ci95", "q95", "largest"} <= element[part].keys()
    assert set(element["layers"]) >= {"actor.mean"}
    assert found["alpha"]["value"] == 0  # the original task breaks nothing
    assert run(["audit", "cartpole-swingup", "--policy", str(trained), "--samples", "100"]) == 0
    assert "Verdict: exact" in capsys.readouterr().out


def test_a_run_where_states_cannot_be_set(own, tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = ["--preset", "smoke", "--frames", "600", "--out", str(folder)]
    assert run(["train", f"{own}:Closed", *arguments]) == 0
    capsys.readouterr()
    assert run(["audit", str(folder), "--samples", "200", "--json", "--trust-task"]) == 2
    captured = capsys.readouterr()
    assert (
        "nearsym: No verdict: the environment has no get_state, set_state or transform"
        in captured.err
    )
    found = json.loads(captured.out)
    assert found["verdict"] is None
    assert found["alpha"] is None
    (element,) = found["elements"]
    assert element["floor_p"]["mean"] > 0
    assert element["policy"]["largest"] > 0  # training has moved the relaxed weights
    assert 0 < element["compared"] <= 1
    assert found["q_gap"]["largest"] > 0
    assert run(["audit", str(folder), "--samples", "200", "--trust-task"]) == 2
    assert "no α, which needs steps from s and g·s" in capsys.readouterr().out
    assert run(["audit", str(folder), "--trust-task", "--plot", str(tmp_path / "x.png")]) == 2
    assert "has no get_state, set_state or transform" in capsys.readouterr().err
    asked = ["audit", f"{own}:Closed", "--policy", str(folder), "--trust-task", "--samples"]
    assert run([*asked, "100", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["action_repeat"] == 1
    assert run([*asked, "3"]) == 2
    assert "must be at least 100, got 3" in capsys.readouterr().err
    assert run([*asked, "100", "--variant", "gravity"]) == 2
    assert "--variant belongs to the task craft, the control tasks" in capsys.readouterr().err


@pytest.mark.longer
def test_a_policy_brings_its_own_steps(trained, capsys):
    full = "nearsym/cartpole-swingup"
    asked = ["audit", full, "--policy", str(trained), "--samples", "100"]
    assert run([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["action_repeat"] == 8
    assert run(asked) == 0
    assert "agent steps (8 environment steps each)" in capsys.readouterr().out
    assert run([*asked, "--obs", "pixels"]) == 2
    assert "reads state, not --obs pixels" in capsys.readouterr().err
    assert run(["audit", str(trained), "--obs", "pixels"]) == 2
    assert "--obs belongs to the audit of a task" in capsys.readouterr().err


def test_a_run_with_a_broken_checkpoint(trained, tmp_path, capsys):
    broken = tmp_path / "broken"
    shutil.copytree(trained, broken)
    for checkpoint in (broken / "checkpoints").glob("*.ckpt"):
        checkpoint.write_bytes(checkpoint.read_bytes()[:200])
    assert run(["audit", str(broken)]) == 2
    assert "damaged or incomplete" in capsys.readouterr().err
    assert run(["audit", str(trained), "--variant", "gravity"]) == 2
    assert "--variant belongs to the audit of a task" in capsys.readouterr().err
