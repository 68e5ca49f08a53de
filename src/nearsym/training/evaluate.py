"""A policy played over whole episodes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from nearsym.errors import RunError

LONGEST_EPISODE = 100_000
"""Steps after which an evaluation stops waiting for the end of an episode."""


class Episode(NamedTuple):
    """One episode: its return, its length, and, if asked for, the infos of its start and steps.

    >>> Episode(total=12.5, length=40, infos=[]).total
    12.5
    """

    total: float
    length: int
    infos: list[dict[str, Any]]


def rollouts(
    policy: Callable[[np.ndarray], np.ndarray],
    env: gymnasium.Env | Sequence[gymnasium.Env],
    *,
    episodes: int,
    seed: int,
    keep_infos: bool = False,
    on_step: Callable[[], None] = lambda: None,
) -> Iterator[Episode]:
    """Play episodes one by one, or as many at a time as there are environments, which is faster:
    `policy` maps a batch of observations to a batch of actions. Episode i starts from seed + i, so
    that agents can be compared on the same starts.

    >>> def still(obs):
    ...     return np.zeros((len(obs), 1))
    >>> env = gymnasium.make("Pendulum-v1", max_episode_steps=5)
    >>> [episode.length for episode in rollouts(still, env, episodes=2, seed=0)]
    [5, 5]
    """
    envs = [env] if isinstance(env, gymnasium.Env) else list(env)
    for first in range(0, episodes, len(envs)):
        here = envs[: episodes - first]
        played = [_Playing(one, seed + first + i, keep_infos) for i, one in enumerate(here)]
        while running := [one for one in played if not one.done]:
            actions = policy(np.stack([one.obs for one in running]))
            for one, action in zip(running, actions, strict=True):
                one.step(action)
                on_step()
        yield from (one.episode() for one in played)


class _Playing:
    """An episode being played."""

    def __init__(self, env: gymnasium.Env, seed: int, keep_infos: bool):
        self.env = env
        obs, first = env.reset(seed=seed)
        self.obs = np.asarray(obs)
        _check("observation", self.obs)
        self.total, self.length, self.done = 0.0, 0, False
        self.infos = [first] if keep_infos else None

    def step(self, action: np.ndarray) -> None:
        _check("action", action)
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.obs = np.asarray(obs)
        _check("observation", self.obs)
        _check("reward", np.asarray(reward))
        self.total += float(reward)
        self.length += 1
        self.done = terminated or truncated
        if self.length == LONGEST_EPISODE and not self.done:
            raise RunError(
                f"An evaluation has played {self.length:,} steps and its episode does not end. "
                "Give the environment an end, say gymnasium.wrappers.TimeLimit."
            )
        if self.infos is not None:
            self.infos.append(info)

    def episode(self) -> Episode:
        return Episode(self.total, self.length, self.infos or [])


def _check(name: str, value: np.ndarray) -> None:
    if not all_finite(np.asarray(value)):
        raise RunError(f"An evaluation met a number that is not finite, in its {name}.")


def all_finite(value: np.ndarray) -> bool:
    """Whether no entry is infinite or not a number; bytes never are."""
    return value.dtype == np.uint8 or bool(np.isfinite(value).all())
