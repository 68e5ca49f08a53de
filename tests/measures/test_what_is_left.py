"""What is left of a symmetry, over several runs: level, power, and trained crafts.

`data/craft_relaxed.json` holds the last relaxed weights of crafts trained by

    for seed in range(100, 106):
        nearsym.train("craft", variant=variant, seed=seed,
                      training={"eval_episodes": 2, "eval_every": 1000})

as {variant: {layer: (seeds, filters, elements)}}, each array `relaxed_weights()[layer][-1]`.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.lattice import subgroups
from nearsym.measures.cosets import between
from nearsym.measures.what_is_left import left_over
from nearsym.tasks.craft.variants import parse_variant

D1, D2, D4 = dihedral(1), dihedral(2), dihedral(4)
C4 = D4.elements[:4]
CRAFT = {
    variant: {layer: np.array(w) for layer, w in layers.items()}
    for variant, layers in json.loads(
        (Path(__file__).parent / "data" / "craft_relaxed.json").read_text()
    ).items()
}


def unordered(group, rng, runs=6, filters=1):
    """Two layers whose elements are alike, one with heavy tails and a scale that varies."""
    shape = (runs, filters, group.order)
    wild = rng.standard_t(3, size=shape) * rng.lognormal(size=(runs, 1, 1))
    return {"one": 1 + 0.1 * rng.normal(size=shape), "two": 10 + 0.1 * wild}


def planted(group, subgroup, rng, runs=6, noise=0.05):
    """Beside a layer of noise, one that is constant on cosets; which is large, the seed decides."""
    weights, cosets = unordered(group, rng, runs), group.right_cosets(subgroup)
    for run in weights["one"]:
        values = rng.permutation(np.linspace(0.5, 1.5, len(cosets)))
        for coset, value in zip(cosets, values, strict=True):
            run[:, list(coset)] = value + noise * rng.normal(size=(len(run), len(coset)))
    return weights


def names(group, subgroup):
    return tuple(group.elements[g] for g in subgroup)


@pytest.mark.parametrize("variant", ["tilt=75", "wind", "worn"])
def test_trained_crafts_tell_what_their_dynamics_keep(variant):
    kept = parse_variant(variant).dynamics.keeps(D4)
    assert left_over(CRAFT[variant], D4).left == names(D4, kept)


def test_first_layers_tell_of_the_rotations():
    found = left_over(CRAFT["tilt=75"], D4)
    assert found.over_layers.reason.startswith("C4 {e, rot90, rot180, rot270} is left of D4")
    for layer in ("actor.body.layers.0", "critic.bodies.0.layers.0", "critic.bodies.1.layers.0"):
        assert found.layers[layer].left == C4


def test_five_tilted_crafts_are_enough():
    five = {layer: w[:5] for layer, w in CRAFT["tilt=75"].items()}
    assert left_over(five, D4).left == C4
    assert left_over(five, D4, reference=CRAFT["original"]).left == C4


def test_nothing_speaks_against_the_whole_symmetry_of_the_original():
    found = left_over(CRAFT["original"], D4)
    assert found.left == D4.elements
    assert all(finding.left == D4.elements for finding in found.layers.values())
    assert "No evidence against D4" in repr(found)
    assert "comes nearest with" in repr(found)


@pytest.mark.parametrize("group", [D2, D4], ids=str)
def test_level_under_weights_without_order(group):
    """p-values are uniform, and the correction keeps false findings below 5 %."""
    rng, repetitions = np.random.default_rng(0), 150
    reports = [
        left_over(unordered(group, rng, runs=5), group, draws=99, seed=i).over_layers.subgroups
        for i in range(repetitions)
    ]
    smallest = np.array([min(k.p_explains for k in report) for report in reports])
    assert (smallest <= 0.05).mean() < 0.05 + 3 * (0.05 * 0.95 / repetitions) ** 0.5


@pytest.mark.parametrize("subgroup", [k for k in subgroups(D4) if 1 < len(k) < 8], ids=str)
def test_finds_every_subgroup_that_was_planted(subgroup):
    rng = np.random.default_rng(1)
    found = [left_over(planted(D4, subgroup, rng), D4, draws=999).left for _ in range(5)]
    assert found.count(names(D4, subgroup)) >= 4


@pytest.mark.parametrize("subgroup", between(D2), ids=str)
def test_finds_subgroups_of_d2(subgroup):
    weights = planted(D2, subgroup, np.random.default_rng(2))
    assert left_over(weights, D2, draws=999).left == names(D2, subgroup)


def test_a_finding_is_that_of_the_layer_that_has_it():
    found = left_over(planted(D4, (0, 1, 2, 3), np.random.default_rng(3)), D4)
    assert found.layers["one"].left == C4
    assert found.layers["two"].left == D4.elements
    shown = repr(found)
    assert "one: C4" in shown
    assert "two:" not in shown


def test_against_a_reference():
    rng = np.random.default_rng(8)
    reference, alike = ({"one": unordered(D4, rng, runs=7)["one"]} for _ in range(2))
    weights = {"one": planted(D4, (0, 1, 2, 3), rng, runs=7)["one"]}
    found = left_over(weights, D4, reference=reference)
    assert found.left == C4
    assert found.p_spread < 0.05
    alike = left_over(alike, D4, reference=reference)
    assert alike.left == D4.elements
    assert alike.p_spread > 0.05


def test_order_that_the_reference_has_too_is_chance():
    rng = np.random.default_rng(5)
    both = (planted(D4, (0, 1, 2, 3), rng, runs=7) for _ in range(2))
    assert left_over(next(both), D4, reference=next(both)).left == D4.elements


@pytest.mark.parametrize("group", [D1, cyclic(3)], ids=str)
def test_without_proper_subgroups_only_a_reference_tells(group):
    rng = np.random.default_rng(6)
    calm, wild = ({"one": 1 + s * rng.normal(size=(5, 1, group.order))} for s in (0.01, 0.5))
    silent = left_over(wild, group)
    assert silent.left == group.elements
    assert "only a `reference` can tell" in silent.over_layers.reason
    assert left_over(wild, group, reference=calm).left == ("e",)
    assert left_over(calm, group, reference=wild).left == group.elements


def test_broken_without_an_order():
    rng = np.random.default_rng(7)
    calm, wild = ({"one": 1 + s * rng.normal(size=(6, 1, 8))} for s in (0.01, 0.3))
    found = left_over(wild, D4, reference=calm)
    assert found.left is None
    assert "D4 is broken, and no part of it seen" in found.over_layers.reason


def test_untrained_networks_and_several_filters():
    equal = {"one": np.full((5, 3, 8), 3**-0.5)}
    assert left_over(equal, D4, draws=99).left == D4.elements
    weights = {"one": np.repeat(CRAFT["tilt=75"]["actor.body.layers.0"], 3, axis=1)}
    assert left_over(weights, D4, draws=999).left == C4


def test_repeats_for_a_seed_and_is_plain_data():
    first, again = (left_over(CRAFT["tilt=75"], D4, draws=499, seed=3).as_json() for _ in range(2))
    assert first == again
    assert json.loads(json.dumps(first))["over_layers"]["left"] == list(C4)


def test_refusals():
    w = np.ones((4, 1, 8))
    with pytest.raises(UsageError, match="`weights` must come from at least 5 runs, got 4"):
        left_over({"one": w}, D4)
    five = {"one": np.ones((5, 1, 8))}
    with pytest.raises(UsageError, match="`reference` must come from at least 5 runs, got 4"):
        left_over(five, D4, reference={"one": w})
    with pytest.raises(UsageError, match="`reference` must have the layers of `weights`, one; got"):
        left_over(five, D4, reference={"two": np.ones((5, 1, 8))})
    with pytest.raises(UsageError, match="`draws` must be at least 1, got 0"):
        left_over(five, D4, draws=0)
    with pytest.raises(UsageError, match="`level` must lie between 0 and 1, got 5"):
        left_over(five, D4, level=5)
