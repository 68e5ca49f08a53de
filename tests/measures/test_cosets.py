"""Shares of a spread between cosets, and the description of one run."""

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.layers.linear import GroupLinear
from nearsym.measures.cosets import between, by_chance, coset_shares, left_in_run

D4 = dihedral(4)
C4 = (0, 1, 2, 3)
ROTATIONS = np.repeat([0.5, 1.3], 4)  # constant on the cosets of C4


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("relax", ["input", "output"])
@pytest.mark.parametrize("k", range(1, 8))
def test_moved_weights_move_the_layer(k, relax):
    """The rule (left): weights k·w on k·x give k·y, where (k·w)[h] = w[k⁻¹h]."""
    layer = GroupLinear(D4, 3, 2, relaxed=True, filters=2, relax=relax).double()
    x, moved = torch.randn(5, 8, 3, dtype=torch.float64), D4.relative[k]  # h → k⁻¹h
    with torch.no_grad():
        layer.relaxed.copy_(torch.as_tensor(noise(2, 8)))
        y = layer(x)
        layer.relaxed.copy_(layer.relaxed[:, moved].clone())
        torch.testing.assert_close(layer(x[:, moved]), y[:, moved])


@pytest.mark.parametrize("a", range(1, 8))
def test_relabelled_features_are_the_same_layer(a):
    """The rule (right): w[ha] with filters ψ(a⁻¹ · a) on x[ha] gives y[ha]."""
    layer = GroupLinear(D4, 3, 2, relaxed=True).double()
    x, right = torch.randn(5, 8, 3, dtype=torch.float64), D4.mul[:, a].copy()  # h → ha
    conjugate = D4.mul[D4.inverse[a], right]  # h → a⁻¹ha
    with torch.no_grad():
        layer.relaxed.copy_(torch.as_tensor(noise(1, 8)))
        y = layer(x)
        layer.relaxed.copy_(layer.relaxed[:, right].clone())
        psi = layer.filters.view(8, 3, 2)[conjugate].clone()
        layer.filters.copy_(psi.view_as(layer.filters))
        torch.testing.assert_close(layer(x[:, right]), y[:, right])


def test_shares_are_those_of_the_slow_formula():
    w = 1 + 0.1 * noise(3, 2, 8)
    d = (w - w.mean(-1, keepdims=True)) / np.abs(w).mean((1, 2), keepdims=True)
    for k, shares in coset_shares({"one": w}, D4).items():
        cosets = [list(coset) for coset in D4.right_cosets(k)]
        explained = sum(len(c) * d[..., c].mean(-1) ** 2 for c in cosets).sum(-1)
        np.testing.assert_allclose(shares, explained / (d**2).sum((1, 2)))


def test_relabelling_on_the_right_keeps_shares_and_on_the_left_conjugates():
    w = 1 + 0.1 * noise(1, 1, 8)
    shares = coset_shares({"one": w}, D4)
    for a in range(8):
        right = coset_shares({"one": w[..., D4.mul[:, a]]}, D4)
        left = coset_shares({"one": w[..., D4.relative[a]]}, D4)
        for k in shares:
            conjugate = tuple(sorted(int(D4.mul[D4.mul[D4.inverse[a], g], a]) for g in k))
            np.testing.assert_allclose(right[k], shares[k])
            np.testing.assert_allclose(left[k], shares[conjugate])


def test_constant_on_cosets_and_by_chance():
    w = np.tile(ROTATIONS, (1, 1, 1))
    assert coset_shares({"one": w}, D4)[C4] == pytest.approx([1.0])
    assert coset_shares({"one": w}, D4)[0, 2, 4, 6] == pytest.approx([0.0], abs=1e-12)
    many = coset_shares({"one": 1 + 0.1 * noise(4000, 1, 8)}, D4)
    for k in between(D4):
        assert many[k].mean() == pytest.approx(by_chance(D4, k), abs=0.02)


def test_layers_that_spread_more_count_more():
    both = {"ordered": np.tile(ROTATIONS, (1, 1, 1)), "noisy": 1 + 0.01 * noise(1, 1, 8)}
    assert coset_shares(both, D4)[C4][0] > 0.99
    scaled = {name: 100 * w for name, w in both.items()}
    np.testing.assert_allclose(coset_shares(scaled, D4)[C4], coset_shares(both, D4)[C4])


def test_development_in_training_starts_without_a_spread():
    evaluations = np.stack([np.ones((1, 8)), ROTATIONS[None]])
    share = coset_shares({"actor": evaluations}, D4)[C4]
    assert np.isnan(share[0])
    assert share[1] == pytest.approx(1)


def test_weights_of_anything_but_elements_are_left_out():
    w = 1 + 0.1 * noise(2, 1, 8)
    steerable = {"conv": noise(2, 1, 4, 8), "other": noise(2, 1, 5)}
    shares = coset_shares({"one": w} | steerable, D4)
    np.testing.assert_array_equal(shares[C4], coset_shares({"one": w}, D4)[C4])
    with pytest.raises(UsageError, match=r"`weights` must hold a layer of shape .* 8\) for D4"):
        coset_shares(steerable, D4)
    with pytest.raises(UsageError, match=r"the same runs in every layer, got {'a': 2"):
        coset_shares({"a": w, "b": w[:1]}, D4)
    with pytest.raises(UsageError, match="must be finite numbers; those of a are not"):
        coset_shares({"a": np.where(w > 1, np.nan, w)}, D4)


def errors(small):
    return {g: 0.01 if g in small else 0.5 for g in D4.elements[1:]}


def test_one_run_is_described_beside_its_policy():
    weights = {"actor": ROTATIONS[None] + 0.03 * noise(1, 8), "idle": np.ones((1, 8))}
    found = left_in_run(weights, errors(D4.elements[1:4]), D4)
    assert found.plausible.elements == D4.elements[:4]
    assert found.policy_agrees
    assert found.plausible.layers.keys() == {"actor"}
    beyond = [k.beyond_chance for k in found.subgroups]
    assert beyond == sorted(beyond, reverse=True)
    said = found.as_json()
    assert said["plausible"] == list(D4.elements[:4])
    assert said["subgroups"][0].keys() >= {"share", "by_chance", "layers", "policy_inside"}
    disagreeing = left_in_run(weights, errors(D4.elements[4:]), D4)
    assert not disagreeing.policy_agrees
    assert disagreeing.plausible.policy_inside == 0.5


def test_no_order_no_spread_no_weights():
    unordered = left_in_run({"actor": 1 + 0.1 * noise(1, 8)}, errors(()), D4)
    assert unordered.plausible is None
    assert unordered.policy_agrees is None
    for nothing in ({}, {"actor": np.ones((1, 8))}, {"conv": noise(1, 4, 8)}):
        assert left_in_run(nothing, errors(()), D4).subgroups == ()
    assert (
        left_in_run({"a": noise(1, 3)}, {"rot120": 1.0, "rot240": 1.0}, cyclic(3)).subgroups == ()
    )
