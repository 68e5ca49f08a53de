"""Policies for Stable-Baselines3: exact where they say so, saved and loaded by its own means."""

import gymnasium
import numpy as np
import pytest
import torch

import nearsym
from nearsym.errors import UsageError
from nearsym.groups import dihedral
from nearsym.groups.representation import from_matrices, sign, trivial_of

pytest.importorskip("stable_baselines3")

from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3
from stable_baselines3.common.env_checker import check_env

from nearsym.integrations.sb3 import (
    SymmetricActorCriticPolicy,
    SymmetricPolicy,
    SymmetricTD3Policy,
)

OFF_POLICY = {"learning_starts": 20, "buffer_size": 200, "batch_size": 16}
KINDS = {
    "SAC": (SAC, SymmetricPolicy, OFF_POLICY),
    "TD3": (TD3, SymmetricTD3Policy, OFF_POLICY),
    "DDPG": (DDPG, SymmetricTD3Policy, OFF_POLICY),
    "PPO": (PPO, SymmetricActorCriticPolicy, {"n_steps": 32, "batch_size": 16, "n_epochs": 2}),
    "A2C": (A2C, SymmetricActorCriticPolicy, {"n_steps": 8}),
}
SMALL = {"net_arch": [16, 16]}


def agent_of(kind, env, model="exact", **kwargs):
    algorithm, policy, options = KINDS[kind]
    return algorithm(
        policy,
        env,
        policy_kwargs=SMALL | {"model": model} | kwargs,
        seed=0,
        device="cpu",
        **options,
    )


def error_of(agent, symmetry, samples=64):
    """The largest relative equivariance error of the mean action over elements and observations."""
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(samples, symmetry.observation.size)).astype(np.float32)
    largest = 0.0
    for g in range(symmetry.group.order):
        moved = symmetry.observation.act(g, obs).astype(np.float32)
        first = symmetry.action.act(g, agent.predict(obs, deterministic=True)[0])
        second = agent.predict(moved, deterministic=True)[0]
        largest = max(largest, np.abs(first - second).max() / max(np.abs(first).max(), 1e-3))
    return largest


def craft():
    return nearsym.make("craft", variant="tilt=75")


@pytest.mark.parametrize("kind", KINDS)
def test_exact_stays_exact_in_training_saving_and_loading(kind, tmp_path):
    env = craft()
    symmetry = env.unwrapped.symmetry
    agent = agent_of(kind, env)
    before = agent.policy.parameters_to_vector()
    agent.learn(100)
    assert np.abs(agent.policy.parameters_to_vector() - before).max() > 0
    assert error_of(agent, symmetry) < 1e-5
    agent.save(tmp_path / "agent")
    again = type(agent).load(tmp_path / "agent", device="cpu")
    obs = np.ones((3, symmetry.observation.size), np.float32)
    assert np.array_equal(*(a.predict(obs, deterministic=True)[0] for a in (agent, again)))
    assert error_of(again, symmetry) < 1e-5
    again.set_env(env)
    again.learn(20)  # what was loaded goes on


@pytest.mark.parametrize("kind", ["SAC", "TD3", "PPO"])
def test_approx_begins_exact_and_may_leave(kind):
    env = craft()
    agent = agent_of(kind, env, "approx")
    assert error_of(agent, env.unwrapped.symmetry) < 1e-5
    with torch.no_grad():
        for name, weight in agent.policy.named_parameters():
            if name.endswith("relaxed"):
                weight[..., 0] += 0.5
    assert error_of(agent, env.unwrapped.symmetry) > 1e-3


@pytest.mark.parametrize("kind", ["SAC", "TD3", "PPO"])
def test_none_has_no_symmetry(kind):
    env = craft()
    assert error_of(agent_of(kind, env, "none"), env.unwrapped.symmetry) > 1e-2


def test_values_are_invariant():
    env = craft()
    symmetry = env.unwrapped.symmetry
    agent = agent_of("SAC", env)
    obs, action = torch.randn(5, 4), torch.rand(5, 2)
    value = agent.critic(obs, action)[0]
    ppo = agent_of("PPO", env)
    alone = ppo.policy.predict_values(obs)
    for g in range(symmetry.group.order):
        moved = symmetry.observation.act(g, obs)
        assert torch.allclose(
            agent.critic(moved, symmetry.action.act(g, action))[0], value, atol=1e-5
        )
        assert torch.allclose(ppo.policy.predict_values(moved), alone, atol=1e-5)


def test_probabilities_are_invariant_with_one_spread_for_an_orbit():
    env = craft()
    symmetry = env.unwrapped.symmetry
    agent = agent_of("PPO", env)
    with torch.no_grad():
        agent.policy.log_std.copy_(torch.tensor([0.3, -0.5]))
    obs, action = torch.randn(5, 4), torch.randn(5, 2)
    _, log_prob, _ = agent.policy.evaluate_actions(obs, action)
    for g in range(symmetry.group.order):
        moved = symmetry.observation.act(g, obs), symmetry.action.act(g, action)
        assert torch.allclose(agent.policy.evaluate_actions(*moved)[1], log_prob, atol=1e-4)


def test_the_policy_alone_is_saved_too(tmp_path):
    agent = agent_of("SAC", craft(), "approx")
    agent.policy.save(tmp_path / "policy")
    again = SymmetricPolicy.load(tmp_path / "policy", device="cpu")
    obs = np.ones((1, 4), np.float32)
    assert np.array_equal(*(a.predict(obs, deterministic=True)[0] for a in (agent, again)))
    assert again.networks.model == "approx"


class Walls(gymnasium.Env):
    """Left or right on a line, seen as a number; the mirror exchanges the two actions."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-5, 5, 1).astype(np.float32)
        self.t = 0
        return self.x, {}

    def step(self, action):
        self.x = np.clip(self.x + (1 if action else -1), -10, 10).astype(np.float32)
        self.t += 1
        return self.x, -float(abs(self.x[0])), False, self.t >= 20, {}


def swap():
    mirror = dihedral(1)
    exchange = from_matrices(mirror, np.array([np.eye(2), np.eye(2)[::-1]]), "swap")
    return nearsym.Symmetry(sign(mirror), exchange)


def test_discrete_actions_move_by_permutations():
    check_env(Walls())
    agent = agent_of("PPO", Walls(), symmetry=swap())
    agent.learn(64)
    obs = torch.linspace(-3, 3, 7)[:, None]
    first, second = (agent.policy.get_distribution(x).distribution.probs for x in (obs, -obs))
    assert torch.allclose(first, second.flip(1), atol=1e-6)
    assert (first[:, 0] - first[:, 1]).abs().max() > 1e-6


@pytest.mark.parametrize("kind", ["SAC", "PPO"])
def test_pixels(kind):
    env = nearsym.make("cartpole-swingup", obs="pixels", size=37, frame_stack=1)
    symmetry = env.unwrapped.symmetry
    agent = agent_of(kind, env, channels=8)
    obs, _ = env.reset(seed=0)
    images = np.stack([obs, np.random.default_rng(0).integers(0, 256, obs.shape, np.uint8)])
    actions = agent.predict(np.moveaxis(images, -1, 1), deterministic=True)[0]
    mirrored = np.stack([symmetry.observation.act(1, image) for image in images])
    moved = agent.predict(np.moveaxis(mirrored, -1, 1), deterministic=True)[0]
    assert np.abs(actions).max() > 0
    assert np.allclose(moved, symmetry.action.act(1, actions), atol=1e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "rpp"}, "Unknown model 'rpp'"),
        ({"use_sde": True}, "`use_sde` breaks the symmetry"),
        ({"normalize_images": False}, "`normalize_images` is chosen by the symmetric policies"),
        ({"net_arch": []}, "`net_arch` needs a layer"),
    ],
)
def test_what_cannot_work_is_refused(given, said):
    env = craft()
    with pytest.raises(UsageError, match=said):
        SymmetricPolicy(env.observation_space, env.action_space, lambda _: 1e-3, **given)


def test_a_symmetry_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="not told how the environment is symmetric"):
        agent_of("PPO", Walls())
    mirror = dihedral(1)
    wrong = nearsym.Symmetry(sign(mirror), sign(mirror))
    with pytest.raises(UsageError, match="2 discrete actions are moved by permutations"):
        agent_of("PPO", Walls(), symmetry=wrong)
    env = gymnasium.make("Pendulum-v1")
    turned = nearsym.Symmetry(trivial_of(mirror) + 2 * sign(mirror), 2 * sign(mirror))
    with pytest.raises(UsageError, match="moves actions of 2 numbers"):
        agent_of("SAC", env, symmetry=turned)


def test_an_action_space_that_the_group_leaves_is_refused():
    mirror = dihedral(1)
    symmetry = nearsym.Symmetry(sign(mirror), sign(mirror))
    uneven = gymnasium.spaces.Box(np.float32(-1), np.float32(2), (1,))
    seen = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    with pytest.raises(UsageError, match="leaves the action space"):
        SymmetricPolicy(seen, uneven, lambda _: 1e-3, symmetry=symmetry)
