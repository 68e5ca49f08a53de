"""Symmetry-breaking variants: each is a name and a number, and zero is the original exactly.

    tilt    the thrusters were mounted at an angle, in degrees
    wind    a constant push along +x, an acceleration in the units of the thrust
    worn    the first thruster is weaker: it gives the part 1 − strength

What is left of D4:

    tilt    the four rotations. A mirrored action comes out turned by twice the angle, so the
            mirrors are broken by 2·|sin(tilt)| of the thrust: most at 90 degrees, and not at all at
            180, where the thrusters only point backwards
    wind    e and mirror_y, which takes y to −y
    worn    D2: e, rot180, mirror_x and mirror_y
"""

from dataclasses import dataclass

from nearsym.tasks.craft.dynamics import STRONGEST_WIND, Dynamics
from nearsym.tasks.strength import read_variant

# Lowest, highest and default strength.
_STRENGTHS = {
    "tilt": (0.0, 180.0, 75.0),
    "wind": (0.0, STRONGEST_WIND, 0.3),
    "worn": (0.0, 1.0, 0.5),
}
VARIANTS = ("original", *_STRENGTHS)


@dataclass(frozen=True)
class Variant:
    """One variant with its strength."""

    name: str
    strength: float

    @property
    def is_original(self) -> bool:
        return self.strength == 0

    @property
    def dynamics(self) -> Dynamics:
        """How the craft moves under this variant."""
        return Dynamics() if self.name == "original" else Dynamics(**{self.name: self.strength})

    def __str__(self) -> str:
        return self.name if self.name == "original" else f"{self.name}={self.strength:g}"


def parse_variant(text: str | None) -> Variant:
    """The variant that NAME or NAME=STRENGTH names; None is the original.

    >>> str(parse_variant("tilt"))
    'tilt=75'
    """
    return Variant(*read_variant(text, "craft", _STRENGTHS))
