"""Returns of a policy over whole episodes, with an honest interval."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np


class Episode(NamedTuple):
    """One episode: its return, its length, and, if asked for, the infos of its start and steps."""

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
    on the same starts. `policy` maps a batch of observations to a batch of actions."""
    for episode in range(episodes):
        obs, first = env.reset(seed=seed + episode)
        total, length, done = 0.0, 0, False
        infos = [first] if keep_infos else []
        while not done:
            obs, reward, terminated, truncated, info = env.step(policy(obs[None])[0])
            total, length, done = total + float(reward), length + 1, terminated or truncated
            if keep_infos:
                infos.append(info)
            on_step()
        yield Episode(total, length, infos)


def bootstrap_interval(
    values: np.ndarray, *, level: float = 0.95, draws: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """A percentile bootstrap interval of the mean.

    >>> bootstrap_interval(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(values), size=(draws, len(values)))
    means = np.asarray(values, float)[picks].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
