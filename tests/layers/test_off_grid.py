"""How well steerable layers follow turns that fit no grid, in the figures that the docs print."""

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.groups.planar import o2, so2
from nearsym.layers.steerable import SteerableConv2d
from nearsym.measures.turning import turning_error

ANGLES = (17.0, 45.0, 70.0)


def irreps(group):
    return [group.irrep(n) for n in range(4)] + ([group.sign()] if group.mirrors else [])


def layers(group, size, **options):
    """A layer with drawn weights for each pair of irreps 0 to 3 that has kernels."""
    for in_rep in irreps(group):
        for out_rep in irreps(group):
            try:
                yield SteerableConv2d(in_rep, out_rep, 8, 8, size, **options).double()
            except UsageError:
                continue


def errors(group, size, **options):
    return np.array(
        [turning_error(layer, g) for layer in layers(group, size, **options) for g in ANGLES]
    )


@pytest.mark.parametrize("group", [so2(), o2()], ids=str)
@pytest.mark.parametrize(
    ("size", "median", "largest"), [(3, 0.010, 0.103), (5, 0.031, 0.656), (7, 0.024, 0.197)]
)
def test_sampled_rings(group, size, median, largest):
    found = errors(group, size)
    assert np.median(found) == pytest.approx(median, rel=0.1)
    assert found.max() == pytest.approx(largest, rel=0.1)
