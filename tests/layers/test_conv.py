"""Lifting and group convolution against the obvious sum, and their equivariance."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Together
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.sizes import EquivarianceWarning
from nearsym.measures.equivariance import equivariance_error

GROUPS = [trivial(), cyclic(2), cyclic(4), dihedral(1), dihedral(2), dihedral(4)]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def on_images(group):
    return ImageAction(group)


def on_features(group):
    return Together(ImageAction(group), group.regular().along(-3))


def moved(group, g, kernel):
    """ψ(g⁻¹·), offset by offset, from the matrices of the plane and nothing else."""
    size = kernel.shape[-1]
    centre = (size - 1) / 2
    result = torch.empty_like(kernel)
    undo = group.plane[group.inverse[g]]
    for row in range(size):
        for column in range(size):
            x, y = undo @ (column - centre, centre - row)
            result[..., row, column] = kernel[..., round(centre - y), round(x + centre)]
    return result


def obvious(layer, x):
    """The sums of the docstrings, one pair of elements at a time."""
    group, n = layer.group, layer.group.order
    lifting = isinstance(layer, LiftingConv2d)
    weights = torch.ones(1, n, dtype=x.dtype) if layer.relaxed is None else layer.relaxed
    parts = [x] if lifting else list(x.unflatten(1, (n, -1)).unbind(1))
    outputs = []
    for g in range(n):
        y = 0
        for h, part in enumerate(parts):
            for w, psi in zip(weights, layer.filters, strict=True):
                k = 0 if lifting else group.relative[g, h]
                weight = w[h] if layer.relax == "input" else w[g]
                kernel = moved(group, g, psi[:, :, k])
                y = y + weight * F.conv2d(part, kernel, None, layer.stride, layer.padding)
        outputs.append(y + layer.bias[:, None, None])
    return torch.cat(outputs, 1)


def gradients(layer, x, y):
    probe = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)
    return torch.autograd.grad((y * probe).sum(), [x, *layer.parameters()])


def assert_same(layer, x, dtype):
    fast, slow = layer(x), obvious(layer, x)
    pairs = [(fast, slow), *zip(gradients(layer, x, fast), gradients(layer, x, slow), strict=True)]
    for a, b in pairs:
        scale = max(1.0, float(b.detach().abs().max()))
        assert torch.allclose(a, b, rtol=0, atol=10 * TOLERANCE[dtype] * scale)


cases = given(
    group=st.sampled_from(GROUPS),
    channels=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    size=st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(0, 1)),
    filters=st.sampled_from([0, 1, 3]),
    relax=st.sampled_from(["input", "output"]),
    double=st.booleans(),
)


@cases
@pytest.mark.filterwarnings("ignore::nearsym.layers.sizes.EquivarianceWarning")
def test_equals_the_obvious_sum(group, channels, size, filters, relax, double):
    dtype = torch.float64 if double else torch.float32
    kernel, stride, padding = size
    options = {"stride": stride, "padding": padding, "relaxed": filters > 0}
    options["filters"] = max(1, filters)
    lifting = LiftingConv2d(group, *channels, kernel, **options).to(dtype)
    convolution = GroupConv2d(group, *channels, kernel, relax=relax, **options).to(dtype)
    for layer, count in ((lifting, channels[0]), (convolution, group.order * channels[0])):
        if layer.relaxed is not None:
            torch.nn.init.normal_(layer.relaxed)
        x = torch.randn(2, count, 6, 6, dtype=dtype, requires_grad=True)
        assert_same(layer, x, dtype)


@pytest.mark.parametrize("group", GROUPS[1:], ids=repr)
@pytest.mark.parametrize("relax", ["input", "output"])
def test_starts_exact_and_breaks_once_a_weight_moves(group, relax, dtype, tolerance):
    options = {"relaxed": True, "filters": 2}
    lifting = LiftingConv2d(group, 2, 3, 3, stride=2, **options).to(dtype)
    convolution = GroupConv2d(group, 2, 3, 3, stride=2, relax=relax, **options).to(dtype)
    cases = [
        (lifting, torch.randn(4, 2, 9, 9, dtype=dtype), on_images(group)),
        (convolution, torch.randn(4, 2 * group.order, 9, 9, dtype=dtype), on_features(group)),
    ]
    for layer, x, act in cases:
        before = equivariance_error(layer, x, act, on_features(group), relative=True)
        assert all(e < tolerance for e in before.values())
        with torch.no_grad():
            layer.relaxed[0, 0] += 0.5
        after = equivariance_error(layer, x, act, on_features(group), relative=True)
        assert all(e > 1e-2 for e in after.values())


def test_subgroup_weights_keep_the_subgroup():
    group = dihedral(4)
    layer = GroupConv2d(group, 2, 2, 3, relaxed=True).double()
    kept = group.subgroup([group.index("mirror_x")])
    with torch.no_grad():
        for value, coset in enumerate(group.right_cosets(kept)):
            layer.relaxed[0, list(coset)] = 1.0 + value
    x = torch.randn(4, 16, 7, 7).double()
    act = on_features(group)
    errors = equivariance_error(layer, x, act, act, relative=True)
    assert errors.pop("mirror_x") < 1e-12
    assert all(e > 1e-2 for e in errors.values())


def test_keeps_channels_last_and_survives_the_change_of_format():
    group = dihedral(2)
    net = torch.nn.Sequential(LiftingConv2d(group, 3, 4, 3), GroupConv2d(group, 4, 4, 3))
    x = torch.randn(2, 3, 9, 9)
    before = net(x)
    y = net.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(y, before, atol=1e-5)


def test_a_stride_that_does_not_fit_warns_once():
    layer = LiftingConv2d(dihedral(1), 1, 1, 3, stride=2)
    text = r"LiftingConv2d with kernel 3, stride 2 .* width of 20 pixels; at 19 it would"
    with pytest.warns(EquivarianceWarning, match=text):
        layer(torch.zeros(1, 1, 20, 20))
    layer(torch.zeros(1, 1, 20, 20))  # silent: warnings are errors here
    layer(torch.zeros(1, 1, 21, 21))
    LiftingConv2d(trivial(), 1, 1, 3, stride=2)(torch.zeros(1, 1, 22, 22))


def test_groups_and_inputs_that_do_not_fit_are_explained():
    with pytest.raises(UsageError, match=r"C3 does not fit the pixel grid.*SteerableConv2d"):
        LiftingConv2d(cyclic(3), 1, 1, 3)
    with pytest.raises(UsageError, match=r"C2×C2 has no plane action"):
        GroupConv2d(product(cyclic(2), cyclic(2)), 1, 1, 3)
    with pytest.raises(UsageError, match=r"`kernel_size` must be a whole number ≥ 1, got 2.5"):
        LiftingConv2d(dihedral(1), 1, 1, 2.5)
    with pytest.raises(UsageError, match=r"`padding` must be a whole number ≥ 0, got -1"):
        GroupConv2d(dihedral(1), 1, 1, 3, padding=-1)
    with pytest.raises(UsageError, match=r"expects \(batch, 8, height, width\), got shape \(1, 2"):
        GroupConv2d(dihedral(2), 2, 1, 3)(torch.zeros(1, 2, 5, 5))
    with pytest.raises(UsageError, match=r"expects floating point input, got torch.uint8"):
        LiftingConv2d(dihedral(1), 3, 1, 3)(torch.zeros(1, 3, 5, 5, dtype=torch.uint8))
