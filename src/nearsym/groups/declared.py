"""A symmetry declared from outside, for an environment that does not declare it itself."""

from collections.abc import Callable
from typing import Any

import gymnasium

from nearsym.groups.symmetry import Symmetry
from nearsym.protocols import State


class Declared(gymnasium.Wrapper):
    """An environment with the symmetry that somebody declares for it.

    The symmetry moves the observations and actions of the environment that is wrapped. With
    `transform`, the function (g, state) → g·s, an environment whose states can be read and set can
    be audited step by step.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.representation import diagonal
    >>> d1 = dihedral(1)
    >>> seen = diagonal(d1, {"mirror_x": [1, -1, -1]}, "cos, sin, velocity")
    >>> mirrored = Symmetry(seen, diagonal(d1, {"mirror_x": [-1]}, "torque"))
    >>> env = Declared(gymnasium.make("Pendulum-v1"), mirrored)
    >>> env.symmetry.group
    D1
    """

    def __init__(
        self,
        env: gymnasium.Env,
        symmetry: Symmetry,
        transform: Callable[[int, State], State] | None = None,
    ):
        super().__init__(env)
        self.symmetry: Any = symmetry
        if transform is not None:  # without it, a layer further in may know how states move
            self.transform = transform
