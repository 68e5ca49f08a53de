"""What an environment or a layer may offer, as small protocols, and what every environment owes.

An environment need not inherit from anything: having the methods is enough. They may sit on the
environment itself or on a `gymnasium.Wrapper` around it; `layer_of` finds the outermost that has
them.
"""

import inspect
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, Protocol, TypeVar, runtime_checkable

import gymnasium
import numpy as np

from nearsym.errors import UsageError, shown

State = Mapping[str, np.ndarray]
"""Everything the future of an environment depends on, as plain arrays."""


@runtime_checkable
class Symmetric(Protocol):
    """Declares a symmetry."""

    symmetry: Any
    """A `nearsym.Symmetry`, or a `nearsym.groups.TimeSymmetry`."""


@runtime_checkable
class Resumable(Protocol):
    """Its state can be read and set: a run in it goes on where it stopped, bit for bit."""

    def get_state(self) -> State: ...

    def set_state(self, state: State) -> None: ...


@runtime_checkable
class Transforming(Protocol):
    """Knows how the group moves its states."""

    def transform(self, g: int, state: State) -> State:
        """g·s, for the element with index g."""
        ...


@runtime_checkable
class Movable(Resumable, Transforming, Protocol):
    """Its states can be set and moved: an audit can compare a step from s with one from g·s."""


@runtime_checkable
class Observing(Protocol):
    """Can show the observation of its present state without a step."""

    def observe(self) -> np.ndarray: ...


@runtime_checkable
class HasCoordinates(Protocol):
    """Names the coordinates in which its states are compared."""

    def coordinates(self, state: State) -> Mapping[str, float]:
        """Name to number."""
        ...


@runtime_checkable
class HasAngles(HasCoordinates, Protocol):
    """Some of its coordinates are angles."""

    angles: tuple[str, ...]
    """The coordinates that are equal to themselves mod 2π."""


@runtime_checkable
class LocatesCoordinates(HasCoordinates, Protocol):
    """Some of its coordinates are entries of the state, whose sign an audit can turn."""

    coordinate_places: Mapping[str, tuple[str, int]]
    """Name of a coordinate to key and flat index in the state."""


@runtime_checkable
class HasFollowers(Protocol):
    """Some arrays of its state move as others do, and are no coordinates of their own."""

    followers: Mapping[str, str]
    """Key of an array to the key that it follows, or to "action"."""


@runtime_checkable
class NamesObservations(Protocol):
    """Names the entries of its observation vector."""

    observation_names: tuple[str, ...]


@runtime_checkable
class EquivariantLayer(Protocol):
    """A layer that knows how a group moves its input and its output."""

    @property
    def in_action(self) -> Any:
        """A `nearsym.groups.Action` on the input, or None where no exact one is known."""
        ...

    @property
    def out_action(self) -> Any:
        """A `nearsym.groups.Action` on the output, or None where no exact one is known."""
        ...


Offer = TypeVar("Offer")


def layer_of(env: gymnasium.Env, offer: Callable[..., Offer]) -> Offer | None:
    """The outermost layer of an environment (a wrapper, or the environment itself) that offers
    something; None where none does.

    >>> import gymnasium
    >>> layer_of(gymnasium.make("Pendulum-v1"), Resumable) is None
    True
    """
    layer: Any = env
    protocol: Any = offer  # `type[Offer]` would say it better, but mypy takes no protocol for that
    while True:
        if isinstance(layer, protocol):
            return layer
        if not isinstance(layer, gymnasium.Wrapper):
            return None
        layer = layer.env


def episode_steps(env: gymnasium.Env) -> int | None:
    """Steps after which an episode is cut: the fewest that a TimeLimit, Gymnasium's registry or an
    attribute `max_episode_steps` of the environment names; None where none does.

    >>> episode_steps(gymnasium.make("Pendulum-v1"))
    200
    """
    limits = [getattr(env.spec, "max_episode_steps", None)]
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            limits.append(env._max_episode_steps)
        env = env.env
    limits.append(getattr(env, "max_episode_steps", None))
    return min((int(limit) for limit in limits if limit is not None), default=None)


def reset(env: gymnasium.Env, *, seed: int | None = None, **options: Any) -> tuple[Any, dict]:
    """`env.reset`, where what departs from Gymnasium's interface is an error that says so."""
    try:
        found: Any = env.reset(seed=seed, **options)
    except TypeError as error:
        if _takes_seed(env.unwrapped):
            raise
        raise UsageError(
            f"{_name(env)}.reset must take a seed: def reset(self, *, seed=None, options=None)."
        ) from error
    if not isinstance(found, tuple) or len(found) != 2:
        raise UsageError(f"{_name(env)}.reset must return (observation, info), got {_kind(found)}.")
    return found


def step(env: gymnasium.Env, action: Any) -> tuple[Any, float, bool, bool, dict]:
    """`env.step`, where what departs from Gymnasium's interface is an error that says so."""
    found: Any = env.step(action)
    if not isinstance(found, tuple) or len(found) != 5:
        raise UsageError(
            f"{_name(env)}.step must return (observation, reward, terminated, truncated, info), "
            f"got {_kind(found)}."
        )
    if not _is_number(found[1]):
        text = f"{_name(env)}.step must return the reward as a number, got {shown(found[1])}."
        raise UsageError(text)
    return found


def _is_number(value: Any) -> bool:
    if isinstance(value, Real):
        return True
    try:
        return np.ndim(value) == 0 and not isinstance(value, str) and float(value) is not None
    except (TypeError, ValueError):
        return False


def _takes_seed(env: gymnasium.Env) -> bool:
    names = inspect.signature(env.reset).parameters
    return "seed" in names or any(p.kind is p.VAR_KEYWORD for p in names.values())


def _name(env: gymnasium.Env) -> str:
    return type(env.unwrapped).__name__


def _kind(found: Any) -> str:
    several = isinstance(found, tuple | list)
    return f"a {type(found).__name__} of {len(found)}" if several else f"{type(found).__name__}"
