"""Each agent solves a trivial task: do what the observation says, mirrored or not."""

from functools import cache

import gymnasium
import numpy as np
import pytest
import torch

from nearsym.agents.base import Compute
from nearsym.agents.batch import Batch
from nearsym.agents.drqv2 import DrQV2, DrQV2Config
from nearsym.agents.sac import SAC, SACConfig
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import sign
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.training.replay import Replay

STEPS, RANDOM_STEPS, EPISODE = 240, 60, 2


class Follow(gymnasium.Env):
    """Reward −(a − s)² for a number s that is drawn anew at every step; two steps an episode."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._look(), {}

    def step(self, action):
        reward = -float((action[0] - self.number) ** 2)
        self.steps += 1
        return self._look(), reward, self.steps == EPISODE, False, {}

    def _look(self):
        self.number = 0.8 * self.np_random.choice([-1.0, 1.0])
        return np.array([self.number], np.float32)


@cache
def trained(kind: str, model: str):
    torch.manual_seed(0)
    rho = sign(dihedral(1))
    config = NetworkConfig(model=model, hidden=16, waist=None)
    networks = build_actor_critic(Symmetry(rho, rho), (1,), kind, config)
    shared = {
        "compute": Compute(torch.device("cpu"), bfloat16=False),
        "generator": torch.Generator().manual_seed(0),
    }
    if kind == "sac":
        agent = SAC(networks, SACConfig(learning_rate=2e-2, random_steps=RANDOM_STEPS), **shared)
    else:
        options = DrQV2Config(learning_rate=2e-2, random_steps=RANDOM_STEPS, std_steps=150)
        agent = DrQV2(networks, options, **shared)
    env, rng = Follow(), np.random.default_rng(0)
    replay = Replay(
        capacity=5000, obs_shape=(1,), obs_dtype=np.float32, action_size=1, nstep=1, discount=0.9
    )
    obs, _ = env.reset(seed=0)
    replay.start(obs)
    for step in range(STEPS):
        action = agent.act(obs, step=step)
        obs, reward, terminated, _, _ = env.step(action)
        replay.add(action, reward, 0.0 if terminated else 1.0, obs)
        if terminated:
            obs, _ = env.reset()
            replay.start(obs)
        if step > RANDOM_STEPS:
            agent.update(replay.sample(32, rng), step=step)
    return agent


@pytest.mark.parametrize("kind", ["drqv2", "sac"])
@pytest.mark.parametrize("model", ["none", "exact", "approx", "augment", "mirror"])
def test_follows_the_observation(kind, model):
    obs = np.array([[-0.8], [0.8]], np.float32)
    actions = trained(kind, model).policy(obs)
    assert actions == pytest.approx(obs, abs=0.2)


def test_an_exact_policy_cannot_learn_what_is_not_symmetric():
    """The other side of the coin, and a sign that the test above tests something."""
    agent = trained("sac", "exact")
    assert agent.policy(np.zeros((1, 1), np.float32)).item() == pytest.approx(0.0, abs=1e-6)


def pictures(sides, size):
    """A bright bar on the left (−1) or on the right (1) of a grey picture."""
    shown = np.full((len(sides), size, size, 3), 100, np.uint8)
    width = size // 4
    for picture, side in zip(shown, sides, strict=True):
        where = slice(-width, None) if side > 0 else slice(width)
        picture[:, where] = 250
    return torch.from_numpy(shown)


@pytest.mark.parametrize(
    ("model", "layers", "size"),
    [
        ("none", "group", 37),
        ("exact", "group", 37),
        ("approx", "group", 37),
        ("rpp", "group", 37),
        ("approx", "steerable", 37),
        ("sit", "group", 37),
        ("augment", "group", 37),
        ("mirror", "group", 37),
    ],
)
def test_follows_what_pictures_show(model, layers, size):
    torch.manual_seed(0)
    group = dihedral(1)
    config = NetworkConfig(model=model, layers=layers, channels=8, hidden=32, waist=8)
    symmetry = Symmetry(ImageAction(group, height=-3, width=-2), sign(group))
    networks = build_actor_critic(symmetry, (size, size, 3), "drqv2", config)
    generator = torch.Generator().manual_seed(0)
    compute = Compute(torch.device("cpu"), bfloat16=False)
    options = DrQV2Config(learning_rate=3e-3, std_steps=60, shift_pad=2)
    agent = DrQV2(networks, options, compute=compute, generator=generator)
    rng = np.random.default_rng(0)
    for step in range(80):
        sides, action = rng.choice([-1.0, 1.0], 32), rng.uniform(-1, 1, (32, 1))
        obs = pictures(sides, size)
        reward = -((action[:, 0] - 0.8 * sides) ** 2)
        numbers = [torch.from_numpy(x.astype(np.float32)) for x in (action, reward, 0 * reward)]
        agent.update(Batch(obs, *numbers, obs), step=step)
    actions = agent.policy(pictures([-1, 1], size).numpy())
    assert actions[:, 0] == pytest.approx([-0.8, 0.8], abs=0.3)
