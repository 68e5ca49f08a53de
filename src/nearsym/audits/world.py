"""An environment as states that can be read, set and stepped from; it need declare nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import gymnasium as gym
import numpy as np

from nearsym.audits.coordinates import Coordinates, coordinates_of
from nearsym.audits.offers import longest_episode, observation_names_of, observer_of
from nearsym.errors import UsageError
from nearsym.protocols import HasFollowers, Resumable, State, layer_of, reset, step


class Outcome(NamedTuple):
    """What one step gave."""

    state: State
    x: np.ndarray
    """Coordinates of the next state."""
    obs: np.ndarray
    reward: float
    terminated: bool


class World:
    """A Gymnasium environment with `get_state` and `set_state` on it or on a wrapper.

    `layer` is what is stepped: the environment, or one further in. Its random numbers are
    Gymnasium's `np_random`; a `draw` pins them for one step.
    """

    def __init__(self, env: gym.Env, layer: gym.Env, *, seed: int = 0, longest: int | None = None):
        self.env: Any = layer
        self.states = cast(Resumable, layer_of(env, Resumable))
        self.longest = longest_episode(env) if longest is None else longest
        obs, _ = reset(self.env, seed=seed)
        self._observe = observer_of(self.env, obs)
        self.observation_names = observation_names_of(self.env)
        self.coordinates: Coordinates = coordinates_of(env, self.state())
        follows = layer_of(env, HasFollowers)
        self.followers = {} if follows is None else dict(follows.followers)

    @property
    def wrapped(self) -> bool:
        """Whether steps pass through other layers than the one whose state is set."""
        return self.states is not self.env

    def state(self) -> State:
        """A copy of the present state."""
        return copied(checked_state(self.states.get_state(), "get_state"))

    def outcome(self, state: State, action: Any, draw: tuple[int, ...] | None = None) -> Outcome:
        """One step from a state; `draw` replaces the random numbers that the state carries."""
        self.states.set_state(copied(state))
        if draw is not None:
            self.env.unwrapped.np_random = np.random.default_rng(draw)
        obs, reward, terminated, _, _ = step(self.env, action)
        following = self.state()
        x = self.coordinates.of(following)
        return Outcome(following, x, np.array(obs), float(reward), bool(terminated))

    def drew(self, draw: tuple[int, ...]) -> bool:
        """Whether the last step, pinned by `draw`, used any random number."""
        now = self.env.unwrapped.np_random.bit_generator.state
        return now != np.random.default_rng(draw).bit_generator.state

    @property
    def observes(self) -> bool:
        """Whether the environment shows the observation of a state without a step."""
        return self._observe is not None

    def observe(self, state: State) -> np.ndarray | None:
        """The observation of a state, where the environment can say it without a step."""
        if self._observe is None:
            return None
        self.states.set_state(copied(state))
        return np.array(self._observe())

    def forget_observing(self) -> None:
        """Do not ask for observations again: they are not those of the state."""
        self._observe = None


def checked_state(state: Any, method: str) -> State:
    """What a method of the environment returned, if it is a state."""
    if not isinstance(state, Mapping):
        raise UsageError(
            f"{method} must return a dict of arrays, such as {{'position': array, …}}, got "
            f"{type(state).__name__}."
        )
    return state


def check_finite(
    what: str,
    values: Any,
    names: Sequence[str] = (),
    *,
    after: str = "a step",
    advice: str = "Repair the environment, or leave that entry out of what it shows.",
) -> None:
    """Refuse numbers that compare with nothing: they would pass for equal."""
    array = np.asarray(values)
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    place = int(np.argmax(~np.isfinite(array.ravel())))
    name = names[place] if names else f"entry {place}" if array.ndim else ""
    found = f"{what} {name}".strip()
    raise UsageError(
        f"An audit compares numbers, and after {after} the {found} is {array.ravel()[place]}. "
        f"{advice}"
    )


def copied(state: State) -> dict[str, np.ndarray]:
    """Arrays of one's own."""
    return {key: np.array(value, copy=True) for key, value in state.items()}
