"""How the craft moves, in arithmetic that signed permutations of the axes commute with bit by bit.

    dv/dt = M a + w − DRAG · v,      dp/dt = v,      M = THRUST · R(tilt) · diag(1 − worn, 1)

by semi-implicit Euler: first the velocity, then the position with the new velocity. An agent step
is `SUBSTEPS` such steps under one action, and then earns exp(−|p|² / (2·WIDTH²)).

Why bit by bit: rounding does not look at the sign, a sum of two numbers does not depend on their
order, and no sum here has three terms that an element could bring into another order. R(tilt) mixes
the axes, but a quarter turn only exchanges the two products of each sum.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from nearsym.groups.group import FiniteGroup
from nearsym.groups.planar import rotation

THRUST = 1.5
"""The acceleration that one thruster gives at full power, in lengths per second²."""
DRAG = 0.2
"""How much of the velocity is lost per second."""
STEP = 0.05
"""Seconds of one step of the simulation."""
SUBSTEPS = 2
"""Steps of the simulation in an agent step."""
EPISODE = 120
"""Agent steps in an episode."""
START = 2.0
"""How far from the target a craft may start along each axis, or, among discs, in all."""
WIDTH = 0.25
"""The distance from the target over which the reward falls by a factor of √e."""
STRONGEST_WIND = THRUST
"""Beyond it a thruster alone could not hold the craft."""

Number = TypeVar("Number", float, np.ndarray)


@dataclass(frozen=True)
class Dynamics:
    """The equations with the numbers of the variants. Zero, the default, changes nothing."""

    tilt: float = 0.0
    """Degrees."""
    wind: float = 0.0
    """Acceleration along +x."""
    worn: float = 0.0
    """The part of its power that the first thruster has lost."""

    @cached_property
    def thrust(self) -> np.ndarray:
        """M: from an action to an acceleration."""
        return THRUST * rotation(math.radians(self.tilt)) * np.array([1.0 - self.worn, 1.0])

    @cached_property
    def _entries(self) -> tuple[float, ...]:
        return tuple(float(entry) for entry in self.thrust.ravel())

    def advance(
        self, x: Number, y: Number, vx: Number, vy: Number, ax: Number, ay: Number
    ) -> tuple[Number, Number, Number, Number]:
        """One agent step from (x, y, vx, vy) under (ax, ay), for numbers or for arrays of them.

        Both give the same bits: these are additions and multiplications one by one.
        """
        xx, xy, yx, yy = self._entries
        ux = xx * ax + xy * ay + self.wind
        uy = yx * ax + yy * ay
        for _ in range(SUBSTEPS):
            vx = vx + STEP * (ux - DRAG * vx)
            vy = vy + STEP * (uy - DRAG * vy)
            x = x + STEP * vx
            y = y + STEP * vy
        return x, y, vx, vy

    def keeps(self, group: FiniteGroup) -> tuple[int, ...]:
        """The elements of a group of the plane that commute with these dynamics: a subgroup."""
        assert group.plane is not None
        push = np.array([self.wind, 0.0])
        return tuple(
            g
            for g, matrix in enumerate(group.plane)
            if np.allclose(matrix @ self.thrust, self.thrust @ matrix, rtol=0, atol=1e-12)
            and np.allclose(matrix @ push, push, rtol=0, atol=1e-12)
        )


def exponent(x: Number, y: Number) -> Number:
    """−|p|² / (2·WIDTH²): the logarithm of the reward."""
    return (x * x + y * y) * (-0.5 / WIDTH**2)


def reward(x: float, y: float) -> float:
    """What an agent step earns that ends at (x, y)."""
    return math.exp(exponent(x, y))


def rewards(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`reward` for many, bit for bit: numpy's own exponential may differ in the last one."""
    return np.array([math.exp(e) for e in exponent(x, y).tolist()])


def start(rng: np.random.Generator, disc: bool) -> tuple[float, float]:
    """Where an episode begins, at rest: uniform in the square |x|, |y| ≤ START, or in the disc."""
    if not disc:
        x, y = rng.uniform(-START, START, 2).tolist()
        return x, y
    radius, angle = START * math.sqrt(rng.random()), rng.uniform(0, 2 * math.pi)
    return radius * math.cos(angle), radius * math.sin(angle)


def _bounds() -> tuple[float, float]:
    """Whole numbers that |p| and |v| stay below in an episode, whatever the variant and actions.

    At worst all pushes point one way from the farthest corner: u ≤ √2·THRUST + STRONGEST_WIND.
    """
    push = math.sqrt(2) * THRUST + STRONGEST_WIND
    distance, speed = math.sqrt(2) * START, 0.0
    for _ in range(EPISODE * SUBSTEPS):
        speed += STEP * (push - DRAG * speed)
        distance += STEP * speed
    return math.floor(distance) + 1.0, math.floor(speed) + 1.0


FARTHEST, FASTEST = _bounds()
"""Bounds of |p| and |v|: those of the observation space, too."""
