"""A symmetry that travels with an action space, to those who are shown spaces and no environment.

Other people's tools hand a policy the spaces of an environment, past any number of wrappers, and
save them with it.
"""

from typing import Any

import gymnasium

from nearsym.groups.symmetry import Symmetry, symmetry_of

_NAME = "nearsym_symmetry"


def declare_on_space(env: gymnasium.Env) -> gymnasium.Env:
    """The environment, its action space marked with what it declares.

    >>> declared_on(declare_on_space(gymnasium.make("Pendulum-v1")).action_space) is None
    True
    """
    symmetry = symmetry_of(env)
    if isinstance(symmetry, Symmetry):
        setattr(env.action_space, _NAME, symmetry)
    return env


def declared_on(space: Any) -> Symmetry | None:
    """The symmetry that a space was marked with."""
    found = getattr(space, _NAME, None)
    return found if isinstance(found, Symmetry) else None
