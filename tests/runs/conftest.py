"""Small environments and configurations for runs that take a second."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from nearsym.runs.presets import preset_config
from nearsym.runs.run import Run
from nearsym.runs.start import start_run
from nearsym.tasks.registry import find_task

SOURCE = '''
import gymnasium
import numpy as np

from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import sign
from nearsym.groups.symmetry import Symmetry

MIRROR = dihedral(1)


class Toy(gymnasium.Env):
    """Noise to look at; the reward is −a². 20 steps an episode; it can turn bad."""

    def __init__(self, shape=(2,), dtype=np.float32, symmetry=True, bad_step=None, bad="reward"):
        images = len(shape) == 3
        self.observation_space = gymnasium.spaces.Box(0 if images else -9, 255, shape, dtype)
        self.action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
        observation = ImageAction(MIRROR, -3, -2) if images else 2 * sign(MIRROR)
        if symmetry:
            self.symmetry = Symmetry(observation, sign(MIRROR))
        self.bad_step, self.bad, self.total = bad_step, bad, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.look(), {}

    def look(self):
        shape, dtype = self.observation_space.shape, self.observation_space.dtype
        if len(shape) == 3:
            return self.np_random.integers(0, 256, shape).astype(dtype)
        return self.np_random.uniform(-1, 1, shape).astype(dtype)

    def step(self, action):
        self.steps += 1
        self.total += 1
        obs, reward = self.look(), -float(action[0] ** 2)
        if self.total == self.bad_step:
            if self.bad == "reward":
                reward = float("nan")
            else:
                obs = obs * np.float32("nan")
        return obs, reward, False, self.steps == 20, {}


def vector():
    return Toy()


def plain():
    return Toy(symmetry=False)


def double():
    return Toy(dtype=np.float64)


def larger():
    return Toy((3,))


def images():
    return Toy((37, 37, 3), np.uint8)


def float_images():
    return Toy((37, 37, 3), np.float32)


def wide_images():
    return Toy((37, 45, 3), np.uint8)


def bad_reward():
    return Toy(bad_step=65)


def bad_observation():
    return Toy(bad_step=65, bad="observation")


def endless():
    """200 steps an episode: longer than the runs of these tests."""
    return gymnasium.wrappers.TimeLimit(Endless(), 200)


class Endless(Toy):
    def step(self, action):
        obs, reward, terminated, _, info = super().step(action)
        return obs, reward, terminated, False, info


def table_of_actions():
    env = Toy(symmetry=False)
    env.action_space = gymnasium.spaces.Box(-1, 1, (2, 2), np.float32)
    return env


def one_number():
    env = Toy(symmetry=False)
    env.action_space = gymnasium.spaces.Box(-1, 1, (), np.float32)
    return env


def nothing_to_do():
    env = Toy(symmetry=False)
    env.action_space = gymnasium.spaces.Box(-1, 1, (0,), np.float32)
    return env


def needs_argument(size):
    return Toy()


def turned():
    """A third of a turn, which is no signed permutation, and a box that it leaves."""
    from nearsym.groups.catalog import cyclic
    from nearsym.groups.representation import plane_of

    env = two_actions()
    plane = plane_of(cyclic(3))
    env.symmetry = Symmetry(plane, plane, bounded=False)
    return env


def two_actions():
    env = Toy()
    env.action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    return env


class Filmed(Toy):
    """A grey picture, or what is missing for one."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, render_mode=None, missing=None):
        super().__init__()
        self.render_mode, self.missing = render_mode, missing

    def render(self):
        if self.missing:
            raise gymnasium.error.DependencyNotInstalled(self.missing)
        return np.full((16, 16, 3), 99, np.uint8)


gymnasium.register("toys/Filmed-v0", entry_point=Filmed)
gymnasium.register("toys/Unfilmed-v0", entry_point=Filmed, kwargs={"missing": "get a camera"})


def lopsided():
    env = Toy()
    env.action_space = gymnasium.spaces.Box(-0.5, 1, (1,), np.float32)
    return env


class HalfSaved(Toy):
    """Has something called get_state, and no way back."""

    def get_state(self):
        return object()


def half_saved():
    return HalfSaved()


def discrete():
    env = Toy()
    env.action_space = gymnasium.spaces.Discrete(3)
    return env


class Counted(Toy):
    """Actions from −3 to 3, observations in double precision; it is counted and watched."""

    built = closed = 0
    seen, done = [], []

    def __init__(self, symmetry=False):
        super().__init__(dtype=np.float64, symmetry=symmetry)
        self.action_space = gymnasium.spaces.Box(-3, 3, (1,), np.float32)
        Counted.built += 1

    def look(self):
        obs = super().look()
        Counted.seen.append(obs)
        return obs

    def step(self, action):
        Counted.done.append(np.array(action))
        return super().step(action)

    def close(self):
        Counted.closed += 1


def counted():
    return Counted(symmetry=True)


class Declaring(gymnasium.Wrapper):
    """A wrapper that declares the symmetry of what it wraps."""

    symmetry = Symmetry(2 * sign(MIRROR), sign(MIRROR))


def wrapped():
    return gymnasium.wrappers.TimeLimit(Declaring(Counted()), 20)


gymnasium.register("toys/Counted-v0", entry_point=Counted, disable_env_checker=True)
'''


@pytest.fixture(scope="session", autouse=True)
def _toys(tmp_path_factory):
    """A module `toys` that `module:factory` can name."""
    folder: Path = tmp_path_factory.mktemp("toys")
    (folder / "toys.py").write_text(SOURCE)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
    sys.modules.pop("toys", None)


@pytest.fixture
def toys():
    """The module itself, with nothing counted yet."""
    module = import_module("toys")
    module.Counted.built = module.Counted.closed = 0
    module.Counted.seen, module.Counted.done = [], []
    return module


def _small(name="toys:vector", agent="sac", model="approx", obs=None, **training):
    options = {} if obs is None else {"obs": obs}
    config = preset_config("smoke", find_task(name, **options), agent, model)
    chosen = {"frames": 80, "seed_frames": 30, "eval_every": 40, "checkpoint_every": 40}
    if obs is not None:  # eight frames a step
        chosen = {"frames": 480, "seed_frames": 240, "eval_every": 400, "checkpoint_every": 400}
    return replace(config, training=replace(config.training, **chosen | training))


@pytest.fixture
def small():
    """A configuration of a run that takes a second."""
    return _small


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """`trained(task, agent, frames, model)`: a new run of the preset smoke."""

    def make(task, agent, frames, model="approx", **options) -> Run:
        config = preset_config("smoke", find_task(task, **options), agent, model)
        training = replace(config.training, frames=frames, seed_frames=frames - 40)
        folder = tmp_path_factory.mktemp("runs") / "run"
        return start_run(replace(config, training=training), folder)

    return make
