"""The audit of an agent on small networks: exact ones, and ones with a relaxed weight moved."""

import numpy as np
import pytest
import torch

from nearsym.audits.agent import audit_agent, bound_beside_gap, lipschitz_seen
from nearsym.audits.coordinates import Coordinates
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import plane_of
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.relaxation import relaxed_weights
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

D2 = dihedral(2)
VECTORS = Symmetry(2 * plane_of(D2), plane_of(D2))
IMAGES = Symmetry(ImageAction(D2, height=-3, width=-2), plane_of(D2))


def small(model):
    return NetworkConfig(model=model, channels=8, hidden=32, waist=8)


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)


@pytest.mark.parametrize("model", ["exact", "approx"])
def test_an_untrained_agent_is_equivariant_to_rounding(vectors, model):
    networks = build_actor_critic(VECTORS, (4,), "sac", small(model))
    found = audit_agent(networks, vectors, VECTORS, episodes=4)
    assert [element["name"] for element in found.elements] == list(D2.elements[1:])
    for element in found.elements:
        assert element["policy"]["largest"] < 1e-5
        assert element["critic"]["largest"] < 1e-4
        assert element["layers"]
        assert all(layer["largest"] < 1e-5 for layer in element["layers"].values())
    assert 0 < found.floors["policy"] < 1e-5
    assert all(w["spread"] < 1e-6 for w in found.relaxed.values())
    assert bool(found.relaxed) == (model == "approx")


def test_a_moved_weight_shows_in_its_layer_and_its_elements(vectors):
    networks = build_actor_critic(VECTORS, (4,), "sac", small("approx"))
    name, weight = next(iter(relaxed_weights(networks.actor).items()))
    with torch.no_grad():
        weight[:, [1, 3]] += 0.5  # constant on the cosets of mirror_x = {e, mirror_x}: 0,2 | 1,3
    found = audit_agent(networks, vectors, VECTORS, episodes=4)
    errors = {element["name"]: element for element in found.elements}
    assert errors["mirror_x"]["policy"]["largest"] < 1e-5
    for g in ("rot180", "mirror_y"):
        assert errors[g]["policy"]["mean"] > 1e-3
        low, high = errors[g]["policy"]["mean_ci95"]
        assert low < errors[g]["policy"]["mean"] < high
        broken = {layer for layer, e in errors[g]["layers"].items() if e["mean"] > 1e-3}
        assert broken == {f"actor.{name}"}
        assert errors[g]["critic"]["largest"] < 1e-4
    assert found.relaxed[f"actor.{name}"]["spread"] > 0.1


def test_pixels_and_free_networks():
    images = np.random.default_rng(1).integers(0, 256, size=(8, 37, 37, 3)).astype(np.uint8)
    networks = build_actor_critic(IMAGES, (37, 37, 3), "drqv2", small("exact"))
    found = audit_agent(networks, images, IMAGES, episodes=2)
    layers = found.elements[0]["layers"]
    assert {"encoder.convs.0", "encoder.convs.3", "actor.mean"} <= layers.keys()
    assert max(layer["largest"] for layer in layers.values()) < 1e-4
    free = build_actor_critic(IMAGES, (37, 37, 3), "drqv2", small("none"))
    found = audit_agent(free, images, IMAGES, episodes=2)
    assert found.elements[0]["layers"] == {}
    assert found.elements[0]["policy"]["mean"] > 1e-3
    assert found.q_gap["largest"] >= found.q_gap["mean"] > 0


def test_the_steepest_slope_seen():
    plain = np.zeros(2, dtype=bool)
    coordinates = Coordinates(("x", "a"), np.array([False, True]), plain, (None, None), 1e-9, None)
    x = np.array([[0.0, 3.1], [0.0, -3.1], [2.0, 3.1]])
    slope = lipschitz_seen(np.array([0.0, 1.0, 4.0]), x, coordinates)
    assert slope == pytest.approx(1 / (2 * np.pi - 6.2))  # the short way round


def test_the_bound_says_how_loose_it_is():
    found = bound_beside_gap(0.1, 0.01, lipschitz=50.0, discount=0.9, q_gap=0.5)
    assert found["value"] == pytest.approx((0.1 + 0.9 * 50 * 0.01) / 0.1)
    assert found["over_q_gap"] == pytest.approx(found["value"] / 0.5)
    assert "only a rough guide" in found["note"]
    assert bound_beside_gap(0, 0, 1.0, 0.9, q_gap=0.0)["over_q_gap"] is None
