"""An environment as an audit sees it: states that can be read, set, moved and stepped from."""

from typing import Any, NamedTuple, cast

import gymnasium as gym
import numpy as np

from nearsym.audits.coordinates import Coordinates, coordinates_of
from nearsym.audits.offers import (
    check_group,
    declared_symmetry,
    longest_episode,
    missing_methods,
    observation_names_of,
    observer_of,
    symmetric_layer,
)
from nearsym.errors import UsageError, check_whole
from nearsym.protocols import Resumable, State, Transforming, layer_of


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

    Each may sit on the environment or on a wrapper. Everything is stepped at the outermost layer
    that declares a symmetry, whose observations and actions are those that the symmetry moves. Its
    random numbers are Gymnasium's `np_random`; a `draw` pins them for one step.
    """

    def __init__(self, env: gym.Env, seed: int = 0, longest: int | None = None):
        self.symmetry = declared_symmetry(env)
        self.group = self.symmetry.group
        self.env: Any = symmetric_layer(env)
        missing = missing_methods(env)
        if missing:
            raise UsageError(
                f"An audit of the dynamics needs {_listed(missing)} on the environment; "
                f"{type(env.unwrapped).__name__} has none. It can only be measured from rollouts."
            )
        self._states = cast(Resumable, layer_of(env, Resumable))
        self._moves = cast(Transforming, layer_of(env, Transforming))
        check_group(self._moves, self.symmetry)
        self.longest = longest_episode(env) if longest is None else longest
        obs, _ = self.env.reset(seed=seed)
        self._observe = observer_of(self.env, obs)
        self.observation_names = observation_names_of(self.env)
        self.coordinates: Coordinates = coordinates_of(env, self.state())

    @property
    def wrapped(self) -> bool:
        """Whether steps pass through other layers than the one whose state is set."""
        return self._states is not self.env

    def state(self) -> State:
        """A copy of the present state."""
        return _copied(self._states.get_state())

    def outcome(self, state: State, action: Any, draw: tuple[int, ...] | None = None) -> Outcome:
        """One step from a state; `draw` replaces the random numbers that the state carries."""
        self._states.set_state(_copied(state))
        if draw is not None:
            self.env.unwrapped.np_random = np.random.default_rng(draw)
        obs, reward, terminated, _, _ = self.env.step(action)
        following = self.state()
        x = self.coordinates.of(following)
        return Outcome(following, x, np.array(obs), float(reward), bool(terminated))

    def drew(self, draw: tuple[int, ...]) -> bool:
        """Whether the last step, pinned by `draw`, used any random number."""
        now = self.env.unwrapped.np_random.bit_generator.state
        return now != np.random.default_rng(draw).bit_generator.state

    def moved(self, g: int, state: State) -> State:
        """g·s."""
        return self._moves.transform(g, _copied(state))

    def observe(self, state: State) -> np.ndarray | None:
        """The observation of a state, where the environment can say it without a step."""
        if self._observe is None:
            return None
        self._states.set_state(_copied(state))
        return np.array(self._observe())

    def move_action(self, g: int, action: Any) -> Any:
        return move(self.symmetry.action, self.env.action_space, g, action)

    def move_observation(self, g: int, obs: np.ndarray) -> np.ndarray:
        return np.asarray(move(self.symmetry.observation, self.env.observation_space, g, obs))


def check_samples(samples: int) -> None:
    check_whole("samples", samples, 100, 10**7)


def check_seed(seed: int) -> None:
    check_whole("seed", seed, 0, 2**62)


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
