"""What is left of a symmetry, in the audit of one agent."""

import numpy as np
import pytest
import torch

from nearsym.audits.agent import audit_agent
from nearsym.audits.table import audit_table
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import plane_of
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.relaxation import relaxed_weights
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

D4 = dihedral(4)
VECTORS = Symmetry(2 * plane_of(D4), plane_of(D4))


@pytest.fixture
def audited():
    def audited(model, moved=()):
        config = NetworkConfig(model=model, channels=8, hidden=32, waist=8)
        networks = build_actor_critic(VECTORS, (4,), "sac", config)
        with torch.no_grad():
            for weight in relaxed_weights(networks.actor).values():
                weight[:, list(moved)] += 0.5
        obs = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
        return audit_agent(networks, obs, VECTORS, episodes=4)

    return audited


def shown(audit):
    world = {"verdict": "exact", "reason": "", "samples": 40, "elements": [], "alpha": None}
    return audit_table({**audit.as_json(), **world})


def test_weights_and_policy_tell_the_same(audited):
    found = audited("approx", moved=(4, 5, 6, 7))
    assert found.left.plausible.elements == D4.elements[:4]
    assert found.left.policy_agrees
    assert found.left.plausible.policy_inside < 1e-5 < found.left.plausible.policy_outside
    said = found.as_json()["left"]
    assert said["plausible"] == list(D4.elements[:4])
    assert "Most plausible: {e, rot90, rot180, rot270}; the policy's errors agree." in shown(found)


@pytest.mark.parametrize("model", ["none", "exact", "approx"])
def test_nothing_to_say_of_untrained_and_of_other_networks(audited, model):
    found = audited(model)
    assert found.left.subgroups == ()
    assert found.as_json()["left"]["plausible"] is None
    assert "What is left" not in shown(found)
