"""Any environment on a MuJoCo model, as states that can be read, set and observed."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.errors import UsageError
from nearsym.physics.model import Place, mujoco, physics_of, places_of, reference_positions
from nearsym.protocols import State

_INTEGRATED = ("qpos", "qvel", "act", "qacc_warmstart")
"""What a simulator step changes and the next one reads."""
_GIVEN = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "userdata")
"""What is handed to the simulator from outside."""


_FOLLOWERS = {
    "before_qpos": "qpos",
    "before_qvel": "qvel",
    "qacc_warmstart": "qvel",
    "before_qacc_warmstart": "qvel",
    "qfrc_applied": "qvel",
}


class ModelStates(gym.Wrapper):
    """An environment on a MuJoCo model with `get_state`, `set_state`, `observe`, `coordinates`.

    The state is all that MuJoCo integrates, the controls, and the same numbers before the last
    simulator step: MuJoCo leaves bodies' positions and contact forces where they were within that
    step, and Gymnasium's rewards and observations read them. `set_state` repeats the step, so
    whatever follows is what would have followed, bit for bit.

    What a task keeps outside the model (a goal in Python, a geom that a reset moves) is no part of
    it. With `repeat_last=False` a state begins afresh: bodies and forces are those of its
    positions, and a function that moves states need know nothing but `qpos`, `qvel` and `ctrl`.

    >>> env = ModelStates(gym.make("Swimmer-v5"))
    >>> obs, _ = env.reset(seed=0)
    >>> here = env.get_state()
    >>> one = env.step(np.array([0.5, -1.0]))
    >>> env.set_state(here)
    >>> bool(np.array_equal(one[0], env.step(np.array([0.5, -1.0]))[0]))
    True
    """

    def __init__(self, env: gym.Env, *, repeat_last: bool = True):
        super().__init__(env)
        self._repeat_last = repeat_last
        found = physics_of(env)
        if found is None:
            raise UsageError(
                f"{type(env.unwrapped).__name__} keeps no MuJoCo model: no `model` and `data`, and "
                "no `physics` of dm_control. Give it get_state and set_state."
            )
        self.model, self.data = found
        self._mujoco = mujoco()
        self._places = places_of(self.model)
        self.angles = tuple(place.name for place in self._places if place.angle)
        self.coordinate_places = {place.name: (place.key, place.index) for place in self._places}
        driven = env.action_space.shape == (self.model.nu,)
        self.followers = _FOLLOWERS | ({"ctrl": "action"} if driven else {})
        self._before: dict[str, np.ndarray] | None = None
        self._watched = hasattr(env.unwrapped, "_step_mujoco_simulation")
        if self._watched:
            env.unwrapped._step_mujoco_simulation = self._simulate  # type: ignore[attr-defined]

    @property
    def places(self) -> list[Place]:
        """Names of the coordinates, their joints, and where they stand in a state."""
        return self._places

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self._before = None
        return self.env.reset(**options)

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything the future depends on, as plain arrays."""
        state = self._read((*_INTEGRATED, *_GIVEN)) | {"time": np.array(self.data.time)}
        if not self._repeat_last:
            return state | {"qacc_warmstart": np.zeros(self.model.nv)}
        state["substeps"] = np.array(self._before is not None)
        before = self._read(_INTEGRATED) if self._before is None else self._before
        return state | {f"before_{name}": value.copy() for name, value in before.items()}

    def set_state(self, state: State) -> None:
        """Go on from a state that `get_state` gave."""
        self._check(state)
        self._write(state, _GIVEN)
        self._before = None
        if state.get("substeps", False):
            self._before = {name: np.array(state[f"before_{name}"]) for name in _INTEGRATED}
            self._write(self._before, _INTEGRATED)
            self._mujoco.mj_step(self.model, self.data)
            self._mujoco.mj_rnePostConstraint(self.model, self.data)
            self._write(state, _INTEGRATED)
        else:
            self._write(state, _INTEGRATED)
            self._mujoco.mj_forward(self.model, self.data)
            self._mujoco.mj_rnePostConstraint(self.model, self.data)
            self._write(state, ("qacc_warmstart",))
        self.data.time = float(state["time"])

    def observe(self) -> np.ndarray:
        """The observation of the present state, inside all wrappers."""
        inner: Any = self.env.unwrapped
        return np.array(inner._get_obs() if hasattr(inner, "_get_obs") else inner.observe())

    def coordinates(self, state: State) -> dict[str, float]:
        """Positions and velocities of the joints, by name."""
        return {place.name: float(state[place.key][place.index]) for place in self._places}

    def reference_state(self) -> dict[str, np.ndarray]:
        """A state that every symmetry of the model keeps: at rest, limited joints in the middle of
        their ranges, and high enough to touch nothing."""
        state = self.get_state() | {"substeps": np.array(False), "time": np.array(0.0)}
        state |= {name: np.zeros_like(getattr(self.data, name)) for name in (*_INTEGRATED, *_GIVEN)}
        return state | {"qpos": reference_positions(self.model)}

    def _simulate(self, ctrl: np.ndarray, n_frames: int) -> None:
        """As Gymnasium steps a model, the last simulator step apart."""
        self.data.ctrl[:] = ctrl
        if n_frames > 1:
            self._mujoco.mj_step(self.model, self.data, nstep=n_frames - 1)
        self._before = self._read(_INTEGRATED)
        self._mujoco.mj_step(self.model, self.data)
        self._mujoco.mj_rnePostConstraint(self.model, self.data)

    def _read(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: getattr(self.data, name).copy() for name in names}

    def _write(self, state: Mapping[str, np.ndarray], names: tuple[str, ...]) -> None:
        for name in names:
            getattr(self.data, name)[:] = state[name]

    def _check(self, state: State) -> None:
        for name in (*_INTEGRATED, *_GIVEN):
            shape, given = getattr(self.data, name).shape, state.get(name)
            if given is None or np.shape(given) != shape or not np.isfinite(given).all():
                raise UsageError(
                    f"This is no state of {type(self.env.unwrapped).__name__}: it needs {name!r} "
                    f"of shape {shape} with finite numbers. Pass what get_state() gave."
                )
