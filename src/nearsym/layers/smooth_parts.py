"""A random smooth image as a sum of independent parts, each of which turns with one frequency.

White noise, blurred by a Gaussian of σ pixels and scaled to variance 1, has the covariance
exp(−|x − y|²/4σ²) at two points x, y of the plane. With z = (x₁ + i x₂)/2σ this is

    Σ_pq φ_pq(x) φ_pq(y)*        φ_pq(x) = e^(−|z|²) z^p z*^q / √(p! q!)

so such an image is Σ_pq ξ_pq φ_pq with uncorrelated ξ_pq of variance 1, and a turn of the plane by
an angle α multiplies φ_pq by e^(i(p − q)α). How a kernel answers to turned images is therefore a
matter of finite sums: nothing has to be drawn, and nothing interpolated.
"""

import math

import numpy as np
from jaxtyping import Complex, Int

NEGLIGIBLE = 1e-12
"""Parts that stay below it at all points are left out."""


def smooth_parts(
    points: np.ndarray, smoothness: float
) -> tuple[Int[np.ndarray, "parts"], Complex[np.ndarray, "parts points"]]:
    """The frequencies p − q of the parts, and φ_pq at some points (x, y) of the plane.

    >>> frequencies, parts = smooth_parts(np.array([[0.0, 0.0], [1.0, 2.0]]), smoothness=2.0)
    >>> covariance = (parts.T @ parts.conj()).real
    >>> np.allclose(covariance[0], [1.0, np.exp(-5 / 16)])
    True
    """
    z = (points[:, 0] + 1j * points[:, 1]) / (2 * smoothness)
    powers = _scaled_powers(z, _highest(float(np.abs(z).max())))
    p, q = np.indices((len(powers), len(powers))).reshape(2, -1)
    parts = np.exp(-(np.abs(z) ** 2)) * powers[p] * powers[q].conj()
    seen = np.abs(parts).max(axis=1) > NEGLIGIBLE
    return (p - q)[seen], parts[seen]


def _scaled_powers(z: np.ndarray, highest: int) -> np.ndarray:
    """z^p / √p! for p = 0, …, highest."""
    steps = [np.ones_like(z), *(z / math.sqrt(p) for p in range(1, highest + 1))]
    return np.cumprod(steps, axis=0)


def _highest(radius: float) -> int:
    """|φ_pq|² is the chance of (p, q) under two Poisson variables of mean |z|²: where to stop."""
    return math.ceil(radius**2 + 10 * radius) + 20
