"""The average of the weights: what it is, and that it is what is played."""

import copy

import pytest
import torch

AGENTS = ["drqv2", "sac"]


def trained(make_agent, make_batch, kind, *, updates=5, **given):
    agent = make_agent(kind, learning_rate=1e-2, **given)
    for step in range(updates):
        agent.update(make_batch(), step=step)
    return agent


@pytest.mark.parametrize("kind", AGENTS)
def test_it_is_the_average_of_all_weights_so_far_and_then_moves(kind, make_agent, make_batch):
    agent = make_agent(kind, policy_average=0.4, learning_rate=1e-2)
    seen = []
    for step in range(5):
        agent.update(make_batch(), step=step)
        seen.append([w.detach().clone() for w in agent.networks.actor.parameters()])
    expected = [torch.stack(ws[:2]).mean(0) for ws in zip(*seen, strict=True)]  # 1, then 1/2
    for later in seen[2:]:
        expected = [e + 0.4 * (w - e) for e, w in zip(expected, later, strict=True)]
    for found, wanted in zip(agent.averaged.parts["actor"].parameters(), expected, strict=True):
        assert torch.allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("kind", AGENTS)
def test_what_learns_does_not_notice(kind, make_agent, make_batch, weights):
    plain = trained(make_agent, make_batch, kind)
    averaged = trained(make_agent, make_batch, kind, policy_average=0.01)
    parts = (agent.networks.parts.values() for agent in (plain, averaged))
    assert torch.equal(*(weights(*each) for each in parts))
    obs = make_batch().obs.numpy()
    assert (plain.act(obs[0], step=10**6) == averaged.act(obs[0], step=10**6)).all()
    assert (plain.policy(obs) != averaged.policy(obs)).any()


@pytest.mark.parametrize("kind", AGENTS)
def test_training_goes_on_bit_for_bit(kind, make_agent, make_batch):
    agent = trained(make_agent, make_batch, kind, policy_average=0.1)
    saved = copy.deepcopy(agent.state_dict())
    other = make_agent(kind, policy_average=0.1, learning_rate=1e-2, seed=1)
    other.load_state_dict(saved)
    obs = make_batch().obs.numpy()
    for step in range(5, 8):
        agent.update(make_batch(), step=step)
        other.update(make_batch(), step=step)
        assert (agent.policy(obs) == other.policy(obs)).all()


@pytest.mark.parametrize("kind", AGENTS)
def test_loaded_to_play_the_networks_are_the_average(kind, make_agent, make_batch, weights):
    """So that audits and exports speak of the policy that is played."""
    agent = trained(make_agent, make_batch, kind, policy_average=0.1)
    player = make_agent(kind, policy_average=0.1, seed=1)
    player.load_weights(agent.state_dict())
    played = player.networks.parts.values()
    assert torch.equal(weights(*agent.averaged.parts.values()), weights(*played))
    obs = make_batch().obs.numpy()
    assert (player.policy(obs) == agent.policy(obs)).all()


def test_moments_of_a_normaliser_are_copied(make_agent, make_batch):
    agent = make_agent("sac", policy_average=0.01, network={"normalise": True})
    batch = make_batch()
    agent.update(batch._replace(obs=100 * batch.obs), step=0)  # usual units are left alone
    own, played = agent.networks.encoder.normaliser, agent.averaged.parts["encoder"].normaliser
    assert (own.scale != 1).any()
    assert torch.equal(own.scale, played.scale)
    assert torch.equal(own.shift, played.shift)


def test_an_average_of_exact_networks_is_exact(make_agent, make_batch):
    """They form a linear space."""
    flip, obs = torch.tensor([-1.0, 1.0]), make_batch().obs
    errors = {}
    for model in ("exact", "none"):
        agent = trained(
            make_agent, make_batch, "drqv2", policy_average=0.1, network={"model": model}
        )
        errors[model] = (agent.played(flip * obs) + agent.played(obs)).abs().max()
    assert errors["exact"] < 1e-5 < 1e-2 < errors["none"]
