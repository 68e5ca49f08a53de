"""GroupLinear against the obvious sum, and its equivariance in both directions."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.layers.linear import GroupLinear, characters
from nearsym.measures.equivariance import equivariance_error

GROUPS = [
    trivial(),
    cyclic(2),
    cyclic(3),
    dihedral(1),
    dihedral(2),
    dihedral(3),
    dihedral(4),
    product(cyclic(2), dihedral(2)),
    product(cyclic(2), cyclic(3)),
]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def obvious(layer, x):
    """Eq. 1 and Eq. 2, element by element."""
    group, n = layer.group, layer.group.order
    psi = [layer.over_elements(f) for f in layer.filters]
    weights = torch.ones(1, n, dtype=x.dtype) if layer.relaxed is None else layer.relaxed
    outputs = []
    for g in range(n):
        y = layer.bias
        for h in range(n):
            for w, p in zip(weights, psi, strict=True):
                weight = w[h] if layer.relax == "input" else w[g]
                y = y + weight * x[..., h, :] @ p[group.relative[g, h]]
        outputs.append(y)
    return torch.stack(outputs, -2)


def gradients(layer, x, y):
    probe = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)
    return torch.autograd.grad((y * probe).sum(), [x, *layer.parameters()])


def close(a, b, dtype):
    scale = max(1.0, float(b.detach().abs().max()))
    return torch.allclose(a, b, rtol=0, atol=10 * TOLERANCE[dtype] * scale)


@given(
    group=st.sampled_from(GROUPS),
    channels=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    filters=st.sampled_from([0, 1, 3]),
    relax=st.sampled_from(["input", "output"]),
    double=st.booleans(),
)
def test_equals_the_obvious_sum(group, channels, filters, relax, double):
    dtype = torch.float64 if double else torch.float32
    options = {"relaxed": filters > 0, "filters": max(1, filters), "relax": relax}
    layer = GroupLinear(group, *channels, **options).to(dtype)
    if layer.relaxed is not None:
        torch.nn.init.normal_(layer.relaxed)
    x = torch.randn(3, group.order, channels[0], dtype=dtype, requires_grad=True)
    fast, slow = layer(x), obvious(layer, x)
    assert close(fast, slow, dtype)
    for a, b in zip(gradients(layer, x, fast), gradients(layer, x, slow), strict=True):
        assert close(a, b, dtype)


@pytest.mark.parametrize("group", GROUPS, ids=repr)
@pytest.mark.parametrize("relax", ["input", "output"])
def test_starts_exact_and_breaks_once_a_weight_moves(group, relax, dtype, tolerance):
    layer = GroupLinear(group, 3, 4, relaxed=True, filters=2, relax=relax).to(dtype)
    x = torch.randn(8, group.order, 3, dtype=dtype)
    act = group.regular().along(-2)
    before = equivariance_error(layer, x, act, act, relative=True)
    assert all(e < tolerance for e in before.values())
    with torch.no_grad():
        layer.relaxed[0, 0] += 0.5
    after = equivariance_error(layer, x, act, act, relative=True)
    assert all(e > 1e-2 for e in after.values())


def test_one_filter_on_the_input_is_scaling_then_the_exact_layer():
    group = dihedral(2)
    relaxed, exact = GroupLinear(group, 3, 5, relaxed=True), GroupLinear(group, 3, 5)
    exact.load_state_dict(
        {k: v for k, v in relaxed.state_dict().items() if k != "relaxed"}, strict=True
    )
    torch.nn.init.normal_(relaxed.relaxed)
    x = torch.randn(6, 4, 3)
    assert torch.allclose(relaxed(x), exact(relaxed.relaxed.t() * x), atol=1e-6)


def test_batch_axes_of_any_number():
    layer = GroupLinear(dihedral(2), 3, 5)
    x = torch.randn(2, 7, 4, 3)
    assert torch.allclose(layer(x)[1, 2], layer(x[1, 2]), atol=1e-6)
    assert layer(torch.zeros(0, 4, 3)).shape == (0, 4, 5)


def test_characters_are_orthogonal_homomorphisms():
    group = product(dihedral(2), cyclic(2))
    table = characters(group)
    assert (table @ table.T == 8 * torch.eye(8).numpy()).all()
    assert all(
        (table[:, group.mul[g, h]] == table[:, g] * table[:, h]).all()
        for g in range(8)
        for h in range(8)
    )
    assert characters(cyclic(3)) is None


def test_bad_options_and_inputs_are_explained():
    group = dihedral(2)
    with pytest.raises(UsageError, match=r"GroupLinear needs a group such as .*got 'D2'"):
        GroupLinear("D2", 3, 4)
    with pytest.raises(UsageError, match=r"`in_channels` must be a whole number ≥ 1, got 0"):
        GroupLinear(group, 0, 4)
    with pytest.raises(UsageError, match=r"Unknown relax of GroupLinear 'inputs'.*mean 'input'"):
        GroupLinear(group, 3, 4, relaxed=True, relax="inputs")
    with pytest.raises(
        UsageError, match=r"3 filters without relaxed weights do no more than one filter"
    ):
        GroupLinear(group, 3, 4, filters=3)
    layer = GroupLinear(group, 3, 4)
    with pytest.raises(UsageError, match=r"expects \(\.\.\., 4, 3\), got shape \(2, 3, 4\)"):
        layer(torch.zeros(2, 3, 4))
    with pytest.raises(UsageError, match=r"expects floating point input, got torch.uint8"):
        layer(torch.zeros(2, 4, 3, dtype=torch.uint8))
    with pytest.raises(UsageError, match=r"parameters of torch.float32, got input of torch.float6"):
        layer(torch.zeros(2, 4, 3, dtype=torch.float64))
