"""The orthogonal start: singular values of the expanded matrices."""

import pytest
import torch
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.equivariant_linear import EquivariantLinear
from nearsym.layers.init import orthogonal_
from nearsym.layers.lift import LiftLinear, ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.residual_path import residual

D2, D3, D4 = dihedral(2), dihedral(3), dihedral(4)


def layers(**options):
    return [
        GroupLinear(D2, 6, 4, **options),
        GroupLinear(D2, 3, 5, **options),
        GroupLinear(D3, 4, 4, **options),
        GroupConv2d(D4, 3, 2, 3, **options),
        LiftingConv2d(D2, 9, 4, 3, **options),
        LiftLinear(D4.vector(), 3, 4, **options),
        ProjectLinear(D4.vector(), 5, 2, **options),
        EquivariantLinear(D3.regular(), D3.regular(), 2, 3, **options),
    ]


@pytest.mark.parametrize("options", [{}, {"relaxed": True}, {"relaxed": True, "filters": 3}])
def test_expanded_matrices_are_semi_orthogonal(options):
    for layer in layers(**options):
        layer = orthogonal_(layer.double(), gain=1.5)
        weight = (
            1.0
            if layer.relaxed is None
            else layer.relaxed[:, 0].view(-1, *[1] * (layer.filters.ndim - 1))
        )
        matrix = layer.expand((weight * layer.filters).sum(0))
        values = torch.linalg.svdvals(matrix)
        assert len(values) == min(matrix.shape)
        assert torch.allclose(values, torch.full_like(values, 1.5), atol=1e-9), layer
        assert layer.bias is None or (layer.bias == 0).all()


def test_the_layer_as_it_runs_keeps_lengths():
    layer = orthogonal_(GroupLinear(D2, 8, 8, relaxed=True))
    x = torch.randn(5, 4, 8)
    assert torch.allclose(layer(x).flatten(1).norm(dim=1), x.flatten(1).norm(dim=1), atol=1e-5)


def test_several_filters_stay_different():
    layer = orthogonal_(GroupLinear(D2, 4, 4, relaxed=True, filters=3))
    assert (layer.filters[0] - layer.filters[1]).abs().max() > 1e-2


def test_representations_that_share_little_give_partial_isometries():
    layer = orthogonal_(EquivariantLinear(D4.regular(), D4.vector() + D4.sign(), 1, 3)).double()
    values = torch.linalg.svdvals(layer.matrix())
    assert ((values - 1).abs().lt(1e-5) | values.lt(1e-5)).all()
    assert values.gt(0.5).any()


def test_plain_layers_and_residual_paths():
    linear = orthogonal_(nn.Linear(4, 4), 2.0)
    assert torch.allclose(linear.weight @ linear.weight.t(), 4 * torch.eye(4), atol=1e-5)
    conv = orthogonal_(nn.Conv2d(2, 3, 3))
    assert torch.allclose(
        conv.weight.flatten(1) @ conv.weight.flatten(1).t(), torch.eye(3), atol=1e-5
    )
    path = orthogonal_(residual(GroupLinear(cyclic(2), 3, 3)), 2.0)
    weight = path.free.linear.weight
    assert torch.allclose(weight @ weight.t(), 4e-6 * torch.eye(6), atol=1e-9)
    assert (path.free.linear.bias == 0).all()


def test_what_cannot_be_orthogonal_is_refused():
    skew = cyclic(2).representation([[[1, 0], [0, 1]], [[1, 1], [0, -1]]], "skew")
    with pytest.raises(UsageError, match=r"has no orthogonal start: it needs orthogonal rep"):
        orthogonal_(LiftLinear(skew, 2, 3))
    with pytest.raises(UsageError, match=r"orthogonal_ knows linear and convolution layers, not R"):
        orthogonal_(nn.ReLU())
