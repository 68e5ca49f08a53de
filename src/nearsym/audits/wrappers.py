"""Observations on their way out, and actions on their way in, through wrappers of an environment.

An audit steps the layer that declares the symmetry. A policy, or networks, may belong to a layer
further out; a method `observe` may sit further in.
"""

from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.errors import UsageError


def wrappers_between(outer: gym.Env, inner: gym.Env) -> list[gym.Wrapper]:
    """The wrappers around `inner`, up to `outer`, the outermost first."""
    found = []
    while outer is not inner:
        assert isinstance(outer, gym.Wrapper)
        found.append(outer)
        outer = outer.env
    return found


def observation_outside(wrappers: list[gym.Wrapper], obs: Any) -> np.ndarray:
    """What an observation of the innermost layer looks like outside the wrappers.

    >>> env = gym.make("Pendulum-v1")
    >>> halved = gym.wrappers.TransformObservation(env, lambda obs: obs / 2, env.observation_space)
    >>> observation_outside(wrappers_between(halved, env), np.ones(3))
    array([0.5, 0.5, 0.5])
    """
    for wrapper in reversed(wrappers):
        if isinstance(wrapper, gym.ObservationWrapper):
            obs = wrapper.observation(obs)
    return np.asarray(obs)


def action_inside(wrappers: list[gym.Wrapper], action: Any) -> Any:
    """What an action given to the outermost wrapper is for the innermost layer."""
    for wrapper in wrappers:
        if isinstance(wrapper, gym.ActionWrapper):
            action = wrapper.action(action)
    return action


def opaque(wrappers: list[gym.Wrapper]) -> gym.Wrapper | None:
    """A wrapper that changes observations or actions in a way that cannot be asked for; or None."""
    for wrapper in wrappers:
        inner = wrapper.env
        changes_obs = wrapper.observation_space != inner.observation_space
        changes_action = wrapper.action_space != inner.action_space
        if changes_obs and not isinstance(wrapper, gym.ObservationWrapper):
            return wrapper
        if changes_action and not isinstance(wrapper, gym.ActionWrapper):
            return wrapper
    return None


def check_transparent(wrappers: list[gym.Wrapper]) -> None:
    """Refuse wrappers through which a policy cannot act step by step."""
    hidden = opaque(wrappers)
    if hidden is not None:
        raise UsageError(
            f"The policy acts outside the wrapper {type(hidden).__name__}, and the symmetry is "
            f"declared inside it. Declare it outside (nearsym.groups.Declared), or make the "
            f"wrapper a gymnasium.ObservationWrapper or ActionWrapper."
        )
