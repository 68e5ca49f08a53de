"""What an environment needs to go on where a run was saved."""

from collections.abc import Iterator
from typing import Any

import gymnasium
from gymnasium.wrappers import TimeLimit

from nearsym.protocols import Resumable, layer_of


def environment_state(env: gymnasium.Env) -> dict[str, Any]:
    """The environment's own state, None if it is not `Resumable`, and the steps its time limits
    have counted, which are no part of it.

    >>> environment_state(gymnasium.make("Pendulum-v1", max_episode_steps=200))
    {'environment': None, 'elapsed': [None]}
    """
    inner = _resumable(env)
    return {
        "environment": None if inner is None else dict(inner.get_state()),
        "elapsed": [limit._elapsed_steps for limit in _time_limits(env)],
    }


def set_environment_state(env: gymnasium.Env, state: dict[str, Any]) -> bool:
    """The inverse of `environment_state`; False, and nothing done, if there is no state to set."""
    inner = _resumable(env)
    if inner is None or state["environment"] is None:
        return False
    inner.set_state(state["environment"])
    for limit, elapsed in zip(_time_limits(env), state["elapsed"], strict=True):
        if type(elapsed) not in (int, type(None)):
            raise ValueError(f"a time limit has counted {elapsed!r} steps")
        limit._elapsed_steps = elapsed
    return True


def _resumable(env: gymnasium.Env) -> Resumable | None:
    return layer_of(env, Resumable)


def _time_limits(env: gymnasium.Env) -> Iterator[TimeLimit]:
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TimeLimit):
            yield env
        env = env.env
