"""A dm_control environment as a Gymnasium environment."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class DmControlEnv(gym.Env):
    """A task of dm_control's suite, or any `dm_control.rl.control.Environment`.

    Observations are its own, flattened into one vector in their order; rewards, terminations and
    the number of simulator steps in a step are the task's. Its episodes end with its time limit.
    """

    def __init__(self, env: Any):
        self.physics, self.task = env.physics, env.task
        self._env = env
        self._substeps = round(env.control_timestep() / self.physics.timestep())
        self._longest = getattr(env, "_step_limit", np.inf)
        spec = env.action_spec()
        low, high = (np.broadcast_to(b, spec.shape) for b in (spec.minimum, spec.maximum))
        self.action_space = spaces.Box(
            low.astype(np.float64), high.astype(np.float64), dtype=np.float64
        )
        self._steps = 0
        env.reset()
        self.observation_space = spaces.Box(-np.inf, np.inf, self.observe().shape, np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None and hasattr(self.task, "random"):
            self.task.random.seed(seed % 2**32)
        with self.physics.reset_context():
            self.task.initialize_episode(self.physics)
        self._steps = 0
        return self.observe(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.task.before_step(np.asarray(action, dtype=float), self.physics)
        self.physics.step(self._substeps)
        self.task.after_step(self.physics)
        self._steps += 1
        ended = self.task.get_termination(self.physics) is not None
        reward = float(self.task.get_reward(self.physics))
        return self.observe(), reward, ended, self._steps >= self._longest, {}

    def observe(self) -> np.ndarray:
        """The observation of the present state."""
        entries = self.task.get_observation(self.physics).values()
        return np.concatenate([np.ravel(entry) for entry in entries]).astype(np.float64)
