"""Whole episodes of a policy."""

import math

import gymnasium
import numpy as np
import pytest

from nearsym.errors import RunError
from nearsym.training import evaluate
from nearsym.training.evaluate import rollouts


class Countdown(gymnasium.Env):
    """As many steps as the seed says; the reward is the action."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = seed
        return np.array([self.left], np.float32), {"start": seed}

    def step(self, action):
        self.left -= 1
        obs = np.array([self.left], np.float32)
        return obs, float(action[0]), self.left == 0, False, {"left": self.left}


def test_episode_i_starts_from_seed_plus_i():
    played = list(rollouts(lambda obs: 2 * obs, Countdown(), episodes=3, seed=2))
    assert [episode.length for episode in played] == [2, 3, 4]
    assert [episode.total for episode in played] == [6.0, 12.0, 20.0]  # 2·(n + … + 1)
    assert all(episode.infos == [] for episode in played)


def test_infos_and_steps_on_request():
    steps = []
    (episode,) = rollouts(
        lambda obs: obs,
        Countdown(),
        episodes=1,
        seed=3,
        keep_infos=True,
        on_step=lambda: steps.append(1),
    )
    assert episode.infos == [{"start": 3}, {"left": 2}, {"left": 1}, {"left": 0}]
    assert len(steps) == 3


def test_numbers_that_are_not_finite_are_neither_shown_nor_played():
    class Blind(Countdown):
        def step(self, action):
            _, *rest = super().step(action)
            return np.array([np.nan], np.float32), *rest

    class Unpaid(Countdown):
        def step(self, action):
            obs, _, *rest = super().step(action)
            return obs, math.inf, *rest

    def still(obs):
        return np.zeros((1, 1))

    for policy, env, name in (
        (still, Blind(), "observation"),
        (still, Unpaid(), "reward"),
        (lambda obs: obs * np.inf, Countdown(), "action"),
    ):
        with pytest.raises(RunError, match=f"not finite, in its {name}"):
            list(rollouts(policy, env, episodes=1, seed=1))


def test_an_episode_without_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(evaluate, "LONGEST_EPISODE", 50)
    assert len(list(rollouts(lambda obs: obs, Countdown(), episodes=1, seed=50))) == 1
    with pytest.raises(RunError, match=r"played 50 steps and its episode does not end.*TimeLimit"):
        list(rollouts(lambda obs: obs, Countdown(), episodes=1, seed=51))


def test_a_truncated_episode_ends_too():
    env = gymnasium.wrappers.TimeLimit(Countdown(), 2)
    (episode,) = rollouts(lambda obs: obs, env, episodes=1, seed=50)
    assert episode.length == 2


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_side_by_side_is_one_by_one(count):
    """Episodes of different lengths, more of them than environments or fewer."""
    sizes, steps = [], []

    def policy(obs):
        sizes.append(len(obs))
        return 2 * obs

    options = {"episodes": 5, "seed": 2, "keep_infos": True}
    alone = list(rollouts(policy, Countdown(), **options))
    assert set(sizes) == {1}
    sizes.clear()
    envs = [Countdown() for _ in range(count)]
    assert list(rollouts(policy, envs, **options, on_step=lambda: steps.append(1))) == alone
    assert max(sizes) == min(count, 5)
    assert len(steps) == sum(episode.length for episode in alone)
