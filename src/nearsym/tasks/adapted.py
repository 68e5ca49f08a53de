"""Environments as agents read them: actions in [−1, 1]ⁿ, observations as their space says."""

from typing import Any

import gymnasium
import numpy as np

from nearsym.errors import UsageError
from nearsym.protocols import reset, step


def adapted(name: str, env: gymnasium.Env) -> gymnasium.Env:
    """An environment with actions in [−1, 1]ⁿ and float32 or uint8 observations."""
    obs, action = env.observation_space, env.action_space
    if not isinstance(obs, gymnasium.spaces.Box) or len(obs.shape) not in (1, 3):
        raise UsageError(f"{name} must observe a vector or an image (a Box), got {obs}.")
    if not isinstance(action, gymnasium.spaces.Box) or not action.is_bounded():
        raise UsageError(f"{name} must take bounded continuous actions (a Box), got {action}.")
    if len(action.shape) != 1 or 0 in (*obs.shape, *action.shape):
        raise UsageError(
            f"{name} must take actions as a vector, and neither actions nor observations may be "
            f"empty; got actions of the shape {action.shape} and observations of {obs.shape}."
        )
    env = Checked(env)
    if not (np.all(action.low == -1) and np.all(action.high == 1)):
        env = UnitActions(env, np.float32(-1), np.float32(1))
    if len(obs.shape) == 3 and obs.dtype != np.uint8:
        raise UsageError(f"{name} must show images as uint8, got {obs.dtype}.")
    if len(obs.shape) == 1 and obs.dtype != np.float32:
        single = np.float32  # Gymnasium's DtypeObservation does the same with a warning
        space = gymnasium.spaces.Box(obs.low.astype(single), obs.high.astype(single), dtype=single)
        env = SingleObservations(env, lambda x: x.astype(single), space)
    return env


class Checked(gymnasium.ObservationWrapper):
    """Says in what an environment does not keep to its spaces or to Gymnasium's interface, and
    shows vectors as the kind of numbers that their space names."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        more = {} if options is None else {"options": options}
        obs, info = reset(self.env, seed=seed, **more)
        return self.observation(obs), info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = step(self.env, action)
        return self.observation(obs), reward, terminated, truncated, info

    def observation(self, observation: Any) -> np.ndarray:
        space, obs = self.observation_space, np.asarray(observation)
        kind: Any = space.dtype
        if obs.ndim == 1 and np.can_cast(obs.dtype, kind, "same_kind"):
            obs = obs.astype(kind, copy=False)
        if obs.shape != space.shape or obs.dtype != kind:
            raise UsageError(
                f"{type(self.unwrapped).__name__} shows an observation of the kind {obs.dtype} "
                f"{obs.shape}, and its observation_space says {space.dtype} {space.shape}."
            )
        return obs


class UnitActions(gymnasium.wrappers.RescaleAction):
    """Actions in [−1, 1]ⁿ around an environment that has other units."""


class SingleObservations(gymnasium.wrappers.TransformObservation):
    """Observations in float32 around an environment that shows other numbers."""


def own_spaces(env: gymnasium.Env) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """The spaces of observations and actions in the units of the environment's author."""
    while isinstance(env, Checked | UnitActions | SingleObservations):
        env = env.env
    observation, action = env.observation_space, env.action_space
    assert isinstance(observation, gymnasium.spaces.Box)
    assert isinstance(action, gymnasium.spaces.Box)
    return observation, action
