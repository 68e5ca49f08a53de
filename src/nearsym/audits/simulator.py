"""An environment as an audit sees it: states that can be read, set, moved and stepped from."""

from typing import Any, cast

import gymnasium as gym
import numpy as np

from nearsym.audits.offers import (
    check_group,
    declared_symmetry,
    missing_methods,
    symmetric_layer,
)
from nearsym.audits.world import World, checked_state, copied
from nearsym.errors import UsageError, check_whole
from nearsym.physics.anywhere import check_set_state
from nearsym.protocols import State, Transforming, layer_of


class Simulator:
    """A Gymnasium environment with `symmetry`, `get_state`, `set_state` and `transform`.

    Each may sit on the environment or on a wrapper. Everything is stepped at the outermost layer
    that declares a symmetry, whose observations and actions are those that the symmetry moves.
    """

    def __init__(self, env: gym.Env, seed: int = 0, longest: int | None = None):
        self.symmetry = declared_symmetry(env)
        self.group = self.symmetry.group
        check_set_state(env)
        missing = missing_methods(env)
        if missing:
            raise UsageError(
                f"An audit of the dynamics needs {listed(missing)} on the environment; "
                f"{type(env.unwrapped).__name__} has none. It can only be measured from rollouts."
            )
        self._moves = cast(Transforming, layer_of(env, Transforming))
        check_group(self._moves, self.symmetry)
        self.world = World(env, symmetric_layer(env), seed=seed, longest=longest)
        self.env, self.longest = self.world.env, self.world.longest
        self.coordinates = self.world.coordinates
        self.observation_names = self.world.observation_names
        # A simulator is its world, and moves it.
        self.state, self.outcome = self.world.state, self.world.outcome
        self.drew, self.observe = self.world.drew, self.world.observe

    @property
    def wrapped(self) -> bool:
        """Whether steps pass through other layers than the one whose state is set."""
        return self.world.wrapped

    def moved(self, g: int, state: State) -> State:
        """g·s."""
        return checked_state(self._moves.transform(g, copied(state)), "transform")

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


def listed(names: list[str], last: str = "and") -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"], "or")
    'a, b or c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
