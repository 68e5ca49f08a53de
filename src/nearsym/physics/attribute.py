"""Environments that keep everything in one array `state`, as Gymnasium's classic control does."""

from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.protocols import State, reset


def keeps_a_state(env: gym.Env) -> bool:
    """Whether the environment has an attribute `state` that a reset makes an array of numbers.

    >>> keeps_a_state(gym.make("Pendulum-v1"))
    True
    """
    reset(env, seed=0)
    state = np.asarray(getattr(env.unwrapped, "state", None))
    return state.ndim == 1 and state.dtype.kind == "f"


class AttributeStates(gym.Wrapper):
    """An environment whose attribute `state` is all that its future depends on.

    >>> env = AttributeStates(gym.make("Pendulum-v1"))
    >>> _ = env.reset(seed=0)
    >>> sorted(env.get_state())
    ['state']
    """

    def get_state(self) -> dict[str, np.ndarray]:
        """The array."""
        return {"state": np.array(self._inner.state, dtype=float)}

    def set_state(self, state: State) -> None:
        """Go on from there."""
        kind = type(self._inner.state)
        array = np.array(state["state"])
        self._inner.state = tuple(array) if kind is tuple else array

    @property
    def _inner(self) -> Any:
        return self.env.unwrapped
