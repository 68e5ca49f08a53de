"""Which runs belong together, and what each is worth."""

import math
from dataclasses import replace

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.studies.scores import (
    area,
    at_end,
    by_seed,
    final_weights,
    first_layer,
    fresh,
    kept,
    last_third,
    median_seconds_to,
    noise_of_tests,
    seconds_per_frame,
    seconds_to,
    spread,
    tau_of,
)
from nearsym.studies.selection import (
    Variant,
    by_arm,
    by_world,
    plain,
    symmetry_of,
    unique,
    usual_variant,
    variant_of,
    world_of,
)
from study_results import made, runs


@pytest.mark.parametrize(
    ("task", "variant", "usual"),
    [
        ("cartpole-swingup", None, None),
        ("cartpole-swingup", "original", None),
        ("cartpole-swingup", "repeat_action=1", "repeat_action"),
        ("cartpole-swingup", "repeat_action=0.5", "repeat_action=0.5"),
        ("acrobot-swingup", "gravity=-2.0", "gravity"),
        ("craft", "tilt", "tilt=75"),
        ("craft", "tilt=0", None),
        ("my_robot:make", "heavy=2", "heavy=2"),
    ],
)
def test_variants_have_one_name(task, variant, usual):
    assert usual_variant(task, variant) == usual


def test_of_equal_runs_the_one_that_tells_most_is_kept_whatever_the_order():
    bare, played = made(), made(evaluations={"clean": [1.0, 2.0]})
    assert unique([bare, played]) == unique([played, bare]) == [played]


def test_a_seed_counts_once_whatever_it_was_computed_in():
    """Precision, threads and device make another key, and the same run."""
    twice = [*runs({"none": 1}, seeds=2), *runs({"none": 1}, seeds=2)]
    assert [run.seed for run in unique(twice)] == [0, 1]
    assert unique(twice) == unique(reversed(twice))
    assert len(unique([made(), made(preset="paper"), made(agent="drqv2")])) == 3


def test_prices_are_the_same_wherever_their_file_lies():
    places = enumerate(("dow.csv", "/a/dow.csv"))
    some = [made(seed=seed, settings={"task.data": place}) for seed, place in places]
    assert by_arm(some) == {"approx": some}


def test_equal_but_for_one_setting():
    taus = [made(seed=s, settings={"algorithm.target_tau": t}) for s in (0, 1) for t in (0.1, 0.2)]
    other = made(seed=2, settings={"algorithm.target_tau": 0.1, "network.hidden": 9})
    assert plain([*taus, other], but="target_tau") == taus


def test_noise_in_training_makes_another_world():
    usual, noisy = made(), made(settings={"task.noise": 0.1})
    first, second = by_world([noisy, usual])
    assert (str(first), first.noise) == ("cartpole-swingup original", 0)
    assert (str(second), second.noise) == ("cartpole-swingup original, noise 0.1", 0.1)


@pytest.mark.parametrize("noise", [None, "ou", True, float("nan"), -1, 0])
def test_noise_that_is_no_number_is_none(noise):
    assert world_of(made(settings={"task.noise": noise})) == world_of(made())


def test_other_noise_than_that_on_images_makes_no_world():
    assert world_of(made(settings={"algorithm.noise": 0.1})) == world_of(made())


def test_a_study_of_precisions_keeps_its_runs_beside_those_that_do_not_tell():
    def run(precision, key, told):
        versions = {"precision": precision}
        return made(key=key, settings={"precision": precision} if told else {}, versions=versions)

    every = [run(p, key, told) for p, key in (("fp32", "a"), ("bf16", "b")) for told in (0, 1)]
    for some in (every, every[::-1]):
        assert {run.settings.get("precision", "auto") for run in unique(some)} >= {"fp32"}
        assert len(unique(some)) == 2


def test_models_are_not_compared_by_what_was_not_trained():
    usual = [made("none", s) for s in range(2)]
    counted = [made(m, 0, frames=[], curve=[]) for m in ("none", "exact", "approx")]
    assert plain([*usual, *counted]) == usual
    assert plain(counted) == counted


def test_of_equal_results_the_first_is_taken_whatever_an_audit_added():
    audited = {"epsilon": 0.1, "mean_error": 0.2}
    new, old = made(key="a", seconds=2.0), made(key="a", details=audited)
    assert unique([new, old]) == [new]
    assert unique([old, new]) == [old]


def test_strengths():
    assert variant_of("craft", "tilt=30") == Variant("tilt", 30.0)
    assert variant_of("ball_in_cup-catch", "reflect_action") == Variant("reflect_action", 1.0)
    assert variant_of("my_robot:make", "heavy=2") == Variant("heavy", 2.0)
    assert variant_of("my_robot:make", "heavy") == Variant("heavy", 1.0)


@pytest.mark.parametrize("task", ["craft", "cartpole-swingup", "my_robot:make"])
@pytest.mark.parametrize("variant", ["unheard", "tilt=much", "a=b=c", "=", ""])
def test_variants_that_do_not_exist_are_worlds_too(task, variant):
    assert usual_variant(task, variant) == variant
    assert variant_of(task, variant).strength == 1


def test_worlds_know_one_variant_by_several_names():
    one, other = (
        made(variant="gravity=-2", task="acrobot-swingup"),
        made(variant="gravity", task="acrobot-swingup"),
    )
    assert world_of(one) == world_of(other)
    assert str(world_of(one)) == "acrobot-swingup gravity"
    assert world_of(one) != world_of(made(variant="gravity", task="acrobot-swingup", obs="pixels"))


def test_worlds_in_order():
    found = by_world([made(variant=f"wear={w}") for w in (3, 2, 0.7)] + [made(), made(seed=1)])
    assert [world.variant for world in found] == [None, "wear=0.7", "wear=2", "wear=3"]
    assert [len(runs) for runs in found.values()] == [2, 1, 1, 1]


def test_each_run_counts_once():
    first, longer = made(curve=[1, 2], key="a"), made(curve=[1, 2, 3], key="a")
    assert unique([first, longer, first]) == [longer]
    assert unique([made(seed=1), made(seed=0)])[0].seed == 0
    assert len(unique([first, made(curve=[1, 2], settings={"network.hidden": 9})])) == 2


def test_arms_are_named_by_what_differs():
    some = [
        made("rpp", settings={"algorithm.target_tau": 0.005, "training.frames": 9}),
        made("rpp", settings={"algorithm.target_tau": 0.02, "network.hidden": 64}),
        made("none", settings={"network.hidden": 64}),
        made("none"),
    ]
    assert list(by_arm(some)) == [
        "none",
        "none, hidden 64",
        "rpp, hidden 64, target_tau 0.02",
        "rpp, target_tau 0.005",
    ]
    assert list(by_arm(runs({"rpp": 1, "none": 1, "approx": 1}))) == ["none", "approx", "rpp"]


def test_settings_that_all_share_are_not_named():
    some = runs({"none": 1, "exact": 2}, settings={"network.hidden": 64})
    assert list(by_arm(some)) == ["none", "exact"]


def test_symmetries_of_time_are_part_of_the_model():
    trading = {"task": "trading", "obs": None}
    some = [
        made("approx", settings={"task.symmetry": "ST"}, **trading),
        made("approx", **trading),
        made("none", settings={"task.symmetry": "ST"}, **trading),
    ]
    assert list(by_arm(some)) == ["none", "approx ST", "approx T"]
    assert symmetry_of(made()) is None


def test_plain_runs_are_those_with_most_models():
    sweep = runs({"rpp": 1}, seeds=9, settings={"algorithm.target_tau": 0.02})
    whole = runs({"none": 1, "exact": 1}, seeds=2)
    assert plain([*sweep, *whole]) == whole
    noisy = runs({"none": 1, "exact": 1}, seeds=2, settings={"task.noise": 0.06})
    assert plain([*noisy, *whole]) == whole
    assert plain([]) == []


def test_what_a_run_is_worth():
    run = made(curve=[0, 10, 20, 30, 40, 50], frames=[100, 200, 300, 400, 500, 600], seconds=60.0)
    assert at_end(run) == 40
    assert last_third(run) == 45
    assert area(run) == 25
    assert area(made(curve=[7])) == 7
    assert last_third(made(curve=[7, 9])) == 9
    assert seconds_per_frame(run) == 0.1
    assert seconds_to(run, 15) == pytest.approx(30.0)
    assert seconds_to(run, 60) == math.inf
    untimed = replace(run, seconds=0.0)
    assert median_seconds_to([run, run, untimed], 15) == pytest.approx(30.0)
    assert median_seconds_to([untimed], 15) == math.inf


def test_tests_under_noise():
    run = made(evaluations={"clean": [100.0, 200.0], "noise=0.06": [30.0, 60.0]})
    name = "noise=0.06"
    assert (fresh(run), fresh(run, name), kept(run, name)) == (150, 45, 0.3)
    with pytest.raises(UsageError, match=r"not evaluated 'noise=0\.06', only \['clean'\]"):
        kept(made(evaluations={"clean": [1.0]}), name)
    with pytest.raises(UsageError, match="no positive return without noise"):
        kept(made(evaluations={"clean": [0.0], name: [0.0]}), name)
    assert noise_of_tests("cartpole-swingup") == name
    with pytest.raises(UsageError, match=r"not evaluated 'clean', only \[\]"):
        fresh(made())


def test_runs_that_cannot_tell_are_left_out():
    assert by_seed([made(seed=1, evaluations={"clean": [3.0]}), made(seed=0)], fresh) == {1: 3.0}
    assert by_seed([made(curve=[])], at_end) == {}


def test_weights_at_the_end():
    relaxed = {
        "encoder.convs.0": [[[1.0, 1.0]], [[1.5, 0.5]]],
        "actor.body": [[[[1.0, 3.0], [3.0, 5.0]]], [[[1.0, 3.0], [3.0, 5.0]]]],
    }
    run = made(curve=[1, 2], relaxed=relaxed)
    assert first_layer(run, "encoder") == "encoder.convs.0"
    assert first_layer(run, "critic") is None
    assert spread(run, "encoder.convs.0") == 0.5
    np.testing.assert_array_equal(final_weights(run, "actor.body"), [[2.0, 4.0]])
    assert spread(run, "actor.body") == pytest.approx(1 / 3)


def test_the_tau_of_runs_that_are_not_nearsyms_own():
    assert tau_of(made(task="cartpole-swingup")) == 0.01
    for strange in ({"preset": "mine"}, {"agent": "ppo"}, {"model": "my_model"}):
        run = made(**{"model": "none", "task": "cartpole-swingup"} | strange)
        assert tau_of(run) is None
        assert tau_of(replace(run, settings={"algorithm.target_tau": 0.02})) == 0.02
