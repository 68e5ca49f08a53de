"""Products in blocks: the same as the dense matrix, for every group that has them."""

import pytest
import torch

from nearsym.groups.catalog import cyclic, dihedral, product
from nearsym.layers.fourier import fourier_blocks
from nearsym.layers.linear import GroupLinear

GROUPS = [dihedral(3), dihedral(4), dihedral(8), product(dihedral(3), dihedral(1))]


def dense(layer, x):
    """The slow, obvious version: Σ_l w[l, h] ψ_l(g⁻¹h) x[h] + b, element by element."""
    group = layer.group
    weights = torch.ones(1, group.order) if layer.relaxed is None else layer.relaxed
    y = torch.zeros(len(x), group.order, layer.out_channels, dtype=x.dtype)
    for w, stored in zip(weights, layer.filters, strict=True):
        psi = layer.over_elements(stored)
        for g in range(group.order):
            for h in range(group.order):
                scale = w[h] if layer.relax == "input" else w[g]
                y[:, g] += scale * (x[:, h] @ psi[group.relative[g, h]])
    return y + layer.bias


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("relax", ["input", "output", None])
@pytest.mark.parametrize("filters", [1, 2])
def test_it_is_the_convolution(group, relax, filters):
    if relax is None and filters > 1:
        pytest.skip("filters belong to relaxed layers")
    torch.manual_seed(0)
    options = {} if relax is None else {"relaxed": True, "relax": relax, "filters": filters}
    layer = GroupLinear(group, 3, 5, **options).double()
    if layer.relaxed is not None:
        torch.nn.init.normal_(layer.relaxed)
    assert layer.blocks is not None
    x = torch.randn(4, group.order, 3, dtype=torch.float64)
    assert torch.allclose(layer(x), dense(layer, x))


def test_gradients_are_those_of_the_convolution():
    torch.manual_seed(0)
    layer = GroupLinear(dihedral(4), 2, 3, relaxed=True).double()
    torch.nn.init.normal_(layer.relaxed)
    x = torch.randn(4, 8, 2, dtype=torch.float64, requires_grad=True)
    asked = [x, *layer.parameters()]
    weight = torch.randn(4, 8, 3, dtype=torch.float64)
    first = torch.autograd.grad((layer(x) * weight).sum(), asked)
    second = torch.autograd.grad((dense(layer, x) * weight).sum(), asked)
    for one, other in zip(first, second, strict=True):
        assert torch.allclose(one, other)


def test_groups_without_real_blocks_stay_dense():
    assert fourier_blocks(cyclic(4)) is None
    torch.manual_seed(0)
    layer = GroupLinear(cyclic(4), 2, 3).double()
    x = torch.randn(5, 4, 2, dtype=torch.float64)
    assert torch.allclose(layer(x), dense(layer, x))


def test_nothing_new_is_saved():
    assert set(GroupLinear(dihedral(4), 2, 3).state_dict()) == {"filters", "bias"}


def test_an_empty_batch_stays_empty():
    layer = GroupLinear(dihedral(3), 2, 5)
    x = torch.zeros(0, 6, 2, requires_grad=True)
    y = layer(x)
    assert y.shape == (0, 6, 5)
    y.sum().backward()
    assert x.grad.shape == x.shape
