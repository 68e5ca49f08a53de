"""Circular harmonics on pixels: what stands for p(r) cos kφ and p(r) sin kφ in a small kernel.

A square grid cannot tell the angular frequency k from k ± 4, k ± 8, …: a harmonic that is merely
sampled answers to parts of the image that turn with those frequencies too. A smooth image has much
more of low frequencies than of high ones, so from k = 3 on these answers can exceed the right one.

Of all n × n pixel kernels that follow quarter turns and mirrors as frequency k does, some answer to
frequency k almost alone. There are as many of them as there are rings of radius ≥ k/2, for on
n × n pixels one can imitate differential operators up to the order n − 1. So each sampled ring is
replaced by the nearest kernel in their span, and the number of kernels stays the same.
"""

from collections import Counter
from functools import cache

import numpy as np

from nearsym.groups.catalog import dihedral
from nearsym.groups.planar import planar_irrep
from nearsym.layers.pixel_kernels import pixel_kernels
from nearsym.layers.rings import Rings, offsets
from nearsym.layers.smooth_parts import smooth_parts

NOISE = 1e-4
"""White noise in images, for a contrast of 1: without it, kernels that smooth images do not excite
at all would pass for accurate ones, and rounding would choose among them."""


@cache
def circular_harmonics(kernel_size: int, rings: Rings) -> tuple[tuple[int, np.ndarray], ...]:
    """(k, values) for each ring and each frequency k that it carries, ring by ring.

    The values are (2, offsets): what stands for the cosine and for the sine; (1, offsets) at k = 0.
    """
    sampled = [
        (k, _sampled(rings, ring, k, kernel_size))
        for ring in rings.radii(kernel_size)
        for k in rings.frequencies(ring)
    ]
    if rings.smoothness is None:
        return tuple(sampled)
    counts = Counter(k for k, _ in sampled)
    spans = {
        k: turning_kernels(kernel_size, k, count, rings.smoothness) for k, count in counts.items()
    }
    return tuple((k, _nearest(values, spans[k])) for k, values in sampled)


def turning_kernels(kernel_size: int, k: int, count: int, smoothness: float) -> np.ndarray:
    """The kernels that turn best with frequency k: (count, 2, offsets), cosines and sines.

    Among those that follow quarter turns and mirrors, an orthonormal basis of those whose answers
    to a random smooth image have the least of their energy in wrong frequencies and noise.
    """
    kernels = _grid_kernels(kernel_size, k)
    frequencies, parts = smooth_parts(offsets(kernel_size), smoothness)
    heard = (frequencies - k) % 4 == 0  # the others they do not answer to
    frequencies, parts = frequencies[heard], parts[heard]
    # The answer of a pair (c, s) to a part φ is Σ_y (c + is) φ*, which mirrors keep real.
    both = np.stack([parts.real, parts.imag], axis=1)[:, : kernels.shape[1]]
    answers = _flat(both) @ _flat(kernels).T
    wanted = frequencies == k
    wrong = np.concatenate([answers[~wanted], NOISE * np.eye(len(kernels))])
    q, r = np.linalg.qr(np.concatenate([wrong, answers[wanted]]))
    _, _, directions = np.linalg.svd(q[: len(wrong)], full_matrices=False)  # largest share first
    best = np.linalg.solve(r, directions[::-1][:count].T)
    return np.tensordot(np.linalg.qr(best)[0], kernels, axes=(0, 0))


def _grid_kernels(kernel_size: int, k: int) -> np.ndarray:
    """All pairs that move as (cos kφ, sin kφ) under quarter turns and mirrors, orthonormal."""
    group = dihedral(4)
    values, _ = pixel_kernels(group.trivial(), planar_irrep(k, group), kernel_size)
    pairs = values[:, :, 0]
    return pairs / np.linalg.norm(pairs, axis=(1, 2), keepdims=True)


def _sampled(rings: Rings, ring: float, k: int, kernel_size: int) -> np.ndarray:
    points = offsets(kernel_size)
    radius, angle = np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0])
    values = np.stack([np.cos(k * angle), np.sin(k * angle)][: 2 if k else 1])
    if k > 0:
        values[:, radius == 0] = 0.0  # the origin has no direction
    return values * rings.profile(ring, radius, kernel_size)


def _nearest(values: np.ndarray, span: np.ndarray) -> np.ndarray:
    """The member of a span nearest to some values, by squares."""
    return np.tensordot(_flat(span) @ values.flatten(), span, axes=1)


def _flat(pairs: np.ndarray) -> np.ndarray:
    return pairs.reshape(len(pairs), -1)
