"""The error of a steerable layer at turns that fit no grid, against images drawn and turned."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.planar import o2, so2
from nearsym.layers.smooth_parts import smooth_parts
from nearsym.layers.steerable import SteerableConv2d
from nearsym.measures.turning import turning_error


@dataclass(frozen=True)
class Picture:
    """Gaussians of one width around some centres, known at every point of the plane."""

    centres: np.ndarray
    heights: np.ndarray  # (coordinates, centres)
    width: float

    def turned(self, plane, rho):
        """(gx)(y) = ρ(g) x(g⁻¹y)."""
        return replace(self, centres=self.centres @ plane.T, heights=rho @ self.heights)

    def at(self, points):
        squared = (points**2).sum(-1, keepdims=True) + (self.centres**2).sum(-1)
        squared = squared - 2 * points @ self.centres.T
        return np.moveaxis(np.exp(-squared / (2 * self.width**2)) @ self.heights.T, -1, -3)


def smooth_picture(rng, coordinates, width, reach=26.0, count=700):
    """White noise, blurred: Gaussians of random height at random places."""
    centres = rng.uniform(-reach, reach, (count, 2))
    return Picture(centres, rng.standard_normal((coordinates, count)), width)


def grid(pixels):
    """The points of an image, x to the right and y up: (pixels, pixels, 2)."""
    line = np.arange(pixels) - (pixels - 1) / 2
    return np.stack(np.meshgrid(line, -line), axis=-1)


def drawn_error(layer, degrees, width, pictures=12, interior=11):
    """‖f(gx) − g f(x)‖ / ‖f(x)‖ on the interior of drawn pictures, nothing interpolated.

    f(gx) is the layer on the turned picture; (g f(x))(p) = ρ_out(g) f(x)(g⁻¹p) is the layer on
    the patch of the picture around g⁻¹p.
    """
    rng, angle, size = np.random.default_rng(0), math.radians(degrees), layer.kernel_size
    plane = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    rho_in, rho_out = (matrix(rep, angle) for rep in (layer.in_rep, layer.out_rep))
    gap = whole = 0.0
    for _ in range(pictures):
        picture = smooth_picture(rng, layer.in_rep.size, width)
        moved = picture.turned(plane, rho_in).at(grid(interior + size - 1))
        follows = layer(torch.tensor(moved)[None])[0].flatten(1)
        centres = grid(interior).reshape(-1, 1, 1, 2) @ plane  # g⁻¹p
        stays = layer(torch.tensor(picture.at(centres + grid(size))))[:, :, 0, 0].T
        gap += float((follows - torch.tensor(rho_out) @ stays).square().sum())
        whole += float(stays.square().sum())
    return math.sqrt(gap / whole)


def matrix(rep, angle):
    if hasattr(rep, "matrix"):
        return rep.matrix(angle)
    return rep.matrices[round(angle / (2 * math.pi) * len(rep.group.plane)) % rep.group.order]


@pytest.mark.parametrize("width", [1.5, 2.0])
@pytest.mark.parametrize(
    ("in_rep", "out_rep", "size", "degrees"),
    [
        (so2().trivial(), so2().irrep(3), 5, 45.0),
        (so2().irrep(1), so2().irrep(2) + so2().irrep(1), 5, 17.0),
        (o2().sign(), o2().irrep(2), 3, 70.0),
        (cyclic(8).regular(), cyclic(8).trivial(), 4, 45.0),
    ],
)
@torch.no_grad()
def test_equals_the_error_on_drawn_pictures(in_rep, out_rep, size, degrees, width):
    layer = SteerableConv2d(in_rep, out_rep, 1, 1, size, bias=False).double()
    expected = drawn_error(layer, degrees, width)
    assert turning_error(layer, degrees, smoothness=width) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("smoothness", [0.7, 2.0])
def test_parts_sum_up_to_the_covariance(smoothness):
    points = np.random.default_rng(0).uniform(-4, 4, (9, 2))
    _, parts = smooth_parts(points, smoothness)
    squared = ((points[:, None] - points) ** 2).sum(-1)
    expected = np.exp(-squared / (4 * smoothness**2))
    np.testing.assert_allclose(parts.T @ parts.conj(), expected, atol=1e-14)


def test_parts_turn_with_their_frequency():
    points, angle = np.random.default_rng(0).uniform(-4, 4, (9, 2)), 0.7
    frequencies, parts = smooth_parts(points, 2.0)
    _, turned = smooth_parts(points @ so2().plane(angle).T, 2.0)
    np.testing.assert_allclose(
        turned, np.exp(1j * frequencies * angle)[:, None] * parts, atol=1e-14
    )


@pytest.mark.parametrize("group", [cyclic(4), dihedral(4), dihedral(8), so2(), o2()], ids=str)
def test_quarter_turns_are_exact_until_weights_differ(group):
    layer = SteerableConv2d(group.trivial(), group.vector(), 2, 3, 5, relaxed=True).double()
    nn.init.normal_(layer.filters)
    assert turning_error(layer, 90.0) < 1e-12
    with torch.no_grad():
        layer.relaxed[..., 1] += 1.0
    assert turning_error(layer, 90.0) > 0.01


def test_nothing_follows_every_turn():
    layer = SteerableConv2d(so2().trivial(), so2().irrep(1), 2, 3, 3)
    nn.init.zeros_(layer.filters)
    assert turning_error(layer, 30.0) == 0.0


@pytest.mark.parametrize(
    ("layer", "options", "text"),
    [
        (nn.Linear(2, 2), {}, "measures a SteerableConv2d, got Linear"),
        (
            SteerableConv2d(cyclic(8).regular(), cyclic(8).trivial(), 1, 1, 3),
            {"degrees": 30.0},
            r"C8 has no turn by 30.0 degrees. Choose one of its elements: e, rot45, rot90",
        ),
        (
            SteerableConv2d(so2().trivial(), so2().trivial(), 1, 1, 3),
            {"smoothness": 0.0},
            "`smoothness` must be a number of pixels > 0, got 0.0",
        ),
    ],
)
def test_errors(layer, options, text):
    with pytest.raises(UsageError, match=text):
        turning_error(layer, **{"degrees": 45.0, **options})
