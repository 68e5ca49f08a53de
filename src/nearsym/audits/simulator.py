"""An environment as an audit sees it: states that can be read, set, moved and stepped from."""

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from nearsym.audits.coordinates import Coordinates, State, coordinates_of
from nearsym.errors import UsageError
from nearsym.groups.symmetry import Symmetry

NEEDED = ("get_state", "set_state", "transform")
LONGEST = 1000
"""Steps after which an episode is cut where the environment itself knows no end."""


class Outcome(NamedTuple):
    """What one step gave."""

    state: State
    x: np.ndarray
    """Coordinates of the next state."""
    obs: np.ndarray
    reward: float
    terminated: bool


class Simulator:
    """A Gymnasium environment with `symmetry`, `get_state`, `set_state` and `transform`.

    Everything runs on `env.unwrapped`, which is what declares the symmetry. Its random numbers are
    Gymnasium's `np_random`; a `draw` pins them for one step.
    """

    def __init__(self, env: gym.Env, seed: int = 0, longest: int | None = None):
        self.env: Any = env.unwrapped
        self.symmetry = declared_symmetry(env)
        self.group = self.symmetry.group
        missing = missing_methods(env)
        if missing:
            raise UsageError(
                f"An audit of the dynamics needs {_listed(missing)} on the environment; "
                f"{type(self.env).__name__} has none. It can only be measured from rollouts."
            )
        self.longest = longest_episode(env) if longest is None else longest
        self.env.reset(seed=seed)
        self.coordinates: Coordinates = coordinates_of(self.env, self.state())

    def state(self) -> State:
        """A copy of the present state."""
        return _copied(self.env.get_state())

    def outcome(self, state: State, action: Any, draw: tuple[int, ...] | None = None) -> Outcome:
        """One step from a state; `draw` replaces the random numbers that the state carries."""
        self.env.set_state(_copied(state))
        if draw is not None:
            self.env.np_random = np.random.default_rng(draw)
        obs, reward, terminated, _, _ = self.env.step(action)
        following = self.state()
        x = self.coordinates.of(following)
        return Outcome(following, x, np.array(obs), float(reward), bool(terminated))

    def drew(self, draw: tuple[int, ...]) -> bool:
        """Whether the last step, pinned by `draw`, used any random number."""
        now = self.env.np_random.bit_generator.state
        return now != np.random.default_rng(draw).bit_generator.state

    def moved(self, g: int, state: State) -> State:
        """g·s."""
        return self.env.transform(g, _copied(state))

    def observe(self, state: State) -> np.ndarray | None:
        """The observation of a state, where the environment can say it without a step."""
        for name in ("observe", "_get_obs"):
            if hasattr(self.env, name):
                self.env.set_state(_copied(state))
                return np.array(getattr(self.env, name)())
        return None

    def move_action(self, g: int, action: Any) -> Any:
        return move(self.symmetry.action, self.env.action_space, g, action)

    def move_observation(self, g: int, obs: np.ndarray) -> np.ndarray:
        return np.asarray(move(self.symmetry.observation, self.env.observation_space, g, obs))


def declared_symmetry(env: gym.Env) -> Symmetry:
    """The symmetry an environment declares, or an error that says what is missing."""
    symmetry = getattr(env.unwrapped, "symmetry", None)
    if not isinstance(symmetry, Symmetry):
        raise UsageError(
            f"{type(env.unwrapped).__name__} declares no symmetry: an audit needs an attribute "
            f"`symmetry` that is a nearsym.Symmetry, got {type(symmetry).__name__}."
        )
    if symmetry.group.order == 1:
        raise UsageError("The declared group has no element but e: there is nothing to audit.")
    return symmetry


def longest_episode(env: gym.Env) -> int:
    """Steps after which an episode is cut: the shortest TimeLimit, what Gymnasium's registry says,
    or 1000."""
    limits = [getattr(env.spec, "max_episode_steps", None)]
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            limits.append(env._max_episode_steps)
        env = env.env
    return min((int(limit) for limit in limits if limit is not None), default=LONGEST)


def check_samples(samples: int) -> None:
    if samples < 100:
        raise UsageError(f"An audit needs 100 samples or more, got {samples}.")


def missing_methods(env: gym.Env) -> list[str]:
    """Which of the methods for setting and moving states an environment lacks."""
    return [name for name in NEEDED if not callable(getattr(env.unwrapped, name, None))]


def move(act: Any, space: gym.Space, g: int, value: Any) -> Any:
    """g·value; a value of a Discrete space moves as its one-hot vector does."""
    if isinstance(space, gym.spaces.Discrete):
        one_hot = np.zeros(int(space.n))
        one_hot[int(value) - int(space.start)] = 1.0
        return int(space.start) + int(np.argmax(act.act(g, one_hot)))
    array = np.asarray(value)
    return np.asarray(act.act(g, array)).astype(array.dtype)


def _copied(state: State) -> dict[str, np.ndarray]:
    return {key: np.array(value, copy=True) for key, value in state.items()}


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
