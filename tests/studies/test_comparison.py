"""What may be compared with what."""

from dataclasses import replace

from nearsym.studies.comparison import comparable, equally_long, timed_alike
from study_results import made


def test_nothing_is_left_of_a_run_that_was_first_evaluated_later():
    early, late = made(frames=[100, 200], curve=[1, 2]), made(frames=[300], curve=[9], seconds=3.0)
    assert comparable([early], [late]) == [[], []]


def test_a_seed_that_is_not_compared_shortens_nothing():
    arms = [[made(model, s, curve=[1, 2, 3]) for s in range(3)] for model in ("none", "exact")]
    alone = made("exact", 3, curve=[9])
    assert comparable(arms[0], [*arms[1], alone]) == arms


def test_a_run_that_was_cut_off_early_is_left_out():
    """It would shorten all others."""
    arms = [[made(model, s, curve=[1, 2, 3]) for s in range(3)] for model in ("none", "exact")]
    early = [made(model, 3, curve=[9]) for model in ("none", "exact")]
    assert comparable([*arms[0], early[0]], [*arms[1], early[1]]) == arms
    short = [made("exact", s, curve=[9]) for s in range(3)]  # a whole arm is no accident
    assert [run.curve() for run in comparable(arms[0], short)[0]] == [[1]] * 3


def test_runs_of_one_length():
    one = [made("none", s, curve=[1, 2]) for s in range(3)]
    other = [made("exact", s, curve=[1, 2, 3][: 3 - s]) for s in range(3)]
    assert equally_long(one, other) == [one[1:2], other[1:2]]
    assert equally_long(one, []) == [[], []]
    short = [made(m, 9, curve=[1], frames=[50]) for m in ("none", "exact")]
    assert equally_long([*one, short[0]], [*other[:2], short[1]]) == [one[1:2], other[1:2]]


def test_times_of_one_kind_of_hardware():
    """Older results do not say on which; those of a run that an older version began are of them."""
    old, begun = made("none", 0, seconds=1.0), made("none", 1, seconds=1.0)
    begun = replace(begun, versions={"precision": "fp32", "device": "cpu"})
    kinds = [{"processor": "a", "precision": p, "device": "cpu"} for p in ("fp32", "bf16")]
    new = [made("none", s, seconds=1.0, versions=kind) for kind in kinds for s in range(3)]
    assert timed_alike([old, begun, *new[2:]]) == new[3:]
    assert timed_alike([old, begun, new[0]]) == [old, begun]
    assert timed_alike([made(), old]) == [old]
    assert timed_alike([]) == []


def test_a_run_that_is_cut():
    long = made(curve=[1, 2, 3, 4], relaxed={"a": [[[1]], [[2]], [[3]], [[4]]]}, seconds=8.0)
    (shorter,), _ = comparable([long], [made(curve=[1, 2])])
    assert (shorter.frames, shorter.curve()) == ([100, 200], [1, 2])
    assert shorter.relaxed == {"a": [[[1]], [[2]]]}
    assert shorter.seconds == 4.0
