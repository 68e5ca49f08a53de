"""States to read and set, from whatever an environment keeps."""

import inspect

import gymnasium as gym

from nearsym.errors import UsageError
from nearsym.physics.attribute import AttributeStates, keeps_a_state
from nearsym.physics.model import physics_of
from nearsym.physics.states import ModelStates
from nearsym.protocols import Resumable, layer_of


def with_states(env: gym.Env) -> gym.Env:
    """The environment with `get_state` and `set_state`, where they can be had.

    Its own come first, then those of a MuJoCo model, then an attribute `state`. An environment
    that allows none of them is returned as it is.

    >>> type(with_states(gym.make("Pendulum-v1"))).__name__
    'AttributeStates'
    """
    check_set_state(env)
    if layer_of(env, Resumable) is not None:
        return env
    if physics_of(env) is not None:
        return ModelStates(env)
    return AttributeStates(env) if keeps_a_state(env) else env


def check_set_state(env: gym.Env) -> None:
    """Refuse a `set_state` that collides with Gymnasium's `MujocoEnv.set_state(qpos, qvel)`."""
    if not isinstance(env, gym.Env):
        raise UsageError(f"An environment is expected, got {type(env).__name__}.")
    layer = env
    while True:
        own = _parameters(type(layer), "set_state")
        if own is not None and callable(getattr(layer, "get_state", None)) and own != 1:
            raise _collision(layer, f"takes {own} arguments, as MuJoCo environments' own does")
        if own == 1 and any(_parameters(base, "set_state") == 2 for base in type(layer).__mro__):
            raise _collision(layer, "replaces set_state(qpos, qvel), which `reset` needs")
        if not isinstance(layer, gym.Wrapper):
            return
        layer = layer.env


def _collision(layer: gym.Env, what: str) -> UsageError:
    return UsageError(
        f"`set_state` of {type(layer).__name__} {what}; an audit needs set_state(state). Put "
        "get_state and set_state(state) on a gymnasium.Wrapper, or leave them out: environments "
        "on MuJoCo get both from their model."
    )


def _parameters(cls: type, name: str) -> int | None:
    """How many arguments, without self, a method must be called with; None where there is none."""
    method = cls.__dict__.get(name) or getattr(cls, name, None)
    if not callable(method):
        return None
    required = [
        p
        for p in inspect.signature(method).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) - 1
