"""Rings: the functions of the plane that kernels sample where a group does not fit the grid."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError


@dataclass(frozen=True)
class Rings:
    """How kernels are made where the group does not fit the grid.

    Each ring carries the angular frequencies of its band. With a `smoothness`, rings are corrected
    so that they turn well; the widths then choose a basis of the kernels, no longer their span.

    >>> Rings().radii(5), Rings(band=1.0).frequencies(2.0)
    (array([0., 1., 2.]), range(0, 3))
    """

    width: float = 0.6
    """Standard deviation of each ring's Gaussian profile, in pixels."""
    outer_width: float = 0.4
    """The same for the outermost ring: what it leaks into the kernel's corners has no counterpart
    on the axes, so it is kept narrow."""
    band: float = 2.0
    """Highest angular frequency on a ring, as a multiple of its radius in pixels. Beyond 2 no
    kernels turn well."""
    smoothness: float | None = 2.0
    """How smooth images are: kernels turn best on noise blurred by a Gaussian of so many pixels, 1
    to 4. None keeps the rings as they are sampled, which turn far worse (`docs/steerable.md`)."""

    def __post_init__(self) -> None:
        if not min(self.width, self.outer_width) > 0 or not self.band >= 0:
            raise UsageError(f"Rings need widths > 0 and a band ≥ 0, got {self}.")
        if self.smoothness is not None and not _within(1, self.smoothness, 4):
            raise UsageError(
                "`smoothness` must lie between 1 and 4 pixels, or be None for rings as they are "
                f"sampled, got {self.smoothness!r}."
            )

    def radii(self, kernel_size: int) -> np.ndarray:
        """0, 1, 2, … pixels for odd kernels, ½, 1½, … for even ones."""
        return np.arange((kernel_size - 1) % 2 / 2, kernel_size / 2, 1.0)

    def profile(self, ring: float, radius: np.ndarray, kernel_size: int) -> np.ndarray:
        """How strong a ring is at some distances from the origin."""
        width = self.outer_width if ring + 1 > (kernel_size - 1) / 2 else self.width
        return np.exp(-0.5 * ((radius - ring) / width) ** 2)

    def frequencies(self, radius: float) -> range:
        return range(int(np.floor(self.band * radius + 1e-9)) + 1)


def offsets(kernel_size: int) -> Float[np.ndarray, "offsets 2"]:
    """The points (x, y) of a kernel's pixels, row by row; x to the right, y up."""
    line = np.arange(kernel_size) - (kernel_size - 1) / 2
    return np.stack([np.tile(line, kernel_size), np.repeat(-line, kernel_size)], axis=1)


def _within(low: float, value: object, high: float) -> bool:
    return isinstance(value, int | float) and low <= value <= high
