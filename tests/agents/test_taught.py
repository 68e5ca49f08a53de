"""The models that learn a symmetry from moved samples: what they add to an update."""

import pytest
import torch

from nearsym.networks.actor_critic import ActorCritic


class Fixed:
    """Moves that use given elements instead of random ones."""

    def __init__(self, moves, elements):
        self._moves, self._elements = moves, elements

    def __getattr__(self, name):
        return getattr(self._moves, name)

    def draw(self, batch, generator, *, identity=True):
        return self._elements


def with_elements(agent, elements):
    networks = agent.networks
    fields = {name: getattr(networks, name) for name in ActorCritic.__dataclass_fields__}
    agent.networks = ActorCritic(**fields | {"moves": Fixed(networks.moves, elements)})
    return agent


@pytest.mark.parametrize("kind", ["drqv2", "sac"])
@pytest.mark.parametrize("pixels", [False, True])
def test_augment_is_none_on_moved_samples(make_agent, make_batch, weights, kind, pixels):
    if kind == "sac" and pixels:
        pytest.skip("SAC reads vectors")
    batch, elements = make_batch(pixels=pixels), torch.tensor([0, 1] * 4)
    taught = make_agent(kind, pixels=pixels, network={"model": "augment"})
    free = make_agent(kind, pixels=pixels, network={"model": "none"})
    moves = taught.networks.moves
    moved = batch._replace(
        obs=moves.observations(batch.obs, elements),
        action=moves.actions(batch.action, elements),
        next_obs=moves.observations(batch.next_obs, elements),
    )
    with_elements(taught, elements).update(batch, step=5000)
    free.update(moved, step=5000)
    assert torch.equal(*(weights(*a.networks.parts.values()) for a in (taught, free)))


@pytest.mark.parametrize("kind", ["drqv2", "sac"])
def test_mirror_pulls_the_policy_towards_equivariance(make_agent, make_batch, kind):
    """With a strength that drowns everything else, only the pull is left."""
    agent = make_agent(
        kind, learning_rate=1e-2, network={"model": "mirror", "mirror_strength": 1e4}
    )
    obs = torch.randn(64, 2)
    flipped = obs * torch.tensor([-1.0, 1.0])

    def error():
        return abs(agent.policy(flipped.numpy()) + agent.policy(obs.numpy())).mean()

    before = error()
    for seed in range(60):
        agent.update(make_batch(64, seed=seed), step=5000)
    assert error() < 0.1 * before


def test_the_mirror_loss_is_its_definition(make_agent, make_batch):
    agent = make_agent("sac", network={"model": "mirror", "mirror_strength": 0.5})
    obs = make_batch().obs
    mean = torch.from_numpy(agent.policy(obs.numpy()))
    flipped = torch.from_numpy(agent.policy((obs * torch.tensor([-1.0, 1.0])).numpy()))
    expected = 0.5 * sum(float(((-mean[i] - flipped[i]) ** 2).sum()) for i in range(len(obs)))
    found = agent.mirror_loss(obs, mean, agent._mean)
    assert found.item() == pytest.approx(expected / len(obs), rel=1e-5)


def test_augment_has_no_mirror_loss(make_agent, make_batch):
    agent = make_agent("sac", network={"model": "augment"})
    assert agent.mirror_loss(make_batch().obs, torch.zeros(8, 2), agent._mean) == 0.0
