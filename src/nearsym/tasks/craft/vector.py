"""Many crafts at once: the same numbers as `CraftEnv`, bit for bit, in batches."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from jaxtyping import Bool, Float

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.group import FiniteGroup
from nearsym.tasks.craft import checks
from nearsym.tasks.craft.dynamics import EPISODE, rewards, start
from nearsym.tasks.craft.environment import ACTIONS, NAMES, action_space, state_space
from nearsym.tasks.craft.variants import parse_variant


class CraftVectorEnv(gym.vector.VectorEnv):
    """`num_envs` crafts with state observations, stepped together.

    Each has its own random numbers: reset with the seed s, craft i is a `CraftEnv` reset with
    s + i. A craft whose episode is over begins anew with the next step, whose action it ignores and
    whose reward is 0 (Gymnasium's `AutoresetMode.NEXT_STEP`).
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        variant: str | None = None,
        actions: str = "box",
        group: FiniteGroup | None = None,
    ):
        if actions not in ACTIONS:
            raise unknown_name("action kind", actions, ACTIONS)
        self.num_envs = checks.checked_count("num_envs", num_envs)
        self.variant = parse_variant(variant)
        self.dynamics = self.variant.dynamics
        self._disc = actions == "disc"
        self.symmetry = checks.declared_symmetry(group, pixels=False, disc=self._disc)
        self.observation_names = NAMES
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space, self.single_action_space = state_space(), action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._generators: list[np.random.Generator] = []
        self._state = np.zeros((4, self.num_envs))
        self._steps = np.zeros(self.num_envs, np.int64)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin anew, all of them or those of `options["reset_mask"]`."""
        which = self._checked_mask(options)
        seeds = self._checked_seeds(seed)
        if not self._generators:
            self._generators = [seeding.np_random(s)[0] for s in seeds]
        else:
            for i in np.flatnonzero(which):
                if seeds[i] is not None:
                    self._generators[i] = seeding.np_random(seeds[i])[0]
        self._begin(which)
        return self._observations(), self._infos(np.zeros(self.num_envs, np.int64), which)

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        ax, ay = self._checked_actions(actions)
        over = self._steps >= EPISODE
        x, y, vx, vy = self._state
        self._state = np.stack(self.dynamics.advance(x, y, vx, vy, ax, ay))
        self._steps += 1
        earned = rewards(self._state[0], self._state[1])
        if over.any():
            self._begin(over)
            earned[over] = 0.0
        truncated = self._steps >= EPISODE
        infos = self._infos((~over).astype(np.int64), np.ones(self.num_envs, bool))
        return self._observations(), earned, np.zeros(self.num_envs, bool), truncated, infos

    def _begin(self, which: Bool[np.ndarray, "envs"]) -> None:
        for i in np.flatnonzero(which):
            self._state[:2, i] = start(self._generators[i], self._disc)
        self._state[2:, which] = 0.0
        self._steps[which] = 0

    def _observations(self) -> np.ndarray:
        return self._state.T.astype(np.float32, order="C")

    def _infos(self, steps: np.ndarray, which: Bool[np.ndarray, "envs"]) -> dict[str, Any]:
        return {"environment_steps": steps, "_environment_steps": which}

    def _checked_actions(
        self, actions: Any
    ) -> tuple[Float[np.ndarray, "envs"], Float[np.ndarray, "envs"]]:
        if not self._generators:
            raise UsageError("No episode has begun: call reset() before step().")
        values = checks.numbers(actions, (self.num_envs, 2))
        ax, ay = np.ascontiguousarray(values.T)
        if self._disc:
            square = ax * ax + ay * ay
            self._refuse(values, square <= 2 * checks.LIMIT**2)
            size = np.sqrt(np.maximum(square, 1.0))
            return ax / size, ay / size
        self._refuse(values, np.abs(values).max(axis=1) <= checks.LIMIT)
        return np.clip(ax, -1.0, 1.0), np.clip(ay, -1.0, 1.0)

    def _refuse(self, values: np.ndarray, fine: Bool[np.ndarray, "envs"]) -> None:
        if not fine.all():  # comparisons with NaN are false
            raise checks.outside(values[int(np.argmin(fine))].tolist(), self._disc)

    def _checked_seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise UsageError(
                f"`seed` is one number or one for each of {self.num_envs} environments, "
                f"got {len(seed)}."
            )
        return list(seed)

    def _checked_mask(self, options: dict[str, Any] | None) -> Bool[np.ndarray, "envs"]:
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, bool)
        mask = np.asarray(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise UsageError(
                f"`reset_mask` is {self.num_envs} truth values, one of them true at least, "
                f"got {mask.dtype} of shape {mask.shape}."
            )
        if not self._generators and not mask.all():
            raise UsageError("No episode has begun: call reset() for all before a `reset_mask`.")
        return mask
