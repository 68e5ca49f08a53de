import pytest

from nearsym.benchmarks import env
from nearsym.tasks.control.domains import DOMAINS


def test_rows_compare_both_sides_on_one_domain(monkeypatch):
    monkeypatch.setattr(env, "DOMAINS", {"cartpole-swingup": DOMAINS["cartpole-swingup"]})
    monkeypatch.setattr(env, "_STEPS", {"nearsym": 40, "dm_control": 4})
    ratio, ours, theirs = env.rows(threads=1, quick=True)
    assert (ratio["name"], ratio["unit"]) == ("cartpole-swingup", "x dm_control")
    assert ratio["target"] == 15.0
    assert ratio["ok"] == (ratio["value"] >= 15.0)
    assert ratio["value"] > 3  # a busy machine; the target is the benchmark's to judge
    assert ours["value"] > theirs["value"] > 0
    assert ours["target"] is None


def test_a_worker_that_ends_early_is_reported():
    worker = env._start("dm_control", "no-such-task")
    with pytest.raises((RuntimeError, BrokenPipeError)):
        env._ask(worker, 1)
    worker.communicate()
