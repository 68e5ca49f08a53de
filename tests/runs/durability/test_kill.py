"""A run that is killed, at any moment and however often, ends as if it had never been.

Metrics (all but times) and everything in the last checkpoint are compared bit for bit.
"""

import random

import pytest

import kills
from kills import IN_A_ROW, ROUNDS

KINDS = [
    "pixels, drqv2, memory",
    "pixels, drqv2, disk",
    "state, sac, memory",
    "state, sac, disk",
    "state, drqv2, disk",
    "craft, drqv2, disk",
    "robot, sac, memory",
    "trading, sac, memory",
]
assert len(KINDS) == kills.KINDS
LOOP = "nearsym.training.loop.Trainer.run"
STORES = ["state, sac, memory", "pixels, drqv2, disk"]


def killed(*codes):
    """Exit codes of processes that were all killed, but for the last."""
    return [*(-9 for _ in codes[:-1]), 0]


def killed_at(place, moments, name="run"):
    """The stages of a run that is killed at each moment, the last of which lets it finish."""
    first, *later = moments
    resumes = [place.resume(name, moment=moment) for moment in later]
    return [place.start(name, moment=first), *resumes, place.resume(name)]


def assert_ends_alike(runs, whole, kind, moments):
    """Kill a start and then resumes, each at its moment; let the last resume finish."""
    place = runs(kind)
    codes = [left.code for left in place.drive(*killed_at(place, moments))]
    assert codes == killed(*codes)
    assert len(codes) == len(moments) + 1
    place.outcome().assert_equal(whole(kind)[0])


@pytest.mark.longer
def test_one_kill(runs, whole):
    kind = "state, sac, memory"
    calls = whole(kind)[1]
    assert_ends_alike(runs, whole, kind, [{"function": LOOP, "after": calls // 2}])


@pytest.mark.slow
@pytest.mark.timeout(300 * ROUNDS)
@pytest.mark.parametrize("kind", KINDS)
def test_kills_in_a_row_at_random_moments(kind, runs, whole):
    """The moments are spread over the whole run. What a resume repeats comes on top, so that every
    process is killed before it could finish."""
    rng, place, (same, calls) = random.Random(kind), runs(kind), whole(kind)
    names, stages = [f"run-{n}" for n in range(ROUNDS)], []
    for name in names:
        moments = sorted(rng.randrange(calls) for _ in range(IN_A_ROW))
        waits = [b - a for a, b in zip([0, *moments], moments, strict=False)]
        stages += killed_at(place, [{"function": LOOP, "after": wait} for wait in waits], name)
    codes = [left.code for left in place.drive(*stages)]
    assert codes == len(names) * [*(IN_A_ROW * [-9]), 0]
    for name in names:
        place.outcome(name).assert_equal(same)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
def test_kills_while_a_run_is_made_and_before_its_first_checkpoint(kind, runs, whole):
    place = runs(kind)
    unnamed = {"function": "nearsym.training.atomic.rename"}  # config.json is still aside
    early = {"function": LOOP, "after": 500}
    stages = [place.start(moment=unnamed), place.resume(), place.start(moment=early)]
    lefts = place.drive(*stages, place.start(), place.resume())
    assert [left.code for left in lefts] == [-9, 2, -9, 2, 0]
    assert "is no run: it has no config.json" in lefts[1].err
    assert "has no checkpoint. If it was stopped, start it again with" in lefts[3].err
    place.outcome().assert_equal(whole(kind)[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
def test_kills_during_a_resume(kind, runs, whole):
    moments = [
        {"function": LOOP, "after": whole(kind)[1] // 2},
        {"function": "nearsym.runs.build.build_agent"},
        {"function": "nearsym.training.storage.SegmentLog.restore", "after": 40},
        {"function": "nearsym.training.log.RunLog.__init__", "after": 20},
        {"function": "nearsym.training.loop.Trainer.load_state_dict", "after": 200},
        {"function": LOOP, "after": 3},
    ]
    assert_ends_alike(runs, whole, kind, moments)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
def test_kills_during_an_evaluation(kind, runs, whole):
    rollouts = "nearsym.training.evaluate.rollouts"
    evaluate = "nearsym.training.loop.Trainer._evaluate"
    moments = [
        {"function": rollouts, "after": 5000},
        {"function": rollouts, "after": 50_000},
        {"function": "nearsym.training.log.RunLog.write", "entry": 1, "after": 40},
        {"function": evaluate, "entry": 2, "after": 20_000},
    ]
    assert_ends_alike(runs, whole, kind, moments)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
def test_kills_during_a_save(kind, runs, whole):
    """On the way into an operation on a file, or a few calls later: the operation is done then."""
    moments = [
        {"function": f"nearsym.training.atomic.{name}", "entry": entry, "after": after}
        for name, entry, after in (
            ("rename", 2, 0),
            ("rename", 2, 6),
            ("write_at", 14, 0),
            ("sync", 3, 0),
            ("sync", 3, 4),
            ("sync_folder", 2, 0),
            ("remove", 4, 0),
        )
    ]
    assert_ends_alike(runs, whole, kind, moments)
