import numpy as np
import pytest
import torch
from torch.nn import functional as F

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product
from nearsym.groups.planar import o2, so2
from nearsym.layers.nonlinearity import Gated, NormReLU, Pointwise
from nearsym.measures.equivariance import equivariance_error

GROUPS = [cyclic(4), cyclic(5), dihedral(1), dihedral(3), dihedral(4)]


def skewed(group):
    basis = np.array([[1.0, 0.7], [0.0, 1.0]])
    return group.representation(basis @ group.vector().matrices @ np.linalg.inv(basis), "skewed")


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_norm_relu_commutes(group, dtype, tolerance):
    rho = group.vector() + group.regular() + group.trivial()
    layer = NormReLU(rho, 3).to(dtype)
    with torch.no_grad():
        layer.bias.normal_()
    x = torch.randn(4, 3 * rho.size, 2, 2, dtype=dtype)
    errors = equivariance_error(layer, x, rho.along(1), rho.along(1), relative=True)
    assert max(errors.values()) < tolerance


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_gated_commutes_with_any_representation(group, dtype, tolerance):
    rho = skewed(group) + group.regular()
    layer = Gated(rho, 3).to(dtype)
    assert layer.in_rep.size == rho.size + layer.blocks.count
    x = torch.randn(4, 3 * layer.in_rep.size, dtype=dtype)
    errors = equivariance_error(layer, x, layer.in_rep.along(1), rho.along(1), relative=True)
    assert max(errors.values()) < tolerance


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_pointwise_commutes_with_permutations(group):
    rho = group.regular() + group.quotient(group.subgroup([group.order - 1]))
    x = torch.randn(4, 2 * rho.size, 3)
    errors = equivariance_error(Pointwise(rho, F.elu), x, rho.along(1), rho.along(1))
    assert max(errors.values()) < 1e-6
    torch.testing.assert_close(Pointwise(rho)(x), x.relu())


@pytest.mark.parametrize("make", [NormReLU, Gated])
def test_continuous_groups(make):
    rho = o2().irrep(2) + o2().sign() + o2().irrep(1)
    layer = make(rho, 2).double()
    in_rep = layer.in_rep if make is Gated else rho
    x = torch.randn(5, 2 * in_rep.size).double()
    for g in [(0.4, False), (2.1, True)]:
        into, out = (torch.tensor(r.matrix(*g)) for r in (in_rep, rho))
        moved = torch.einsum("ij,bjc->bic", into, x.view(5, -1, 2)).flatten(1)
        expected = torch.einsum("ij,bjc->bic", out, layer(x).view(5, -1, 2)).flatten(1)
        torch.testing.assert_close(layer(moved), expected)


def test_norm_relu_is_its_formula():
    rho = so2().trivial() + so2().irrep(1)
    layer = NormReLU(rho, 1, bias=-1.0)
    y = layer(torch.tensor([[0.5, 3.0, 4.0], [-2.0, 0.3, 0.4]]))
    expected = torch.tensor([[0.0, 2.4, 3.2], [-1.0, 0.0, 0.0]])
    torch.testing.assert_close(y, expected, atol=1e-5, rtol=0)


def test_gates_open_and_close():
    layer = Gated(so2().irrep(1), 1)
    y = layer(torch.tensor([[100.0, 1.0, 2.0], [-100.0, 1.0, 2.0], [0.0, 1.0, 2.0]]))
    torch.testing.assert_close(y, torch.tensor([[1.0, 2.0], [0.0, 0.0], [0.5, 1.0]]))


def test_gradients_at_zero_are_finite():
    x = torch.zeros(1, 4, requires_grad=True)
    NormReLU(2 * so2().irrep(1), 1, bias=0.5)(x).sum().backward()
    assert x.grad.isfinite().all()


def test_groups_without_a_plane():
    group = product(cyclic(2), cyclic(2))
    rho = group.regular()
    x = torch.randn(3, 4)
    layer = NormReLU(rho, 1)
    assert max(equivariance_error(layer, x, rho, rho).values()) < 1e-6


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: Pointwise(cyclic(3).vector()), "no pointwise nonlinearity.*NormReLU or Gated"),
        (lambda: Pointwise(so2().irrep(1)), r"irrep1 of SO\(2\) does more than permute"),
        (lambda: NormReLU(skewed(cyclic(3)), 2), "needs an orthogonal representation.*Use Gated"),
        (lambda: NormReLU(dihedral(1).sign(), 0), "`channels` must be a whole number ≥ 1, got 0"),
        (lambda: Gated("sign", 1), "Gated needs a representation.*got 'sign'"),
        (
            lambda: NormReLU(so2().irrep(1), 2)(torch.zeros(1, 3)),
            r"NormReLU expects \(batch, 4, ...\): 2 channels of 2 coordinates, got shape \(1, 3\)",
        ),
        (
            lambda: Gated(so2().irrep(1), 1)(torch.zeros(1, 2)),
            r"Gated expects \(batch, 3, ...\)",
        ),
        (
            lambda: NormReLU(so2().irrep(1), 2)(torch.zeros(1, 4).double()),
            "NormReLU has parameters of torch.float32",
        ),
    ],
)
def test_errors(wrong, text):
    with pytest.raises(UsageError, match=text):
        wrong()
