"""Gymnasium's MuJoCo tasks as environments that declare their symmetry."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nearsym.errors import MissingExtraError, UsageError, shown, unknown_name
from nearsym.groups.symmetry import Symmetry
from nearsym.physics.body import BodyMove
from nearsym.physics.states import ModelStates
from nearsym.protocols import State
from nearsym.tasks.robots.domain import Domain
from nearsym.tasks.robots.domains import DOMAINS
from nearsym.tasks.robots.variants import parse_variant
from nearsym.training.random_state import check_packed, pack_generator, unpack_generator

QUARTER = np.pi / 2
FAR = 1e6
"""Observations have no natural bound; this one is far outside what they reach, and finite."""
_OF_POSITIONS = ("qpos", "before_qpos")
_OF_VELOCITIES = ("qvel", "before_qvel", "qacc_warmstart", "before_qacc_warmstart", "qfrc_applied")


class RobotEnv(gym.Env):
    """One of Gymnasium's MuJoCo tasks: its steps, rewards and observations, and how a group moves
    them. Actions are scaled to [−1, 1], observations are in float32."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (Gymnasium's own)

    def __init__(self, task: str, *, variant: str | None = None, render_mode: str | None = None):
        if task not in DOMAINS:
            raise unknown_name("robot", task, DOMAINS)
        if render_mode not in (None, "rgb_array"):
            raise unknown_name("render mode", render_mode, ("rgb_array",))
        self.domain, self.render_mode = DOMAINS[task], render_mode
        self.variant = parse_variant(variant, self.domain)
        self._inner, self.max_episode_steps = _gymnasium_task(self.domain, render_mode)
        self._states = ModelStates(self._inner)
        self.variant.change(self.model)
        self.metadata = self._inner.metadata | {"render_modes": ["rgb_array"]}
        group = self.domain.group
        self._moves = [self.domain.move(self.model, g) for g in range(group.order)]
        self.symmetry = self._symmetry(self._moves)
        self._turns = [self.domain.quarter_turns(self.model, g) for g in range(group.order)]
        self.coordinate_places = self._states.coordinate_places
        self.angles, self.followers = self._states.angles, self._states.followers
        self._high = np.array(self._inner.action_space.high, dtype=float)
        self.action_space = spaces.Box(-1.0, 1.0, self._high.shape, np.float32)
        shape = self._inner.observation_space.shape
        self.observation_space = spaces.Box(-FAR, FAR, shape, np.float32)
        self._steps, self._running = 0, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        obs, info = self._states.reset(seed=seed)  # drawn as Gymnasium's task draws it
        self._steps, self._running = 0, True
        return np.asarray(obs, dtype=np.float32), info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self._running:
            raise UsageError("The episode has not begun or is over: call reset() before step().")
        given = np.asarray(action)
        numeric = given.shape == self._high.shape and given.dtype.kind in "biuf"
        if not numeric or not (np.abs(given) <= 1 + 1e-6).all():
            raise UsageError(
                f"An action of {self.domain.name} has shape {self._high.shape} and lies in "
                f"[-1, 1], got {shown(given.tolist())}. Nothing was simulated."
            )
        given = given.astype(float)
        self.variant.before_step(self.model, given)
        scaled = self._high * np.clip(given, -1.0, 1.0)
        obs, reward, terminated, _, info = self._states.step(scaled)
        self._steps += 1
        truncated = self._steps >= self.max_episode_steps
        self._running = not (terminated or truncated)
        return np.asarray(obs, np.float32), float(reward), bool(terminated), truncated, info

    def render(self) -> np.ndarray | None:
        return None if self.render_mode is None else self._inner.render()

    def close(self) -> None:
        self._inner.close()

    def observe(self) -> np.ndarray:
        """The observation of the present state."""
        return self._states.observe().astype(np.float32)

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything the future depends on, as plain arrays."""
        return self._states.get_state() | {
            "steps": np.array(self._steps),
            "running": np.array(self._running),
            "task_random": pack_generator(self._inner.np_random),
        }

    def set_state(self, state: State) -> None:
        """Go on from a state that `get_state` gave, bit for bit."""
        self._check_state(state)
        self.variant.before_step(self.model, np.asarray(state["ctrl"]))
        self._states.set_state(state)
        self._steps, self._running = int(state["steps"]), bool(state["running"])
        unpack_generator(self._inner.np_random, state["task_random"])

    def _check_state(self, state: State) -> None:
        """Refuse what `get_state` cannot have given, before anything is changed by it."""
        if not isinstance(state, Mapping):
            raise UsageError(f"A state is what get_state() gave, got {type(state).__name__}.")
        check_packed(state.get("task_random"))
        for name, now in self.get_state().items():
            given = np.asarray(state.get(name))
            if given.shape != now.shape or given.dtype.kind not in "biuf":
                raise UsageError(
                    f"The entry {name!r} of a state has shape {now.shape} and real numbers, got "
                    f"{given.dtype} of shape {given.shape}. Nothing was changed."
                )
            if not np.isfinite(given).all():
                raise UsageError(
                    f"The entry {name!r} of a state is not finite. Nothing was changed."
                )

    def reference_state(self) -> dict[str, np.ndarray]:
        """A state that every symmetry of the model keeps."""
        return self.get_state() | self._states.reference_state() | {"running": np.array(True)}

    def transform(self, g: int, state: State) -> dict[str, np.ndarray]:
        """g·s of a full state."""
        move, moved = self._moves[g], dict(state)
        for name in _OF_POSITIONS:
            moved[name] = move.qpos(np.asarray(state[name])) + QUARTER * self._turns[g]
        for name in _OF_VELOCITIES:
            moved[name] = move.qvel(np.asarray(state[name]))
        return moved | {"ctrl": move.ctrl(np.asarray(state["ctrl"]))}

    def coordinates(self, state: State) -> dict[str, float]:
        """Positions and velocities of the joints, by name."""
        return self._states.coordinates(state)

    @property
    def model(self) -> Any:
        """The MuJoCo model."""
        return self._states.model

    @property
    def data(self) -> Any:
        """The model's present state."""
        return self._states.data

    def _symmetry(self, moves: list[BodyMove]) -> Symmetry:
        group = self.domain.group
        shown = [self.domain.shows(self.model, move, g) for g, move in enumerate(moves)]
        actions = [move.ctrl.matrix for move in moves]
        return Symmetry(
            group.representation(shown, "state"), group.representation(actions, "motors")
        )


def _gymnasium_task(domain: Domain, render_mode: str | None) -> tuple[Any, int]:
    """Gymnasium's own environment without its wrappers, and how long its episodes are."""
    try:
        env = gym.make(domain.gymnasium_id, render_mode=render_mode, **domain.options)
    except (ImportError, gym.error.DependencyNotInstalled) as error:
        raise MissingExtraError(f"The task {domain.name}", "dmc") from error
    assert env.spec is not None
    assert env.spec.max_episode_steps is not None
    return env.unwrapped, env.spec.max_episode_steps
