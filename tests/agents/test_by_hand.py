"""Gradients that are written out are those of autograd."""

import numpy as np
import pytest
import torch

from nearsym.agents.base import Compute
from nearsym.agents.batch import Batch
from nearsym.agents.sac import SAC, SACConfig
from nearsym.groups.catalog import dihedral
from nearsym.groups.group import FiniteGroup
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import NetworkConfig, build_actor_critic

GROUPS = [dihedral(1), dihedral(2), dihedral(4)]
MODELS = ["none", "exact", "approx", "augment"]


def symmetry_of(group: FiniteGroup) -> Symmetry:
    """Two directions that move, and one number that does not; actions likewise."""
    moved = group.vector() if group.order > 2 else 2 * group.sign()
    return Symmetry(moved + group.trivial(), moved + group.trivial())


def agent_of(group: FiniteGroup, **settings) -> SAC:
    torch.manual_seed(0)
    config = NetworkConfig(hidden=16, waist=None, **settings)
    networks = build_actor_critic(symmetry_of(group), (3,), "sac", config)
    for part in networks.parts.values():
        part.double()
        with torch.no_grad():
            for parameter in part.parameters():
                parameter += 0.3 * torch.randn_like(parameter)  # relaxed weights are not equal
    compute = Compute(torch.device("cpu"), bfloat16=False)
    generator = torch.Generator().manual_seed(0)
    return SAC(networks, SACConfig(), compute=compute, generator=generator)


def batch_of(size: int = 32) -> Batch:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.normal(size=shape))

    return Batch(drawn(size, 3), drawn(size, 3).tanh(), drawn(size), drawn(size), drawn(size, 3))


def after(agent: SAC, updates: int) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    metrics: dict[str, torch.Tensor] = {}
    for step in range(updates):
        metrics = agent.update(batch_of(), step=2000 + step)
    weights = [p for part in agent.networks.parts.values() for p in part.parameters()]
    return [*weights, *agent.target_critic.parameters(), agent.log_temperature], metrics


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_updates_are_those_of_autograd(model, group):
    fast, slow = agent_of(group, model=model), agent_of(group, model=model)
    assert fast._by_hand is not None
    slow._by_hand = None
    (found, metrics), (wanted, expected) = after(fast, 3), after(slow, 3)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
    assert metrics.keys() == expected.keys()
    for name in metrics:
        torch.testing.assert_close(metrics[name], expected[name], rtol=1e-9, atol=1e-12)


def test_a_clamped_deviation_has_no_gradient():
    fast, slow = agent_of(dihedral(1), model="exact"), agent_of(dihedral(1), model="exact")
    slow._by_hand = None
    for agent in (fast, slow):
        with torch.no_grad():
            agent.networks.actor.log_std.bias += 4.0  # beyond the range for some of the batch
    _, log_std = fast.networks.actor(fast.encode(batch_of().obs))
    assert 0 < (log_std == 2.0).sum() < log_std.numel()
    for one, other in zip(after(fast, 1)[0], after(slow, 1)[0], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_a_wrong_gradient_would_be_seen():
    """The comparison above can fail: a gradient that is off by a thousandth is found."""
    fast, slow = agent_of(dihedral(1), model="approx"), agent_of(dihedral(1), model="approx")
    slow._by_hand = None
    passes = fast._by_hand.critic.perceptrons[0].layers[0]
    passes.into = passes.into * 1.001
    found, wanted = after(fast, 3)[0], after(slow, 3)[0]
    assert (
        max(float((a - b).detach().abs().max()) for a, b in zip(found, wanted, strict=True)) > 1e-6
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "rpp"},
        {"model": "mirror"},
        {"model": "approx", "filters": 2},
        {"model": "approx", "relax": "output"},
        {"model": "approx", "spread_strength": 1e-3},
    ],
    ids=str,
)
def test_other_networks_learn_by_autograd(settings):
    agent = agent_of(dihedral(1), **settings)
    assert agent._by_hand is None
    after(agent, 1)
