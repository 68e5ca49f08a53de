"""Pictures of the craft from above, on which every flip and quarter turn is exact.

Pixel centres are whole multiples of half a pixel, counted from the middle, so that a flip changes
their sign and nothing else. Every shape is a coverage in [0, 1] that depends on the distance

    d² = (pixel x − x)² + (pixel y − y)²

alone, and distances are the same to the last bit for the two pixels that an element exchanges.
"""

import numpy as np
from jaxtyping import UInt8

VIEW = 3.0
"""The picture shows |x|, |y| ≤ VIEW."""
CRAFT_RADIUS = 0.2
RING_RADIUS, RING_WIDTH = 0.5, 0.08
GROUND = np.array([16, 20, 32])
RING = np.array([90, 200, 120])
CRAFT = np.array([255, 170, 60])

Picture = UInt8[np.ndarray, "height width 3"]


class Painter:
    """Draws the craft, a disc, and the target, a ring around the origin, at one size.

    A craft that leaves the view is drawn at the border, where each coordinate is cut off. Nothing
    is wider than what it stands for except where it would be smaller than a pixel.
    """

    def __init__(self, size: int):
        self._size = size
        self._pixel = 2 * VIEW / size
        self._centres = np.arange(1 - size, size, 2) * (VIEW / size)  # left to right, top to bottom
        self._radius = max(CRAFT_RADIUS, self._pixel)
        self._reach = VIEW - self._radius
        self._empty = self._target()

    def paint(self, x: float, y: float) -> Picture:
        """The picture of a craft at (x, y)."""
        x = min(max(x, -self._reach), self._reach)
        y = min(max(y, -self._reach), self._reach)
        picture = self._empty.copy()
        columns, rows = self._near(x), self._near(-y)
        distance = self._distance(x, y, columns, rows)
        coverage = self._coverage(self._radius - distance)[..., None]
        patch = picture[rows, columns]
        patch[:] = np.rint(patch + coverage * (CRAFT - patch))
        return picture

    def _target(self) -> Picture:
        everything = slice(0, self._size)
        distance = self._distance(0.0, 0.0, everything, everything)
        width = max(RING_WIDTH, self._pixel)
        coverage = self._coverage(width / 2 - np.abs(distance - RING_RADIUS))[..., None]
        return np.rint(GROUND + coverage * (RING - GROUND)).astype(np.uint8)

    def _near(self, middle: float) -> slice:
        """The pixels along one axis that the craft can touch, and some that it cannot."""
        index = middle / self._pixel + self._size / 2
        reach = self._radius / self._pixel + 1
        return slice(max(int(index - reach), 0), int(index + reach) + 1)

    def _distance(self, x: float, y: float, columns: slice, rows: slice) -> np.ndarray:
        dx = self._centres[columns] - x
        dy = self._centres[rows] + y  # row is −y
        return np.sqrt((dx * dx)[None, :] + (dy * dy)[:, None])

    def _coverage(self, inside: np.ndarray) -> np.ndarray:
        """How much of a pixel is covered, from how deep its centre lies inside an edge."""
        return np.clip(inside / self._pixel + 0.5, 0.0, 1.0)
