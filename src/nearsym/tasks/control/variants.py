"""Symmetry-breaking variants: each is a name and a number, and zero is the original exactly.

    repeat_action    inside a region each action acts for two environment steps
    reflect_action   inside a region each action a acts as −a
    gravity          gravity is (a, −a, −9.81) instead of (0, 0, −9.81)
    wear             the first motor answers to positive actions with gain 1 + strength

The regions are sectors of an angle θ(qpos): low ≤ θ ≤ low + strength·width mod 2π, whose strength
runs from 0, nothing, to 1, the paper's region. Gravity's strength is the paper's a in m/s², of
either sign; the strength of wear is the gain it adds.
"""

from dataclasses import dataclass

import numpy as np

from nearsym.tasks.control.domain import Domain
from nearsym.tasks.control.sector import Sector
from nearsym.tasks.strength import read_variant

EARTH = 9.81
"""The suite's gravity in m/s²."""
WEAR = 0.5
"""Default gain that wear adds; the paper draws wear in its Figure 1 and gives no number."""


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
    strengths = {name: _strengths(name, domain) for name in VARIANTS[1:]}
    name, strength = read_variant(text, domain.name, strengths)
    return Variant(name, strength, domain.regions.get(name))


def _strengths(name: str, domain: Domain) -> tuple[float, float, float]:
    """Lowest, highest and default strength of a variant."""
    if name == "gravity":
        return -EARTH, EARTH, domain.gravity
    return (0.0, 4.0, WEAR) if name == "wear" else (0.0, 1.0, 1.0)
