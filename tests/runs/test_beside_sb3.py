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

    def learn(task, steps, model, seed):
        asked.append((task, steps, model, seed))
        return (lambda obs: [0.0]), 2.0

    comparison = script.Comparison("Pendulum-v1", 100, range(2))
    monkeypatch.setattr(script, "COMPARISONS", (comparison,))
    monkeypatch.setattr(script, "EPISODES", 1)
    monkeypatch.setattr(script, "ours", learn)
    monkeypatch.setattr(script, "theirs", learn)
    script.train([("nearsym", "none")])
    script.train([script.SB3, ("nearsym", "none")])
    runs = (("none", 0), ("none", 1), ("", 0), ("", 1))
    assert asked == [("Pendulum-v1", 100, model, seed) for model, seed in runs]
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
    shown = {str(seed) for comparison in script.COMPARISONS for seed in comparison.seeds}
    assert not {line.split(",")[3] for line in tried[1:]} & shown


def test_the_docs_show_what_was_kept(script, monkeypatch):
    monkeypatch.setattr(script, "RESULTS", KEPT)
    page = (SCRIPTS.parent / "docs" / "robots.md").read_text(encoding="utf-8")
    assert script.table() in page


def test_both_play_in_the_same_environment(script):
    policy, seconds = script.ours("Swimmer-v5", 1001, "exact", 0)
    assert seconds > 0
    assert policy(script.gymnasium.make("Swimmer-v5").reset(seed=0)[0]).shape == (2,)
