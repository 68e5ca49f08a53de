"""Residual paths: almost silent at the start, and penalised apart."""

import pytest
import torch
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.equivariant_linear import EquivariantLinear
from nearsym.layers.lift import LiftLinear, ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.residual_path import ResidualPath, residual, residual_penalties
from nearsym.measures.equivariance import equivariance_error

D4 = dihedral(4)
CASES = [
    (LiftingConv2d(D4, 2, 3, 3, stride=2, padding=1), (5, 2, 7, 7)),
    (GroupConv2d(D4, 2, 3, 3, bias=False), (5, 16, 7, 7)),
    (GroupLinear(D4, 2, 3), (5, 8, 2)),
    (LiftLinear(D4.vector(), 1, 3), (5, 2)),
    (LiftLinear(D4.vector(), 4, 3), (5, 2, 4)),
    (ProjectLinear(D4.vector(), 3), (5, 8, 3)),
    (ProjectLinear(D4.regular(), 3, 2), (5, 8, 3)),
    (EquivariantLinear(D4.vector(), D4.regular(), 2, 1), (5, 2, 2)),
]


@pytest.mark.parametrize("bias", [True, False])
def test_the_free_path_has_a_bias_where_the_symmetry_allows_none(bias):
    mirror = dihedral(1).sign()
    for layer in (
        ProjectLinear(mirror, 3, bias=bias),
        EquivariantLinear(mirror, mirror, 2, 2, bias=bias),
    ):
        assert layer.bias is None
        assert (layer.unconstrained().linear.bias is not None) == bias


@pytest.mark.parametrize(("layer", "shape"), CASES, ids=str)
def test_the_free_path_starts_at_a_thousandth(layer, shape):
    torch.manual_seed(1)
    normal = layer.unconstrained()
    torch.manual_seed(1)
    path = residual(layer)
    x = torch.randn(shape)
    assert path(x).shape == layer(x).shape
    free = path(x) - layer(x)
    assert torch.allclose(free, 1e-3 * normal(x), atol=1e-6)
    assert free.abs().max() > 0


@pytest.mark.parametrize(("layer", "shape"), CASES, ids=str)
def test_an_empty_batch_stays_empty(layer, shape):
    empty = torch.zeros(0, *shape[1:])
    assert residual(layer)(empty).shape == (0, *layer(torch.zeros(shape)).shape[1:])


def test_nearly_equivariant_at_the_start_and_free_later():
    path = residual(GroupLinear(D4, 4, 4)).double()
    x = torch.randn(16, 8, 4).double()
    act = D4.regular().along(-2)
    start = equivariance_error(path, x, act, act, relative=True)
    assert 1e-6 < max(start.values()) < 1e-2
    with torch.no_grad():
        path.free.linear.weight.mul_(1000)
    assert max(equivariance_error(path, x, act, act, relative=True).values()) > 0.1


def test_penalties_are_the_two_sums_of_squares():
    one, two = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    path = ResidualPath(one, two)
    with torch.no_grad():
        one.weight.fill_(3.0)
        two.weight.fill_(2.0)
    network = nn.Sequential(nn.Linear(1, 1), path, nn.Sequential(path))
    exact, free = residual_penalties(network)
    assert (exact.item(), free.item()) == (9.0, 4.0)
    (exact + 10 * free).backward()
    assert one.weight.grad.item() == 6.0
    assert two.weight.grad.item() == 40.0
    assert [p.item() for p in residual_penalties(nn.Linear(1, 1))] == [0.0, 0.0]


def test_a_layer_without_counterpart_is_explained():
    with pytest.raises(UsageError, match=r"ReLU does not say .* Build ResidualPath\(exact, free\)"):
        residual(nn.ReLU())
