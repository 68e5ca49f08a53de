"""One dm_control task, stepped, saved, restored and moved by its symmetry."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearsym.errors import MissingExtraError, UsageError
from nearsym.tasks.control import opengl
from nearsym.tasks.control.domain import Domain
from nearsym.tasks.control.variants import Variant

EPISODE = 1000
"""Environment steps in an episode, whatever a variant does with them."""


class Simulation:
    """dm_control's physics, task and rewards, with a variant between action and motor.

    Original tasks go through dm_control's own `before_step`, `step` and `get_reward`, so rewards
    are dm_control's bit for bit. A full state is `qpos`, `qvel`, the solver's warm start, the last
    control, the time, the target, the number of steps taken and the task's random state.
    """

    def __init__(self, domain: Domain, variant: Variant):
        suite = _suite()
        env = suite.load(domain.domain, domain.task)
        self.domain, self.variant = domain, variant
        self.physics, self.task = env.physics, env.task
        self._substeps = round(env.control_timestep() / self.physics.timestep())
        self.seconds_per_step: float = env.control_timestep()
        self.steps = 0
        # Tasks size their scene when an episode begins; a state may be restored before the first.
        self.seed(0)
        self.reset()
        if variant.gravity is not None:
            self.physics.model.opt.gravity[:] = variant.gravity
        self._data = self.physics.data.ptr
        self._model = self.physics.model.ptr
        self._target_geom = self._model.geom("target").id if domain.has_target else -1

    def seed(self, seed: int) -> None:
        """Bind the task's random numbers, as `suite.load(…, task_kwargs={"random": seed})` does."""
        self.task.random.seed(seed)

    def reset(self) -> None:
        """Begin an episode."""
        with self.physics.reset_context():
            self.task.initialize_episode(self.physics)
        self.steps = 0

    def advance(self, action: np.ndarray) -> float:
        """One environment step, or two where the variant repeats the action; the summed reward."""
        inside = self.variant.inside(self._data.qpos)
        if inside and self.variant.name == "reflect_action":
            action = -action
        repeats = 2 if inside and self.variant.name == "repeat_action" else 1
        reward = 0.0
        for _ in range(min(repeats, EPISODE - self.steps)):
            reward += self._step(action)
        return reward

    def _step(self, action: np.ndarray) -> float:
        self._set_gain(action)
        self.task.before_step(action, self.physics)
        self.physics.step(self._substeps)
        self.task.after_step(self.physics)
        self.steps += 1
        return float(self.task.get_reward(self.physics))

    def _set_gain(self, action: np.ndarray) -> None:
        # The gain and not the control, which the motor would clip and cartpole's reward reads.
        if self.variant.name == "wear":
            self._model.actuator_gainprm[0, 0] = self.variant.gain(action[0])

    @property
    def configuration(self) -> np.ndarray:
        """qpos, then the target's x and y where there is one."""
        return np.concatenate([self._data.qpos, self._target()])

    def observation(self) -> np.ndarray:
        """dm_control's observation as one vector, as the domain shows it."""
        entries = [np.ravel(v) for v in self.task.get_observation(self.physics).values()]
        return self.domain.show(np.concatenate(entries)).astype(np.float32)

    def get_state(self) -> dict[str, np.ndarray]:
        data = self._data
        _, keys, position, has_gauss, gauss = self.task.random.get_state()
        return {
            "qpos": data.qpos.copy(),
            "qvel": data.qvel.copy(),
            "warmstart": data.qacc_warmstart.copy(),
            "control": data.ctrl.copy(),
            "time": np.array(data.time),
            "target": self._target(),
            "steps": np.array(self.steps),
            "task_random": np.append(keys.astype(np.int64), [position, has_gauss]),
            "task_random_gauss": np.array(gauss),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self._check_state(state)
        data = self._data
        data.qpos[:], data.qvel[:] = state["qpos"], state["qvel"]
        data.ctrl[:], data.time = state["control"], float(state["time"])
        if self.domain.has_target:
            self._model.geom_pos[self._target_geom, :2] = state["target"]
        self._set_gain(state["control"])
        self.physics.forward()
        data.qacc_warmstart[:] = state["warmstart"]
        self.steps = int(state["steps"])
        *keys, position, has_gauss = (int(i) for i in state["task_random"])
        gauss = float(state["task_random_gauss"])
        self.task.random.set_state(
            ("MT19937", np.array(keys, np.uint32), position, has_gauss, gauss)
        )

    def transform(self, g: int, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """g·s: the configuration, velocities and control move, the rest stays."""
        domain, joints = self.domain, len(self.domain.joints)
        configuration = np.concatenate([state["qpos"], state["target"]])
        moved = domain.move_configuration(g, configuration)
        return state | {
            "qpos": moved[:joints],
            "target": moved[joints:],
            "qvel": domain.move_velocity(g, state["qvel"]),
            "warmstart": domain.move_velocity(g, state["warmstart"]),
            "control": domain.action.act(g, state["control"]),
        }

    def _check_state(self, state: dict[str, np.ndarray]) -> None:
        """Refuse a state of another task before anything is changed."""
        for name, own in self.get_state().items():
            check_numbers(state, name, own.shape, self.domain.name)
        keys, (position, has_gauss) = np.split(np.asarray(state["task_random"]), [-2])
        known = keys.min() >= 0 and keys.max() < 2**32 and 0 <= position <= len(keys)
        if not (known and has_gauss in (0, 1) and 0 <= state["steps"] <= EPISODE):
            raise UsageError(
                f"This is no state of {self.domain.name}: its steps or its random numbers are out "
                "of range. Pass what get_state() gave."
            )

    def _target(self) -> np.ndarray:
        if not self.domain.has_target:
            return np.empty(0)
        return self._model.geom_pos[self._target_geom, :2].copy()


def check_numbers(state: Mapping[str, Any], name: str, shape: tuple[int, ...], task: str) -> None:
    """Refuse an entry of a state that is no array of finite numbers of this shape."""
    given = np.asarray(state[name]) if name in state else None
    if given is None or given.shape != shape or given.dtype.kind not in "biuf":
        found = "nothing" if given is None else f"{given.dtype} {given.shape}"
        raise UsageError(
            f"This is no state of {task}: it needs {name!r} of shape {shape}, got {found}. Pass "
            "what get_state() gave."
        )
    if not np.isfinite(given).all():
        raise UsageError(
            f"This is no state of {task}: {name!r} is not finite. Nothing was changed."
        )


def _suite() -> Any:
    """dm_control's suite, whose import opens an OpenGL display."""
    opengl.prepare()
    try:
        from dm_control import suite
    except ModuleNotFoundError as error:
        if error.name not in ("dm_control", "mujoco"):
            raise
        raise MissingExtraError("A control task", "dmc") from error
    except (ImportError, AttributeError, RuntimeError) as error:
        raise opengl.no_opengl(error) from error
    return suite
