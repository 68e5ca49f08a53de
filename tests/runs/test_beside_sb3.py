"""The script that compares with Stable-Baselines3: what is there is kept, and the table is its
rows."""

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
KEPT = SCRIPTS.parent / "docs" / "results" / "beside-sb3.csv"


@pytest.fixture
def script(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.chdir(tmp_path)
    import beside_sb3

    yield beside_sb3
    sys.modules.pop("beside_sb3", None)


def test_only_what_is_missing_is_run(script, monkeypatch):
    asked = []

    def learn(task, model, seed):
        asked.append((task, model, seed))
        return (lambda obs: [0.0]), 2.0

    monkeypatch.setattr(script, "TASKS", {"Pendulum-v1": (100, "Pendulum-v1", {})})
    monkeypatch.setattr(script, "SEEDS", range(2))
    monkeypatch.setattr(script, "EPISODES", 1)
    monkeypatch.setattr(script, "ours", learn)
    monkeypatch.setattr(script, "theirs", learn)
    script.train([("nearsym", "none")])
    script.train([script.SB3, ("nearsym", "none")])
    assert asked == [("Pendulum-v1", m, s) for m, s in (("none", 0), ("none", 1), ("", 0), ("", 1))]
    first, second = script.table().splitlines()[2:]
    assert first.startswith("| Pendulum-v1 | 100 | Stable-Baselines3 | -")
    assert second.startswith("| Pendulum-v1 | 100 | nearsym, none | -")
    assert second.endswith(" | +0 ± 0 | 50 |")


def test_differences_are_of_the_same_seeds(script):
    assert script.difference({0: 5.0, 1: 6.0, 2: 7.0}, {0: 4.0, 1: 4.0, 2: 4.0}) == "+2 ± 2"
    assert script.difference({0: 5.0, 3: 6.0}, {0: 7.0, 1: 4.0}) == "-2"  # one pair: no interval
    assert script.difference({0: 5.0}, {}) == ""


def test_settings_were_chosen_with_other_seeds(script):
    tried = KEPT.with_name("beside-sb3-tried.csv").read_text(encoding="utf-8").splitlines()
    assert not {line.split(",")[3] for line in tried[1:]} & {str(seed) for seed in script.SEEDS}


def test_the_docs_show_what_was_kept(script, monkeypatch):
    monkeypatch.setattr(script, "RESULTS", KEPT)
    page = (SCRIPTS.parent / "docs" / "robots.md").read_text(encoding="utf-8")
    assert script.table() in page


def test_both_play_in_the_same_environment(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "TASKS", {"Swimmer-v5": (1001, "swimmer", {})})
    policy, seconds = script.ours("Swimmer-v5", "exact", 0)
    assert seconds > 0
    assert policy(script.gymnasium.make("Swimmer-v5").reset(seed=0)[0]).shape == (2,)
