"""A policy played over whole episodes."""

from collections.abc import Callable, Iterator
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
    env: gymnasium.Env,
    *,
    episodes: int,
    seed: int,
    keep_infos: bool = False,
    on_step: Callable[[], None] = lambda: None,
) -> Iterator[Episode]:
    """Play episodes one by one. Episode i starts from seed + i, so that agents can be compared
    on the same starts. `policy` maps a batch of observations to a batch of actions.

    >>> def still(obs):
    ...     return np.zeros((len(obs), 1))
    >>> env = gymnasium.make("Pendulum-v1", max_episode_steps=5)
    >>> [episode.length for episode in rollouts(still, env, episodes=2, seed=0)]
    [5, 5]
    """
    for episode in range(episodes):
        obs, first = env.reset(seed=seed + episode)
        total, length, done = 0.0, 0, False
        infos = [first] if keep_infos else []
        _check("observation", obs)
        while not done:
            action = policy(np.asarray(obs)[None])[0]
            _check("action", action)
            obs, reward, terminated, truncated, info = env.step(action)
            _check("observation", obs)
            _check("reward", np.asarray(reward))
            total, length, done = total + float(reward), length + 1, terminated or truncated
            if length == LONGEST_EPISODE and not done:
                raise RunError(
                    f"An evaluation has played {length:,} steps and its episode does not end. "
                    "Give the environment an end, say gymnasium.wrappers.TimeLimit."
                )
            if keep_infos:
                infos.append(info)
            on_step()
        yield Episode(total, length, infos)


def _check(name: str, value: np.ndarray) -> None:
    if not all_finite(np.asarray(value)):
        raise RunError(f"An evaluation met a number that is not finite, in its {name}.")


def all_finite(value: np.ndarray) -> bool:
    """Whether no entry is infinite or not a number; bytes never are."""
    return value.dtype == np.uint8 or bool(np.isfinite(value).all())
