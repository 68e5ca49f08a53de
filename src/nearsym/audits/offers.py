"""What an environment offers to an audit, on whichever of its layers it sits."""

from collections.abc import Callable
from typing import Any, cast

import gymnasium as gym
import numpy as np

from nearsym.audits.wrappers import observation_outside, opaque, wrappers_between
from nearsym.errors import UsageError
from nearsym.groups.symmetry import Symmetry, TimeSymmetry
from nearsym.protocols import (
    NamesObservations,
    Observing,
    Resumable,
    Symmetric,
    Transforming,
    episode_steps,
    layer_of,
)

LONGEST = 1000
"""Steps after which an episode is cut where the environment itself knows no end."""


def check_environment(env: Any) -> None:
    """Refuse a name where an environment is expected."""
    if isinstance(env, str):
        raise UsageError(f"Expected an environment, got its name {env!r}: make it first.")


def declared_symmetry(env: gym.Env) -> Symmetry:
    """The symmetry an environment declares, or an error that says what is missing."""
    if not isinstance(env, gym.Env):
        raise UsageError(f"An audit needs an environment, got {type(env).__name__}.")
    layer, name = layer_of(env, Symmetric), type(env.unwrapped).__name__
    symmetry = None if layer is None else layer.symmetry
    if isinstance(symmetry, TimeSymmetry):
        raise UsageError(
            f"{name} declares a symmetry of time ({symmetry.kind}), and an audit needs one of a "
            "finite group: a window of days, shifted or stretched, is no longer the same days, so "
            "there are no pairs of steps to compare."
        )
    if symmetry is None:
        raise UsageError(
            f"{name} declares no symmetry: an audit needs an attribute `symmetry` that is a "
            "nearsym.Symmetry, on the environment or on a wrapper. nearsym discover looks for one."
        )
    if not isinstance(symmetry, Symmetry):
        raise UsageError(
            f"The `symmetry` of {name} must be a nearsym.Symmetry, got {type(symmetry).__name__}."
        )
    if symmetry.group.order == 1:
        raise UsageError("The declared group has no element but e: there is nothing to audit.")
    return symmetry


def symmetric_layer(env: gym.Env) -> gym.Env:
    """The outermost layer that declares a symmetry: the one whose observations this moves."""
    return cast(gym.Env, layer_of(env, Symmetric))


def missing_methods(env: gym.Env) -> list[str]:
    """Which of the methods for setting and moving states an environment lacks.

    >>> missing_methods(gym.make("Pendulum-v1"))
    ['get_state', 'set_state', 'transform']
    """
    missing = []
    if layer_of(env, Resumable) is None:
        pair = ("get_state", "set_state")
        missing += [name for name in pair if not callable(getattr(env.unwrapped, name, None))]
    if layer_of(env, Transforming) is None:
        missing.append("transform")
    return missing


def check_group(moves: Transforming, symmetry: Symmetry) -> None:
    """A `transform` beside or inside another declaration moves states by that one's group."""
    beside = layer_of(cast(gym.Env, moves), Symmetric)
    group = symmetry.group if beside is None else getattr(beside.symmetry, "group", None)
    if group != symmetry.group:
        raise UsageError(
            f"`transform` of {type(moves).__name__} moves states by {group}, and the symmetry to "
            f"audit is one of {symmetry.group}. Give a transform with it: "
            "nearsym.groups.Declared(env, symmetry, transform)."
        )


def observer_of(env: gym.Env, seen: Any) -> Callable[[], np.ndarray] | None:
    """How to ask for the observation of the present state, which was just `seen`, without a step.

    `_get_obs` is what Gymnasium's own tasks call it. Where wrappers stand in between, the answer
    counts only if it is what they really show.
    """
    asked = layer_of(env, Observing)
    layer: Any = env.unwrapped if asked is None else asked
    ask = getattr(layer, "_get_obs", None) if asked is None else asked.observe
    if ask is None:
        return None
    around = wrappers_between(env, layer)
    if not around:
        return ask
    if opaque(around) is not None or not np.array_equal(observation_outside(around, ask()), seen):
        return None
    return lambda: observation_outside(around, ask())


def observation_names_of(env: gym.Env) -> tuple[str, ...]:
    """Names of the entries of an observation vector, where the environment gives them."""
    layer = layer_of(env, NamesObservations)
    same = layer is not None and cast(gym.Env, layer).observation_space == env.observation_space
    names = () if layer is None or not same else tuple(layer.observation_names)
    return names if env.observation_space.shape == (len(names),) else ()


def longest_episode(env: gym.Env) -> int:
    """Steps after which an episode is cut, or 1000 where nobody says."""
    steps = episode_steps(env)
    return LONGEST if steps is None else steps
