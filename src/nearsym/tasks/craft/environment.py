"""The craft as a Gymnasium environment that declares its symmetry."""

import math
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.group import FiniteGroup
from nearsym.protocols import State
from nearsym.tasks.craft import checks
from nearsym.tasks.craft.drawing import Painter
from nearsym.tasks.craft.dynamics import (
    EPISODE,
    FARTHEST,
    FASTEST,
    STEP,
    SUBSTEPS,
    reward,
    start,
)
from nearsym.tasks.craft.variants import parse_variant
from nearsym.tasks.frames import pushed, with_noise
from nearsym.training.random_state import pack_generator, unpack_generator

VIDEO_SIZE = 256
NAMES = ("x", "y", "velocity x", "velocity y")
"""The coordinates of a state, and the entries of the observation."""
ACTIONS = ("box", "disc")


class CraftEnv(gym.Env):
    """A craft with two thrusters flies to the origin of the plane and stays there.

    The observation is (x, y, velocity x, velocity y) in float32, or uint8 pixels (size, size,
    3·frame_stack), the oldest frame first, in which only the stack shows the velocity. The state
    behind it is in float64. An action is the power of the two thrusters in [−1, 1]². Episodes
    begin at rest and are truncated after 120 agent steps; an agent step, two steps of the
    simulation under one action, is one frame and counts as one environment step.

    D4 moves positions, velocities and actions alike, by signed permutations, and the original obeys
    it to the last bit. With `actions="disc"` the action is scaled back onto the unit disc where it
    lies outside, episodes begin in a disc, and all rotations and mirrors of the plane are
    symmetries, to rounding; `group` may then declare any finite group of them. `variant` breaks a
    part of the symmetry (see `nearsym.tasks.craft.variants`).

    `noise` is the standard deviation of Gaussian noise on pictures in [0, 1], drawn once for each
    frame when it enters the stack.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own)
        "render_modes": ["rgb_array"],
        "render_fps": round(1 / (STEP * SUBSTEPS)),
    }
    angles: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        variant: str | None = None,
        obs: str = "state",
        size: int = 51,
        frame_stack: int = 3,
        noise: float = 0.0,
        actions: str = "box",
        group: FiniteGroup | None = None,
        render_mode: str | None = None,
    ):
        if obs not in ("pixels", "state"):
            raise unknown_name("observation kind", obs, ("pixels", "state"))
        if actions not in ACTIONS:
            raise unknown_name("action kind", actions, ACTIONS)
        if render_mode not in (None, "rgb_array"):
            raise unknown_name("render mode", render_mode, ("rgb_array",))
        self.variant = parse_variant(variant)
        self.dynamics = self.variant.dynamics
        self.render_mode = render_mode
        self._disc = actions == "disc"
        self._noise = checks.checked_noise(noise, obs)
        pixels = obs == "pixels"
        self.symmetry = checks.declared_symmetry(group, pixels=pixels, disc=self._disc)
        self.action_space = action_space()
        size, stack = checks.checked_size(size), checks.checked_count("frame_stack", frame_stack)
        self._x = self._y = self._vx = self._vy = 0.0
        self._steps = EPISODE  # no episode is running
        self._frames: np.ndarray | None = None
        if pixels:
            self.observation_space = spaces.Box(0, 255, (size, size, 3 * stack), np.uint8)
            self._painter = Painter(size)
            self._frames = np.tile(self._painter.paint(0.0, 0.0), stack)
        else:
            self.observation_space = state_space()
            self.observation_names = NAMES

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._x, self._y = start(self.np_random, self._disc)
        self._vx = self._vy = 0.0
        self._steps = 0
        if self._frames is not None:
            stack = self._frames.shape[-1] // 3
            self._frames = np.tile(self._frame(), stack)
        return self.observe(), {"environment_steps": 0}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        ax, ay = self._checked_action(action)
        self._x, self._y, self._vx, self._vy = self.dynamics.advance(
            self._x, self._y, self._vx, self._vy, ax, ay
        )
        self._steps += 1
        if self._frames is not None:
            self._frames = pushed(self._frames, self._frame())
        truncated = self._steps >= EPISODE
        return self.observe(), reward(self._x, self._y), False, truncated, {"environment_steps": 1}

    def render(self) -> np.ndarray | None:
        """The scene as it is now, without noise, in video size."""
        if self.render_mode != "rgb_array":
            return None
        return self._video_painter.paint(self._x, self._y)

    def observe(self) -> np.ndarray:
        """The observation of the present state."""
        if self._frames is not None:
            return self._frames.copy()
        return np.array((self._x, self._y, self._vx, self._vy), np.float32)

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything the future depends on, as plain arrays."""
        state = {
            "position": np.array([self._x, self._y]),
            "velocity": np.array([self._vx, self._vy]),
            "steps": np.array(self._steps),
            "random": pack_generator(self.np_random),
        }
        if self._frames is not None:
            state["frames"] = self._frames.copy()
        return state

    def set_state(self, state: State) -> None:
        """Go on from a state that `get_state` gave, bit for bit, in this or another process."""
        checks.check_state(state, None if self._frames is None else self._frames.shape)
        unpack_generator(self.np_random, state["random"])
        self._x, self._y = _floats(state["position"])
        self._vx, self._vy = _floats(state["velocity"])
        self._steps = int(state["steps"])
        if self._frames is not None:
            self._frames = np.array(state["frames"])

    def transform(self, g: int, state: State) -> dict[str, np.ndarray]:
        """g·s of a full state: the craft moves, and the pictures of it."""
        plane = self.symmetry.action
        moved = dict(state) | {
            name: plane.act(g, np.asarray(state[name], float)) + 0.0  # −0 is 0
            for name in ("position", "velocity")
        }
        if self._frames is not None:
            moved["frames"] = self.symmetry.observation.act(g, state["frames"]).copy()
        return moved

    def coordinates(self, state: State) -> dict[str, float]:
        """The numbers in which states are compared, by name."""
        values = [*_floats(state["position"]), *_floats(state["velocity"])]
        return dict(zip(NAMES, values, strict=True))

    @cached_property
    def _video_painter(self) -> Painter:
        return Painter(VIDEO_SIZE)

    def _frame(self) -> np.ndarray:
        picture = self._painter.paint(self._x, self._y)
        return with_noise(picture, self._noise, self.np_random)

    def _checked_action(self, action: Any) -> tuple[float, float]:
        """What the thrusters are told: the action, put back where rounding or the disc wants it."""
        if self._steps >= EPISODE:
            raise UsageError("The episode has not begun or is over: call reset() before step().")
        ax, ay = checks.numbers(action, (2,)).tolist()
        limit = checks.LIMIT
        if self._disc:
            square = ax * ax + ay * ay
            if not square <= 2 * limit**2:  # true for NaN too
                raise checks.outside([ax, ay], disc=True)
            size = math.sqrt(max(square, 1.0))
            return ax / size, ay / size
        if not (-limit <= ax <= limit and -limit <= ay <= limit):
            raise checks.outside([ax, ay], disc=False)
        return min(max(ax, -1.0), 1.0), min(max(ay, -1.0), 1.0)


def action_space() -> spaces.Box:
    """[−1, 1]²; among discs, the square around the disc."""
    return spaces.Box(-1.0, 1.0, (2,), np.float32)


def state_space() -> spaces.Box:
    """Bounds that no episode reaches, the same for all variants."""
    bound = np.array([FARTHEST, FARTHEST, FASTEST, FASTEST], np.float32)
    return spaces.Box(-bound, bound, dtype=np.float32)


def _floats(pair: Any) -> tuple[float, float]:
    first, second = (np.asarray(pair, float) + 0.0).tolist()  # −0 is 0
    return first, second
