"""Regions of the state in which a variant acts: sectors of an angle."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sector:
    """The states whose angle θ(qpos) lies in [low, low + width], wrapped to one turn.

    Unwrapped angles would make the region depend on windings that no picture shows.
    """

    low: float
    width: float
    theta: Callable[[np.ndarray], np.ndarray]
    """The angle of one qpos, or of many along the last axis."""
    closed: bool = True
    """Whether the two ends belong to the region."""

    def angle(self, qpos: np.ndarray) -> np.ndarray:
        """θ − low in [0, 2π), for one qpos or for many along the last axis."""
        return np.mod(self.theta(qpos) - self.low, 2 * np.pi)

    def contains(self, qpos: np.ndarray, strength: float = 1.0) -> np.ndarray:
        """Whether the state lies in the sector, its width scaled by the strength."""
        angle, width = self.angle(qpos), strength * self.width
        return angle <= width if self.closed else (angle > 0) & (angle < width)


def joint(i: int) -> Callable[[np.ndarray], np.ndarray]:
    """The angle of one joint."""
    return lambda qpos: qpos[..., i]
