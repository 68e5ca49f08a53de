"""The four control tasks as Gymnasium environments that declare their symmetry."""

import math
from itertools import compress
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nearsym.errors import UsageError, shown, unknown_name
from nearsym.groups.action import ImageAction
from nearsym.groups.symmetry import Symmetry
from nearsym.tasks.control.domain import Domain
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.rendering import painter
from nearsym.tasks.control.simulation import EPISODE, Simulation, check_numbers
from nearsym.tasks.control.variants import parse_variant
from nearsym.tasks.frames import LARGEST_NOISE, pushed, with_noise
from nearsym.training.random_state import check_packed, pack_generator, unpack_generator

SIZES = (8, 1024)
"""Smallest and largest picture, in pixels."""
SLACK = 1e-6
"""How far an action may leave [−1, 1] by rounding; it is then put back on the edge."""
VIDEO_SIZE = 256
COUNTS = {"action_repeat": EPISODE, "frame_stack": 100}
"""The most of what is counted."""


class ControlEnv(gym.Env):
    """A control task: `observation`, `action` and how a group moves both.

    An agent step is `action_repeat` environment steps under one action, their rewards summed; an
    episode is 1000 environment steps and is then truncated. Pixels are uint8 (height, width,
    3·frame_stack), the oldest frame first; states are dm_control's observations in float32.

    `noise` is the standard deviation of Gaussian noise on pictures in [0, 1], drawn once for each
    frame when it enters the stack.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (Gymnasium's own)

    def __init__(
        self,
        task: str,
        *,
        variant: str | None = None,
        obs: str = "pixels",
        size: int = 85,
        action_repeat: int = 2,
        frame_stack: int = 3,
        noise: float = 0.0,
        background: bool = False,
        render_mode: str | None = None,
    ):
        if task not in DOMAINS:
            raise unknown_name("control task", task, DOMAINS)
        if obs not in ("pixels", "state"):
            raise unknown_name("observation kind", obs, ("pixels", "state"))
        if render_mode not in (None, "rgb_array"):
            raise unknown_name("render mode", render_mode, ("rgb_array",))
        self._size = _checked_size(size)
        self._repeat = _checked_count("action_repeat", action_repeat)
        self._stack = _checked_count("frame_stack", frame_stack)
        self._noise = _checked_noise(noise, obs)
        self._background = background
        self.render_mode = render_mode

        domain = DOMAINS[task]
        self.domain = domain
        self.variant = parse_variant(variant, domain)
        self._simulation = Simulation(domain, self.variant)
        self._pixels = obs == "pixels"
        self._frames: np.ndarray | None = None
        self._running = False
        self.symmetry = self._symmetry(domain)
        self.coordinate_places = domain.coordinate_places
        self.followers = {"warmstart": "qvel", "control": "action"}
        self.angles = tuple(compress(self.coordinate_places, domain.angles))
        self.observation_names = () if self._pixels else tuple(name for name, _ in domain.entries)
        self.observation_space = self._observation_space(domain)
        self.action_space = spaces.Box(-1.0, 1.0, (domain.action.size,), np.float32)
        fps = round(1 / (self._simulation.seconds_per_step * self._repeat))
        self.metadata = self.metadata | {"render_fps": fps}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        first = self._np_random is None
        super().reset(seed=seed)
        if seed is not None:
            self._simulation.seed(seed % 2**32)
        elif first:
            self._simulation.seed(int(self.np_random.integers(2**32)))
        self._simulation.reset()
        self._running = True
        if self._pixels:
            self._frames = np.tile(self._frame(), self._stack)
        return self.observe(), self._info(0)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        action = self._checked_action(action)
        before = self._simulation.steps
        reward = 0.0
        for _ in range(self._repeat):
            if self._simulation.steps < EPISODE:
                reward += self._simulation.advance(action)
        truncated = self._simulation.steps >= EPISODE
        self._running = not truncated
        if self._frames is not None:
            self._frames = pushed(self._frames, self._frame())
        info = self._info(self._simulation.steps - before)
        return self.observe(), reward, False, truncated, info

    def render(self) -> np.ndarray | None:
        """The scene as it is now, without noise, in video size."""
        return self._picture(VIDEO_SIZE) if self.render_mode == "rgb_array" else None

    def observe(self) -> np.ndarray:
        """The observation of the present state."""
        return self._simulation.observation() if self._frames is None else self._frames.copy()

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything the future depends on, as plain arrays: simulator, frames, random states."""
        state = self._simulation.get_state() | {
            "running": np.array(self._running),
            "noise_random": pack_generator(self.np_random),
        }
        if self._frames is not None:
            state["frames"] = self._frames.copy()
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state that `get_state` gave, bit for bit, in this or another process."""
        if self._pixels:
            self._check_frames(state)
        check_numbers(state, "running", (), self.domain.name)
        check_packed(state.get("noise_random"))
        self._simulation.set_state(state)
        self._running = bool(state["running"])
        unpack_generator(self.np_random, state["noise_random"])
        if self._pixels:
            self._frames = state["frames"].copy()

    def _check_frames(self, state: dict[str, np.ndarray]) -> None:
        if "frames" not in state:
            raise UsageError("This state has no frames: it comes from an environment of states.")
        frames, shape = np.asarray(state["frames"]), self.observation_space.shape
        if frames.shape != shape or frames.dtype != np.uint8:
            raise UsageError(
                f"The state's frames are {frames.dtype} {frames.shape}, this environment's uint8 "
                f"{shape}: size and frame_stack must agree."
            )

    def transform(self, g: int, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """g·s of a full state: what stands in the scene moves, and the pictures of it."""
        moved = self._simulation.transform(g, state)
        if "frames" in state:
            pixels = ImageAction(self.domain.group, height=-3, width=-2)
            moved["frames"] = pixels.act(g, state["frames"]).copy()
        return moved

    def coordinates(self, state: dict[str, np.ndarray]) -> dict[str, float]:
        """The joints, the target and the velocities of a state, by name."""
        places = self.coordinate_places.items()
        return {name: float(state[key][i]) for name, (key, i) in places}

    def _symmetry(self, domain: Domain) -> Symmetry:
        if self._pixels:
            return Symmetry(ImageAction(domain.group, height=-3, width=-2), domain.action)
        return Symmetry(domain.observation, domain.action)

    def _observation_space(self, domain: Domain) -> spaces.Box:
        if self._pixels:
            return spaces.Box(0, 255, (self._size, self._size, 3 * self._stack), np.uint8)
        bound = np.array([bound for _, bound in domain.entries], np.float32)
        return spaces.Box(-bound, bound, dtype=np.float32)

    def _info(self, steps: int) -> dict[str, Any]:
        return {"environment_steps": steps, "discount": 1.0}

    def _picture(self, size: int) -> np.ndarray:
        model = self._simulation.physics.model.ptr
        brush = painter(self.domain, model, size, background=self._background)
        return brush.paint(self._simulation.configuration)

    def _frame(self) -> np.ndarray:
        return with_noise(self._picture(self._size), self._noise, self.np_random)

    def _checked_action(self, action: Any) -> np.ndarray:
        if not self._running:
            raise UsageError("The episode has not begun or is over: call reset() before step().")
        values = np.asarray(action)
        shape = self.action_space.shape
        if values.shape != shape or values.dtype.kind not in "iuf":
            raise UsageError(
                f"{self.domain.name} takes an action of shape {shape}, got {values.dtype} of shape "
                f"{values.shape}."
            )
        if not (np.abs(values) <= 1 + SLACK).all():  # false for NaN too
            raise UsageError(
                f"An action of {self.domain.name} lies in [-1, 1], got {values.tolist()}. "
                "Nothing was simulated."
            )
        return np.clip(values, -1.0, 1.0)


def _checked_size(size: int) -> int:
    low, high = SIZES
    if isinstance(size, (int, np.integer)) and low <= size <= high:
        return int(size)
    if isinstance(size, (int, float, np.number)) and math.isfinite(size):
        hint = f" The nearest is {min(max(round(float(size)), low), high)}."
    else:
        hint = " The default is 85."
    raise UsageError(
        f"The image size is a whole number from {low} to {high}, got {shown(size)}.{hint}"
    )


def _checked_count(name: str, count: int) -> int:
    most = COUNTS[name]
    if isinstance(count, (int, np.integer)) and 1 <= count <= most:
        return int(count)
    nearest = most if isinstance(count, (int, np.integer)) and count > most else 1
    raise UsageError(
        f"{name} is a whole number from 1 to {most}, got {shown(count)}. The nearest is {nearest}."
    )


def _checked_noise(noise: float, obs: str) -> float:
    if not 0 <= noise <= LARGEST_NOISE:
        raise UsageError(
            f"noise is a standard deviation from 0 to {LARGEST_NOISE:g}, got {shown(noise)}."
        )
    if noise > 0 and obs != "pixels":
        raise UsageError('noise is image noise: it needs obs="pixels".')
    return float(noise)
