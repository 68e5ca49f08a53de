"""Symmetry-breaking variants: each is a name and a number, and zero is the original exactly.

wear       one motor answers to positive commands with gain 1 + strength
tilt       the ground slopes by so many degrees
friction   one foot has 1 − strength of its friction
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearsym.tasks.robots.domain import Domain
from nearsym.tasks.strength import Strengths, read_variant


@dataclass(frozen=True)
class Variant:
    """One variant of one task, with its strength."""

    name: str
    strength: float
    domain: Domain

    def change(self, model: Any) -> None:
        """Change a model for good."""
        if self.name == "tilt" and self.strength:
            assert self.domain.lean is not None
            angle = np.radians(self.strength)
            weight = float(np.linalg.norm(model.opt.gravity))
            down = [*(np.sin(angle) * np.array(self.domain.lean)), -np.cos(angle)]
            model.opt.gravity[:] = weight * np.array(down)
        if self.name == "friction":
            foot = model.geom(self.domain.foot).id
            model.geom_friction[foot] *= 1 - self.strength

    def before_step(self, model: Any, action: np.ndarray) -> None:
        """Change the worn motor's gain under an action."""
        if self.name == "wear":
            worn = self.domain.worn
            gain = 1 + self.strength if action[worn] > 0 else 1.0
            model.actuator_gainprm[worn, 0] = gain

    def __str__(self) -> str:
        return self.name if self.name == "original" else f"{self.name}={self.strength:g}"


def strengths_of(domain: Domain) -> Strengths:
    """Lowest, highest and default strength of every variant that a task has."""
    strengths = {"wear": (0.0, 4.0, 0.5)}
    if domain.lean is not None:
        strengths["tilt"] = (-45.0, 45.0, 5.0)
    if domain.foot is not None:
        strengths["friction"] = (0.0, 1.0, 0.5)
    return strengths


def parse_variant(text: str | None, domain: Domain) -> Variant:
    """The variant that NAME or NAME=STRENGTH names; None is the original.

    >>> from nearsym.tasks.robots.domains import DOMAINS
    >>> str(parse_variant("tilt", DOMAINS["ant"]))
    'tilt=5'
    """
    return Variant(*read_variant(text, domain.name, strengths_of(domain)), domain)
