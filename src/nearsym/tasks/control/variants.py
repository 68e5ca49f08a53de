"""Symmetry-breaking variants: each is a name and a number, and zero is the original exactly.

    repeat_action    inside a region each action acts for two environment steps
    reflect_action   inside a region each action a acts as −a
    gravity          gravity is (a, −a, −9.81) instead of (0, 0, −9.81)
    wear             the first motor answers to positive actions with gain 1 + strength

The regions are sectors of an angle θ(qpos): low ≤ θ ≤ low + strength·width mod 2π, whose strength
runs from 0, nothing, to 1, the paper's region. Gravity's strength is the paper's a in m/s², of
either sign; the strength of wear is the gain it adds.
"""

import math
from dataclasses import dataclass

import numpy as np

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.control.domains import Domain

EARTH = 9.81
"""The suite's gravity in m/s²."""
WEAR = 0.5
"""Default gain that wear adds; the paper draws wear in its Figure 1 and gives no number."""


@dataclass(frozen=True)
class Sector:
    """The states whose angle θ lies in [low, low + width], wrapped to one turn.

    Unwrapped angles would make the region depend on windings that no picture shows.
    """

    low: float
    width: float
    joint: int = 0
    """The entry of qpos that is the angle …"""
    corner: tuple[float, float] | None = None
    """… or, for the ball, the point (x, z) around which its angle is measured."""
    closed: bool = True
    """Whether the two ends belong to the region."""

    def angle(self, qpos: np.ndarray) -> np.ndarray:
        """θ − low in [0, 2π), for one qpos or for many along the last axis."""
        if self.corner is None:
            theta = qpos[..., self.joint]
        else:
            x, z = self.corner
            theta = np.arctan2(qpos[..., 3] - z, qpos[..., 2] - x)
        return np.mod(theta - self.low, 2 * np.pi)

    def contains(self, qpos: np.ndarray, strength: float = 1.0) -> np.ndarray:
        """Whether the state lies in the sector, its width scaled by the strength."""
        angle, width = self.angle(qpos), strength * self.width
        return angle <= width if self.closed else (angle > 0) & (angle < width)


_HALF = math.pi / 2
# The ball hangs 0.2 m above the floor at ball_z = 0, and the region starts at a height of 0.3 m.
_ABOVE_RIGHT = Sector(0.0, _HALF, corner=(0.0, 0.3 - 0.2), closed=False)
_ACROBOT_FOURTH = Sector(_HALF, _HALF, closed=False)

REGIONS: dict[str, dict[str, Sector]] = {
    "acrobot": {
        "repeat_action": _ACROBOT_FOURTH,
        # Named in the paper's results, defined nowhere in it: the region is ours.
        "reflect_action": _ACROBOT_FOURTH,
    },
    "cartpole": {
        "repeat_action": Sector(0.0, _HALF, joint=1),
        "reflect_action": Sector(0.0, _HALF / 2, joint=1),
    },
    "ball_in_cup": {"repeat_action": _ABOVE_RIGHT, "reflect_action": _ABOVE_RIGHT},
    "reacher": {"repeat_action": Sector(0.0, _HALF), "reflect_action": Sector(_HALF, _HALF)},
}

# The paper has no gravity for reacher, which lies flat: there ±1 m/s² along both axes is about a
# quarter of what its motors can hold.
GRAVITY = {"acrobot": -2.0, "cartpole": 0.2, "ball_in_cup": -2.0, "reacher": -1.0}

VARIANTS = ("original", "repeat_action", "reflect_action", "gravity", "wear")


@dataclass(frozen=True)
class Variant:
    """One variant of one domain, with its strength."""

    name: str
    strength: float
    region: Sector | None = None

    @property
    def is_original(self) -> bool:
        return self.strength == 0

    def inside(self, qpos: np.ndarray) -> bool:
        """Whether the state lies in the variant's region (never, if it has none)."""
        if self.region is None or self.is_original:
            return False
        return bool(self.region.contains(qpos, self.strength))

    @property
    def gravity(self) -> tuple[float, float, float] | None:
        """The tilted gravity, or None where gravity is left alone."""
        if self.name != "gravity" or self.is_original:
            return None
        return self.strength, -self.strength, -EARTH

    def gain(self, first_action: float) -> float:
        """The first motor's gain under an action."""
        return 1 + self.strength if self.name == "wear" and first_action > 0 else 1.0

    def __str__(self) -> str:
        return self.name if self.name == "original" else f"{self.name}={self.strength:g}"


def parse_variant(text: str | None, domain: Domain) -> Variant:
    """The variant that NAME or NAME=STRENGTH names; None is the original.

    >>> from nearsym.tasks.control.domains import DOMAINS
    >>> str(parse_variant("gravity", DOMAINS["acrobot-swingup"]))
    'gravity=-2'
    """
    if text is None:
        text = "original"
    name, equals, number = text.partition("=")
    if name not in VARIANTS:
        raise unknown_name(f"variant of {domain.name}", name, VARIANTS)
    if name == "original":
        if equals:
            raise UsageError(f"The original task has no strength: write 'original', not {text!r}.")
        return Variant("original", 0.0)
    low, high, default = _strengths(name, domain)
    strength = _parse_strength(name, number, low, high, default) if equals else default
    return Variant(name, strength, REGIONS[domain.domain].get(name))


def _strengths(name: str, domain: Domain) -> tuple[float, float, float]:
    """Lowest, highest and default strength of a variant."""
    if name == "gravity":
        return -EARTH, EARTH, GRAVITY[domain.domain]
    return (0.0, 4.0, WEAR) if name == "wear" else (0.0, 1.0, 1.0)


def _parse_strength(name: str, number: str, low: float, high: float, default: float) -> float:
    try:
        strength = float(number)
    except ValueError:
        strength = math.nan
    if low <= strength <= high:
        return strength
    nearest = default if math.isnan(strength) else min(max(strength, low), high)
    raise UsageError(
        f"The strength of {name} is a number from {low:g} to {high:g}, got {number!r}. "
        f"The nearest is {name}={nearest:g}."
    )
