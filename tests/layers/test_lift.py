"""LiftLinear, ProjectLinear and EquivariantLinear against the obvious sums."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product
from nearsym.layers.equivariant_linear import EquivariantLinear
from nearsym.layers.lift import LiftLinear, ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.measures.equivariance import equivariance_error

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
D1, D2, D3, D4 = (dihedral(n) for n in (1, 2, 3, 4))
SKEW = D1.representation({"e": np.eye(2), "mirror_x": [[1.0, 1.0], [0.0, -1.0]]}, "skew")
REPRESENTATIONS = [
    2 * D1.sign() + D1.trivial(),
    SKEW,
    D2.vector() @ D2.sign(),
    D3.vector(),
    D4.quotient(D4.subgroup([4])),
    cyclic(3).regular(),
    2 * D4.vector() + D4.trivial(),
    product(cyclic(2), cyclic(2)).regular(),
]
cases = given(
    rep=st.sampled_from(REPRESENTATIONS),
    channels=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    filters=st.sampled_from([0, 1, 3]),
    double=st.booleans(),
)


def prepared(layer, dtype):
    layer = layer.to(dtype)
    if layer.relaxed is not None:
        torch.nn.init.normal_(layer.relaxed)
    return layer


def options(filters):
    return {"relaxed": filters > 0, "filters": max(1, filters)}


def weights(layer):
    return torch.ones(1, layer.group.order) if layer.relaxed is None else layer.relaxed


def matrices(rep, like):
    return torch.tensor(rep.matrices, dtype=like.dtype)


def vectors(rep, channels, dtype):
    x = torch.randn(3, rep.size, channels, dtype=dtype)
    return (x.squeeze(-1) if channels == 1 else x).requires_grad_()


def assert_same(layer, x, fast, slow):
    probe = torch.linspace(-1, 1, fast.numel(), dtype=fast.dtype).view_as(fast)
    variables = [x, *layer.parameters()]
    pairs = [(fast, slow)]
    grads = [torch.autograd.grad((y * probe).sum(), variables) for y in (fast, slow)]
    for a, b in pairs + list(zip(*grads, strict=True)):
        scale = max(1.0, float(b.detach().abs().max()))
        assert torch.allclose(a, b, rtol=0, atol=10 * TOLERANCE[x.dtype] * scale)


@cases
def test_lift_equals_the_obvious_sum(rep, channels, filters, double):
    dtype = torch.float64 if double else torch.float32
    layer = prepared(LiftLinear(rep, *channels, **options(filters)), dtype)
    x = vectors(rep, channels[0], dtype)
    rho = matrices(rep, x)
    columns = x.view(3, rep.size, channels[0])
    slow = [
        layer.bias
        + sum(
            w[g] * (torch.linalg.inv(rho[g]) @ columns).flatten(1) @ a.t()
            for w, a in zip(weights(layer), layer.filters, strict=True)
        )
        for g in range(rep.group.order)
    ]
    assert_same(layer, x, layer(x), torch.stack(slow, 1))


@cases
def test_project_equals_the_obvious_sum(rep, channels, filters, double):
    dtype = torch.float64 if double else torch.float32
    layer = prepared(ProjectLinear(rep, *channels, **options(filters)), dtype)
    n = rep.group.order
    x = torch.randn(3, n, channels[0], dtype=dtype, requires_grad=True)
    rho = matrices(rep, x)
    slow = torch.zeros(3, rep.size, channels[1], dtype=dtype)
    for g in range(n):
        inner = sum(
            w[g] * x[:, g] @ a.t() for w, a in zip(weights(layer), layer.filters, strict=True)
        ).view(3, rep.size, channels[1])
        slow = slow + rho[g] @ (inner if layer.bias is None else inner + layer.bias) / n
    slow = slow.squeeze(-1) if channels[1] == 1 else slow
    assert_same(layer, x, layer(x), slow)


@pytest.mark.parametrize("rep", REPRESENTATIONS, ids=repr)
def test_lift_and_project_are_exact_until_a_weight_moves(rep, dtype, tolerance):
    lift = LiftLinear(rep, 2, 3, relaxed=True, filters=2).to(dtype)
    project = ProjectLinear(rep, 3, relaxed=True, filters=2).to(dtype)
    group = rep.group
    x = torch.randn(8, rep.size, 2, dtype=dtype)
    f = torch.randn(8, group.order, 3, dtype=dtype)
    features = group.regular().along(-2)
    runs = [(lift, x, rep.along(-2), features), (project, f, features, rep)]
    for layer, data, act_in, act_out in runs:
        errors = equivariance_error(layer, data, act_in, act_out, relative=True)
        assert all(e < tolerance for e in errors.values())
        with torch.no_grad():
            layer.relaxed[:, 0] += 0.5
        errors = equivariance_error(layer, data, act_in, act_out, relative=True)
        assert all(e > 1e-3 for e in errors.values())


PAIRS = [(a, b) for a in REPRESENTATIONS for b in REPRESENTATIONS if a.group == b.group]
PAIRS += [(D4.vector(), D4.regular()), (D4.regular(), D4.vector()), (D3.regular(), D3.vector())]
PAIRS += [(D2.vector(), D2.vector()), (2 * D1.sign(), D1.sign() + D1.trivial())]


@pytest.mark.parametrize(("in_rep", "out_rep"), PAIRS, ids=repr)
@pytest.mark.parametrize("filters", [0, 3])
def test_maps_between_any_representations(in_rep, out_rep, filters, dtype, tolerance):
    layer = EquivariantLinear(in_rep, out_rep, 2, 3, **options(filters)).to(dtype)
    x = torch.randn(8, in_rep.size, 2, dtype=dtype)
    acts = in_rep.along(-2), out_rep.along(-2)
    errors = equivariance_error(layer, x, *acts, relative=True)
    assert all(e < tolerance for e in errors.values())
    if filters:
        with torch.no_grad():
            layer.relaxed[:, 0] += 0.5
        errors = equivariance_error(layer, x, *acts, relative=True)
        assert max(errors.values()) > 1e-3


@pytest.mark.parametrize(("in_rep", "out_rep"), PAIRS, ids=repr)
def test_the_intertwiner_basis_is_complete(in_rep, out_rep):
    # The null space of A ↦ ρ_out(g) A − A ρ_in(g), found without averaging.
    n, m = out_rep.size, in_rep.size
    rows = [
        np.kron(a, np.eye(m)) - np.kron(np.eye(n), b.T)
        for a, b in zip(out_rep.matrices, in_rep.matrices, strict=True)
    ]
    dimension = n * m - np.linalg.matrix_rank(np.concatenate(rows), tol=1e-9)
    layer = EquivariantLinear(in_rep, out_rep, 1, 1)
    assert layer.filters.shape[1] == dimension
    basis = layer.terms().sum(1).flatten(1).detach().numpy()
    assert np.linalg.matrix_rank(basis, tol=1e-6) == dimension


def test_general_maps_equal_the_average_over_the_group(dtype):
    in_rep, out_rep = D4.vector(), D4.regular()
    layer = prepared(EquivariantLinear(in_rep, out_rep, 2, 3, relaxed=True, filters=3), dtype)
    seeds = layer.terms()[:, 0]  # at g = e the seed itself
    rho_in, rho_out = matrices(in_rep, layer.filters), matrices(out_rep, layer.filters)
    slow = torch.zeros(8, 3, 2, 2, dtype=dtype)
    for g in range(8):
        moved = rho_out[g] @ seeds @ torch.linalg.inv(rho_in[g])
        slow = slow + torch.einsum("l,lkoi,kab->aobi", layer.relaxed[:, g], layer.filters, moved)
    scale = 10 * TOLERANCE[dtype]
    assert torch.allclose(layer.matrix(), slow.reshape(24, 4), atol=scale)
    x = torch.randn(5, 2, 2, dtype=dtype)
    bias = layer.bias.mean(0)  # permutations keep only the mean
    y = torch.einsum("aobi,nbi->nao", slow, x) + bias
    assert torch.allclose(layer(x), y, atol=scale)


@pytest.mark.parametrize("relax", ["input", "output"])
@pytest.mark.parametrize("group", [D2, D3, D4], ids=repr)
def test_between_regular_features_it_is_the_group_linear_layer(group, relax):
    general = EquivariantLinear(
        group.regular(), group.regular(), 2, 3, relaxed=True, relax=relax, bias=False
    ).double()
    layer = GroupLinear(group, 2, 3, relaxed=True, relax=relax, bias=False).double()
    assert general.filters.shape[1] == group.order
    with torch.no_grad():
        layer.filters[0] = layer.contract(general.expand(general.filters[0]))
        torch.nn.init.normal_(layer.relaxed)
        general.relaxed.copy_(layer.relaxed)
    x = torch.randn(4, group.order, 2).double()
    assert torch.allclose(general(x), layer(x), atol=1e-12)


def test_one_channel_has_no_axis():
    rep = D4.vector()
    assert LiftLinear(rep, 1, 5)(torch.zeros(3, 2)).shape == (3, 8, 5)
    assert ProjectLinear(rep, 5)(torch.zeros(3, 8, 5)).shape == (3, 2)
    assert EquivariantLinear(rep, rep, 1, 1)(torch.zeros(3, 2)).shape == (3, 2)
    assert EquivariantLinear(rep, rep, 2, 4)(torch.zeros(3, 2, 2)).shape == (3, 2, 4)


def test_bias_reaches_only_what_stays_in_place():
    assert ProjectLinear(2 * D1.sign(), 4).bias is None
    rep = D1.sign() + D1.trivial()
    layer = ProjectLinear(rep, 4)
    y = layer(torch.zeros(1, 2, 4))
    assert y[0, 0] == 0
    assert y[0, 1] != 0


def test_bad_options_are_explained():
    with pytest.raises(UsageError, match=r"LiftLinear needs a representation.*got 'sign'"):
        LiftLinear("sign", 1, 4)
    with pytest.raises(UsageError, match=r"expects \(\.\.\., 2\), got shape \(3, 5\)"):
        LiftLinear(D1.vector(), 1, 4)(torch.zeros(3, 5))
    with pytest.raises(UsageError, match=r"one group, got vector of D1 and vector of D2"):
        EquivariantLinear(D1.vector(), D2.vector(), 1, 1)
    with pytest.raises(UsageError, match=r"Only the zero map is equivariant from sign to trivial"):
        EquivariantLinear(D1.sign(), D1.trivial(), 1, 1)


def test_repr_shows_representations():
    assert repr(LiftLinear(D2.vector(), 3, 4, relaxed=True)) == (
        "LiftLinear(3·(vector) → 4·regular of D2, relaxed, filters=1)"
    )
    assert repr(ProjectLinear(D2.vector(), 4)) == (
        "ProjectLinear(4·regular → vector of D2, bias=False)"
    )
    assert repr(EquivariantLinear(D4.vector(), D4.regular(), 1, 2)) == (
        "EquivariantLinear(vector → 2·(regular) of D4)"
    )


@pytest.mark.parametrize("layer", [LiftLinear, ProjectLinear])
def test_biases_start_as_those_of_the_plain_layer(layer):
    made = layer(8 * dihedral(4).trivial(), 64, *([1000] if layer is LiftLinear else [1]))
    columns = made.expand(made.filters[0]).shape[1]
    assert 0 < made.bias.abs().max() <= columns**-0.5
