"""What the audit says of the worlds of results."""

from dataclasses import replace

import pytest

from nearsym.studies import audited as module
from nearsym.studies.audited import audited, measure_of, worlds_by_task
from nearsym.studies.selection import by_world
from nearsym.studies.sweeps import with_audits
from study_results import runs, tilted


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch):
    monkeypatch.setattr(module, "PAIRS", 100)


def measured(results, quantity):
    return [measure_of(world, there, quantity) for world, there in by_world(results).items()]


@pytest.mark.parametrize("quantity", ["epsilon", "mean_error"])
def test_both_grow_with_the_tilt(quantity):
    none, some, much = measured(tilted(), quantity)
    assert none == 0
    assert 0 < some < much


def test_the_mean_error_counts_how_often_and_epsilon_how_strongly():
    """Actions are reversed in a small part of the states, and fully so."""
    found = audited("ball_in_cup-catch", "reflect_action=0.25")
    assert 0 < found.mean_error < 0.3 < 0.6 < found.epsilon


@pytest.mark.parametrize("quantity", ["epsilon", "mean_error"])
def test_what_was_kept_is_believed(monkeypatch, quantity):
    expected = measured(tilted(), quantity)
    kept = with_audits(tilted())
    monkeypatch.setattr(module, "audited", lambda *world: pytest.fail("measured"))
    assert measured(kept, quantity) == expected
    assert {run.details[quantity] for run in kept if run.variant == "tilt=30"} == {expected[1]}


def test_what_is_missing_is_added_to_what_was_kept():
    kept = with_audits(tilted(details={"epsilon": 7.0}))
    assert {run.details["epsilon"] for run in kept} == {7.0}
    assert all("mean_error" in run.details for run in kept)


def test_no_audit_of_single_worlds_and_foreign_tasks():
    foreign = [replace(run, task="my_robot:make") for run in tilted()]
    for others in (runs({"none": 1}), foreign):
        assert not any(run.details for run in with_audits(others))


def test_no_audit_where_there_is_no_sweep(monkeypatch):
    """Four variants at their usual strengths: nothing that is shown needs one."""
    monkeypatch.setattr(module, "audited", lambda *world: pytest.fail("measured"))
    variants = (None, "gravity", "repeat_action", "reflect_action")
    with_audits([run for v in variants for run in runs({"none": 1, "exact": 2}, variant=v)])


def test_worlds_of_a_task_do_not_mix_scales():
    names = worlds_by_task(by_world(tilted() + tilted(obs="pixels")))
    assert len(names) == 2
    assert all(name.startswith("craft (laptop, ") for name in names)


def test_nothing_for_what_cannot_be_simulated():
    assert audited("my_robot:make", None) is None
    assert audited("trading", None) is None
    assert audited("craft", "unheard=3") is None
