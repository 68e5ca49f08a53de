"""Rewards in their own units: what is learned from is divided, what is stored and logged is not."""

import pytest
import torch

from nearsym.agents.rewards import RewardScale


def test_the_unit_is_the_root_mean_square_of_what_is_not_zero():
    scale = RewardScale()
    for batch in ([3.0, 0.0], [0.0, 4.0], [0.0, 0.0]):
        scale.watch(torch.tensor(batch))
    assert scale.unit == pytest.approx((25 / 2) ** 0.5)
    assert scale(torch.tensor([0.0])) == 0.0


def test_without_any_reward_nothing_is_divided():
    scale = RewardScale()
    scale.watch(torch.zeros(4))
    assert scale(torch.tensor([2.0])) == 2.0


def test_a_constant_reward_is_a_unit():
    scale = RewardScale()
    scale.watch(torch.full((4,), -1e-5))
    assert scale(torch.tensor([-1e-5])) == pytest.approx(-1.0)


@pytest.mark.parametrize("agent", ["sac", "drqv2"])
def test_agents_learn_the_same_from_any_unit_of_reward(agent, make_agent, make_batch, weights):
    network, found = {"normalise": True}, []
    for unit in (1.0, 1024.0):
        learner = make_agent(agent, network=network, scale_rewards=True)
        for seed in range(3):
            batch = make_batch(seed=seed)
            metrics = learner.update(batch._replace(reward=unit * batch.reward), step=10_000)
        found.append(weights(*learner.networks.parts.values()))
        assert learner.reward_unit == pytest.approx(float(metrics["reward/unit"]))
    assert torch.equal(*found)  # a power of two: to the last bit


@pytest.mark.parametrize("agent", ["sac", "drqv2"])
@pytest.mark.parametrize("units", [(1024.0, 4096.0), (2**-10, 2**-12)], ids=["large", "small"])
def test_unusual_scales_of_observations_do_not_matter_either(
    agent, units, make_agent, make_batch, weights
):
    found = []
    for unit in units:
        learner = make_agent(agent, network={"normalise": True})
        for seed in range(3):
            batch = make_batch(seed=seed)
            batch = batch._replace(obs=unit * batch.obs, next_obs=unit * batch.next_obs)
            learner.update(batch, step=10_000)
        found.append(weights(*learner.networks.parts.values()))
    assert torch.equal(*found)


def test_without_the_setting_nothing_is_there(make_agent):
    plain = make_agent("sac")
    assert plain.reward_unit == 1.0
    assert "rewards" not in plain.state_dict()


def test_the_unit_is_part_of_the_state(make_agent, make_batch):
    first, second = (make_agent("sac", scale_rewards=True) for _ in range(2))
    first.update(make_batch(), step=10_000)
    second.load_state_dict(first.state_dict())
    assert second.reward_unit == first.reward_unit != 1.0
    following = [agent.update(make_batch(seed=1), step=10_001) for agent in (first, second)]
    assert following[0] == following[1]
