"""Circular harmonics on pixels: exact where the grid allows it, and the best where it does not."""

import numpy as np
import pytest
import scipy.linalg

from nearsym.groups.planar import rotation, so2
from nearsym.layers import harmonics
from nearsym.layers.harmonics import circular_harmonics, turning_kernels
from nearsym.layers.rings import Rings, offsets

SIZES = range(1, 8)


def pairs(size, **options):
    """[(k, cosine, sine)], the sine 0 at k = 0."""
    found = circular_harmonics(size, Rings(**options))
    return [(k, *values) if k else (k, values[0], 0 * values[0]) for k, values in found]


@pytest.mark.parametrize("size", SIZES)
def test_sampled_rings_are_gaussians_times_waves(size):
    found = iter(pairs(size, smoothness=None))
    middle = (size - 1) / 2
    for ring in np.arange(middle % 1, middle + 1):
        width = 0.4 if ring == middle else 0.6
        for k in range(int(2 * ring) + 1):
            frequency, cosine, sine = next(found)
            assert frequency == k
            for i, (x, y) in enumerate(offsets(size)):
                r, phi = np.hypot(x, y), np.arctan2(y, x)
                expected = np.exp(-((r - ring) ** 2) / (2 * width**2)) * np.exp(1j * k * phi)
                expected *= r > 0 or k == 0
                assert cosine[i] + 1j * sine[i] == pytest.approx(expected, abs=1e-15)
    assert next(found, None) is None


@pytest.mark.parametrize("size", SIZES)
def test_correction_keeps_the_number_of_kernels(size):
    corrected, sampled = pairs(size), pairs(size, smoothness=None)
    assert [k for k, *_ in corrected] == [k for k, *_ in sampled]
    for k in range(size):
        values = [np.concatenate(both) for frequency, *both in corrected if frequency == k]
        values = np.array(values) / np.linalg.norm(values, axis=1, keepdims=True)
        assert np.linalg.cond(values) < 4  # and they stay far from dependent


@pytest.mark.parametrize("size", SIZES)
def test_quarter_turns_and_mirrors_are_exact(size):
    for k, cosine, sine in pairs(size):
        wave = (cosine + 1j * sine).reshape(size, size)  # rows from the top
        turned = np.rot90(wave)  # counter-clockwise
        np.testing.assert_allclose(turned, (-1j) ** k * wave, atol=1e-15)
        np.testing.assert_allclose(wave[::-1], wave.conj(), atol=1e-15)


def best_by_search(size, k, smoothness, count):
    """The span of turning_kernels in the slow and obvious way.

    Over all pixel kernels: the quadratic form of the error ‖f(gx) − g f(x)‖² from the covariance of
    the image at turned pixels, averaged over many turns; then its smallest values.
    """
    points, pixels = offsets(size), size**2
    turns = np.arange(24) * 2 * np.pi / 24 + 0.1
    identity = np.eye(2 * pixels).reshape(-1, 2, pixels)
    error = 0.0
    for angle in turns:
        turned, still = points @ rotation(angle), points
        both = np.concatenate([turned, still])
        squared = ((both[:, None] - both) ** 2).sum(-1)
        covariance = np.exp(-squared / (4 * smoothness**2))
        rho = so2().irrep(k).matrix(angle) if k else np.eye(2)
        gap = np.concatenate([identity, -np.einsum("ab,nbp->nap", rho, identity)], axis=-1)
        error = error + np.einsum("nap,pq,maq->nm", gap, covariance, gap, optimize=True)
    still = np.einsum("nap,pq,maq->nm", identity, covariance[pixels:, pixels:], identity)
    noise = harmonics.NOISE**2 * np.eye(2 * pixels)
    _, vectors = scipy.linalg.eigh(error / (2 * len(turns)) + noise, still + noise)
    return np.linalg.qr(vectors[:, : 2 * count])[0]  # a pair (c, s) and the pair (−s, c)


@pytest.mark.parametrize(
    ("size", "k", "count"), [(3, 1, 1), (3, 2, 1), (5, 1, 2), (5, 2, 2), (5, 3, 1), (5, 4, 1)]
)
def test_no_other_kernels_turn_better(size, k, count):
    found = turning_kernels(size, k, count, 2.0).reshape(count, -1)
    np.testing.assert_allclose(found @ found.T, np.eye(count), atol=1e-12)
    searched = best_by_search(size, k, 2.0, count)
    assert np.linalg.norm(found - found @ searched @ searched.T, axis=1).max() < 1e-3


@pytest.mark.parametrize("size", [3, 5, 7, 9])
def test_rounding_does_not_choose_the_kernels(size, monkeypatch):
    """Weights saved on one machine must mean the same on another."""
    before = circular_harmonics(size, Rings())
    rng, parts = np.random.default_rng(0), harmonics.smooth_parts

    def rounded(points, smoothness):
        frequencies, values = parts(points, smoothness)
        return frequencies, values * (1 + 1e-15 * rng.standard_normal(values.shape))

    monkeypatch.setattr(harmonics, "smooth_parts", rounded)
    after = circular_harmonics.__wrapped__(size, Rings())
    for (_, one), (_, other) in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
