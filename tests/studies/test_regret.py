"""Regret over worlds, and its map over the strength of a variant."""

from dataclasses import replace

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.measures.intervals import student_interval
from nearsym.studies import audited
from nearsym.studies.regret import Regret, model_sets, normaliser, regret_of
from nearsym.studies.scores import area
from nearsym.studies.selection import Scale, World
from nearsym.studies.sweeps import sweeps
from nearsym.studies.tables.regrets import regrets
from study_results import made, near, runs, tilted

SCALE = Scale("laptop", "state", "sac")


def of(levels, seeds=6, noise=0.0, rng=None):
    """Worlds with known levels: (worlds, models)."""
    rng = np.random.default_rng(0) if rng is None else rng
    return regret([rng.normal(np.array(row)[:, None], noise, (len(row), seeds)) for row in levels])


def regret(scores, seeds=None):
    """Of scores (models, seeds) in each world; seeds are the same everywhere."""
    models = ("none", "exact", "approx")[: len(scores[0])]
    worlds = tuple(World("t", str(i), SCALE) for i in range(len(scores)))
    seeds = tuple(tuple(range(s.shape[1])) for s in scores) if seeds is None else seeds
    return Regret(models, worlds, tuple(scores), seeds)


def test_without_noise_it_is_the_gap_to_the_best():
    found = of([[0.2, 1.0, 0.9], [1.0, 0.1, 0.8]])
    assert found.gap(0, "none").value == pytest.approx(0.8)
    assert found.gap(1, "none").value == pytest.approx(0.0)
    assert found.mean("approx").value == pytest.approx((0.1 + 0.2) / 2)
    assert found.worst("exact").value == pytest.approx(0.9)
    assert found.worst("approx").value == pytest.approx(0.2)
    assert found.worst_beyond("exact", "approx").value == pytest.approx(0.7)
    assert found.mean_beyond("none", "approx").value == pytest.approx(0.4 - 0.15)


def slow_gap(scores, model, splits):
    """Choose on one half, measure on the other, split by split."""
    found = []
    for first in splits:
        for chosen in (first, ~first):
            best = scores[:, chosen].mean(1).argmax()
            found.append(scores[best, ~chosen].mean() - scores[model, ~chosen].mean())
    return np.mean(found)


def test_the_choice_is_measured_on_other_seeds():
    rng = np.random.default_rng(1)
    found = of([[0.5, 0.5, 0.5]], seeds=6, noise=0.1, rng=rng)
    halves = [
        m for m in np.array(np.meshgrid(*[[True, False]] * 6)).reshape(6, -1).T if m.sum() == 3
    ]
    expected = slow_gap(found.scores[0], 2, halves)
    assert found.gap(0, "approx").value == pytest.approx(expected, abs=0.02)


def test_equal_models_have_no_regret_on_average():
    """The plain gap to the best of three equal models is far above 0; ours is not."""
    rng = np.random.default_rng(2)
    plain_gaps, found = [], []
    for _ in range(300):
        world = of([[0.5, 0.5, 0.5]] * 4, seeds=5, noise=0.1, rng=rng)
        plain_gaps.append(max(s.mean(1).max() - s.mean(1)[0] for s in world.scores))
        found.append(world.worst("none").value)
    assert np.mean(plain_gaps) > 0.05
    assert abs(np.mean(found)) < 0.01


LEVELS = np.array([[0.8, 1.0, 1.0], [0.8, 0.9, 1.0], [0.8, 0.1, 1.0], [0.8, 0.0, 1.0]])
FAILS = 1 / 8
"""Of the seeds of none, in the worlds where some fail."""


def independent(rng, seeds):
    return LEVELS, [rng.normal(row[:, None], 0.1, (3, seeds)) for row in LEVELS]


def lucky(rng, seeds):
    """A seed that is good in one world is good in all."""
    shared = rng.normal(0, 0.1, (3, seeds))
    return LEVELS, [row[:, None] + shared + rng.normal(0, 0.05, (3, seeds)) for row in LEVELS]


def failing(rng, seeds, depth=0.55, noise=0.1):
    """Some seeds of none learn little, often the same ones in several worlds."""
    scores = [rng.normal(row[:, None], noise, (3, seeds)) for row in LEVELS]
    luck = rng.random(seeds)
    for world in scores:
        mine = np.where(rng.random(seeds) < 0.4, luck, rng.random(seeds))
        world[0, mine < FAILS] -= depth
    levels = LEVELS.copy()
    levels[:, 0] -= FAILS * depth
    return levels, scores


def failing_outright(rng, seeds):
    """As the craft: a seed of none either does well or learns nothing."""
    return failing(rng, seeds, depth=0.8, noise=0.04)


def coverage(drawn, seeds, times=150):
    """How often the intervals of the mean, of the worst world and of the first one hold the
    truth, for every model."""
    rng = np.random.default_rng(11)
    found = {}
    for _ in range(times):
        levels, scores = drawn(rng, seeds)
        gaps = levels.max(axis=1, keepdims=True) - levels
        some = regret(scores)
        for model, name in enumerate(some.models):
            numbers = {
                "mean": (some.mean(name), gaps[:, model].mean()),
                "worst": (some.worst(name), gaps[:, model].max()),
                "one": (some.gap(0, name), gaps[0, model]),
            }
            for kind, (measured, truth) in numbers.items():
                low, high = measured.ci95
                found.setdefault((kind, name), []).append(low <= truth <= high)
    return {about: float(np.mean(inside)) for about, inside in found.items()}


@pytest.mark.longer
@pytest.mark.parametrize("seeds", [5, 10])
@pytest.mark.parametrize("drawn", [independent, lucky, failing])
def test_intervals_cover_the_truth(drawn, seeds):
    covered = coverage(drawn, seeds)
    assert min(covered.values()) > 0.85, covered
    assert np.mean(list(covered.values())) > 0.92, covered


@pytest.mark.longer
def test_intervals_are_too_narrow_where_seeds_fail_outright():
    """As the docs warn: with five seeds half of all draws have none that fails."""
    few, more = (coverage(failing_outright, seeds) for seeds in (5, 10))
    assert few["one", "none"] < 0.75
    assert few["mean", "none"] > 0.8
    assert more["one", "none"] > few["one", "none"]
    assert (
        min(found[about] for found in (few, more) for about in found if "none" not in about) > 0.85
    )


def test_a_seed_that_worlds_share_counts_once():
    """Seven copies of a world tell no more than one; worlds with other seeds do."""
    scores = np.random.default_rng(5).normal([[0.0], [1.0]], 0.3, (2, 6))
    one, copies = regret([scores]), regret([scores] * 7)
    others = regret([scores] * 7, tuple(tuple(range(10 * i, 10 * i + 6)) for i in range(7)))
    width, *widths = (np.ptp(r.mean("none").ci95) for r in (one, copies, others))
    assert widths == pytest.approx([width, width / np.sqrt(7)], rel=0.03)


def test_the_gap_of_a_plain_difference_has_its_interval():
    """Where there is no doubt about the best, it is Student's t of the paired differences."""
    scores = np.random.default_rng(6).normal([[0.0], [5.0]], 0.3, (2, 7))
    found = regret([scores]).gap(0, "none")
    _, expected = student_interval(scores[1] - scores[0])
    assert found.ci95 == pytest.approx(expected, abs=0.02)
    assert found.freedom == 6


def test_every_task_counts_the_same():
    levels = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.9, 1.0]])
    scores = tuple(np.repeat(row[:, None], 4, axis=1) for row in levels)
    worlds = tuple(World(task, str(i), SCALE) for i, task in enumerate("sssu"))
    found = Regret(("none", "exact"), worlds, scores, (tuple(range(4)),) * 4)
    assert found.mean("none").value == pytest.approx((1.0 + 0.1) / 2)


def test_each_world_has_its_own_seeds():
    rng = np.random.default_rng(7)
    few, many = rng.normal(0, 1, (2, 3)), rng.normal(0, 1, (2, 8))
    found = regret([few, many])
    assert [found.gap(i, "none").seeds for i in range(2)] == [3, 8]
    assert found.mean("none").seeds == 3
    assert found.mean("none").freedom == 2


def test_returns_are_normalised_per_task():
    small = runs({"none": near(10), "exact": near(20)}, task="craft")
    large = runs({"none": near(1000), "exact": near(500)})
    found = regret_of([*small, *large])
    assert found.models == ("none", "exact")
    for world, scores in zip(found.worlds, found.scores, strict=True):
        assert scores.mean(axis=1).max() == pytest.approx(1.0), world
    # first evaluations are at half of the level: 5 and 10, mean 7.5, so 10 is at 2.5 of 12.5
    assert found.scores[1].mean(axis=1)[0] == pytest.approx(0.2)


def test_only_worlds_and_seeds_that_all_models_share():
    some = runs({"none": 1, "exact": 2, "approx": 2}) + runs(
        {"none": 1, "exact": 2}, variant="wear"
    )
    assert regret_of(some).models == ("none", "exact")
    assert len(regret_of(some).worlds) == 2
    assert model_sets(some) == [("none", "exact")]
    assert len(regret_of(some, models=("none", "approx")).worlds) == 1
    some.append(made("none", 99, 1.0))
    assert regret_of(some).scores[0].shape == (2, 5)


def test_a_run_that_is_not_compared_changes_nothing():
    """One that is too short would cut all others, or leave nothing of them."""
    some = tilted((0, 30))
    usual = regret_of(some)
    for stray in (
        made("exact", 9, curve=[1.0], task="craft"),  # a seed that none lacks
        made("none", 9, frames=[2000, 4000], curve=[1, 2], task="craft"),  # evaluated later
        made("none", 0, frames=[50], curve=[1], task="craft", settings={"network.hidden": 9}),
    ):
        found = regret_of([*some, stray])
        assert (found.models, found.worlds) == (usual.models, usual.worlds)
        assert found.worst("exact") == usual.worst("exact")


def test_models_with_other_seeds_do_not_spoil_the_others():
    some = tilted((0, 30))
    for seeds in (range(10, 15), range(10, 20)):
        more = [made("rpp", seed, 50, task="craft") for seed in range(5)]
        more += [made("rpp", seed, 50, task="craft", variant="tilt=30") for seed in seeds]
        assert model_sets([*some, *more])[0] == ("none", "exact")
        assert len(regret_of([*some, *more]).worlds) == 2


def test_noise_in_training_is_no_strength_of_a_variant():
    noisy = [replace(run, settings={"task.noise": 0.1}) for run in tilted((0, 30, 75))]
    assert sweeps(noisy) == []


def test_a_model_with_one_seed_does_not_spoil_the_others():
    some = [*runs({"none": 1, "exact": 2}), made("rpp", 0)]
    assert regret_of(some).models == ("none", "exact")
    assert regret_of(some).scores[0].shape == (2, 5)


def test_a_world_with_one_model_does_not_spoil_the_others():
    some = [*runs({"none": 1, "exact": 2}), *runs({"approx": 1}, variant="wear")]
    assert regret_of(some).models == ("none", "exact")
    assert len(regret_of(some).worlds) == 1


def test_all_models_over_the_worlds_that_have_them_all():
    some = [
        run
        for variant in (None, "wear", "gravity")
        for run in runs({"none": 1, "exact": 2, "rpp": 1}, variant=variant)
        if not (variant == "wear" and run.model == "rpp")
    ]
    assert model_sets(some) == [("none", "exact"), ("none", "exact", "rpp")]


def test_further_models_over_the_worlds_that_have_them():
    levels = {"none": 1, "exact": 2, "rpp": 1, "augment": 2, "mirror": 3}
    has = {"original": 5, "wear": 2, "gravity": 3, "wind": 3, "tilt": 5, "worn": 4}
    some = [
        run
        for variant, count in has.items()
        for run in runs(dict(list(levels.items())[:count]), variant=variant)
    ]
    assert [len(models) for models in model_sets(some)] == [2, 3, 4, 5]
    tables = [table for table in regrets(some) if "curve" not in table.name]
    assert [table.name for table in tables] == [
        "regret",
        "regret, 3 models",
        "regret, 4 models",
        "regret, 5 models",
    ]
    assert [len(table.rows) for table in tables] == [6 + 2, 5 + 2, 3 + 2, 2 + 2]


def test_nothing_to_compare():
    assert regret_of([]) is None
    assert regret_of(runs({"none": 1})) is None
    assert regret_of(runs({"none": 1, "exact": 2}, seeds=1)) is None


def test_over_the_curve():
    early, late = [90, 90, 90, 90, 90, 90], [0, 0, 0, 90, 90, 90]
    some = [made(m, s, curve=c) for m, c in (("exact", early), ("none", late)) for s in range(4)]
    assert regret_of(some).worst("none").value == pytest.approx(0)
    assert regret_of(some, area).worst("none").value == pytest.approx(1.0, abs=0.35)


def test_where_nothing_was_learned():
    with pytest.raises(UsageError, match="nothing was learned: the best mean is 5"):
        normaliser([made(curve=[5, 5])], 5.0)
    idle = [made(m, s, curve=[5, 5]) for m in ("none", "exact") for s in range(3)]
    assert regret_of(idle) is None
    learned = runs({"none": 1, "exact": 2}, task="craft")
    assert [world.task for world in regret_of([*idle, *learned]).worlds] == ["craft"]


def test_a_sweep_has_the_original_as_strength_0():
    (found,) = sweeps(tilted())
    assert (found.task, found.variant) == ("craft", "tilt")
    assert list(found.worlds) == [0.0, 30.0, 75.0]
    assert [len(runs) for runs in found.runs.values()] == [10, 10, 10]
    table = found.regret()
    gaps = [table.gap(i, "exact").value for i in range(3)]
    unit = 100 - (3 * 50 + 50 + 35 + 12.5) / 6  # from the first evaluations to the best
    assert gaps == pytest.approx([0, 30 / unit, 75 / unit])


def test_two_strengths_are_no_sweep():
    assert sweeps(tilted((0, 30))) == []
    assert sweeps(runs({"none": 1}, variant="wear")) == []


def test_sweeps_do_not_mix_scales():
    assert len(sweeps(tilted() + tilted(obs="pixels"))) == 2


def test_epsilon_grows_with_the_tilt(monkeypatch):
    monkeypatch.setattr(audited, "PAIRS", 100)
    (found,) = sweeps(tilted())
    measured = list(found.measured("epsilon").values())
    assert measured[0] == 0
    assert 0 < measured[1] < measured[2]


def test_a_world_with_other_models_takes_nothing_from_the_rest():
    three = {"none": 1, "exact": 2, "approx": 3}
    other = runs({"approx": 1, "augment": 2}, task="craft")
    found = model_sets([*runs(three, variant="gravity"), *runs(three), *other])
    assert found == [("none", "exact", "approx")]


def test_runs_that_were_only_counted_are_left_out():
    trained = [*tilted(), *runs({"none": 1, "exact": 2})]
    counted = [made("none", 77, task=t, frames=[], curve=[]) for t in ("craft", "reacher-hard")]
    assert regret_of([*trained, *counted]).worlds == regret_of(trained).worlds
    assert sweeps([*trained, *counted]) == sweeps(trained)
