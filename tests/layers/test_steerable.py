import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Together
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.planar import o2, so2
from nearsym.layers.init import orthogonal_
from nearsym.layers.nonlinearity import Gated, NormReLU, Pointwise
from nearsym.layers.residual_path import residual
from nearsym.layers.rings import Rings
from nearsym.layers.sizes import EquivarianceWarning, exact_sizes
from nearsym.layers.steerable import SteerableConv2d
from nearsym.measures.equivariance import equivariance_error

GROUPS = [cyclic(2), cyclic(4), dihedral(1), dihedral(2), dihedral(4)]
DTYPES = {torch.float32: 1e-5, torch.float64: 1e-12}


def outputs(group):
    flip = group.quotient(group.subgroup([group.order - 1]))
    return [group.trivial(), group.sign(), group.regular(), group.vector(), flip + group.vector()]


def on_maps(rep):
    """How an element moves feature maps: the pixels, and the coordinates with them."""
    return Together(ImageAction(rep.group), rep.along(1))


def slow(layer, x):
    """Σ_y Σ_k w_k(y) ψ_k(y) f(x + y) with w_k(y) = Σ_l r[l, k](y) c[l, k], term by term."""
    size, p = layer.kernel_size, layer.padding
    x = nn.functional.pad(x, (p, p, p, p))
    x = x.unflatten(1, (layer.in_rep.size, layer.in_channels))
    rows, columns = x.shape[3] - size + 1, x.shape[4] - size + 1
    values = torch.tensor(layer.basis.values, dtype=x.dtype)
    relaxation = torch.tensor(layer.basis.relaxation, dtype=x.dtype)
    y = 0
    for offset in range(size**2):
        row, column = divmod(offset, size)
        seen = x[..., row : row + rows, column : column + columns]
        for k, element in enumerate(values):
            weight = layer.filters[0, :, k]
            if layer.relaxed is not None:
                r = layer.relaxed[:, k] @ relaxation[k, offset]  # one for each filter
                weight = sum(r[i] * layer.filters[i, :, k] for i in range(len(r)))
            y = y + torch.einsum("oi,mn,bnihw->bmohw", weight, element[..., offset], seen)
    y = y[..., :: layer.stride, :: layer.stride].flatten(1, 2)
    bias = layer.full_bias()
    return y if bias is None else y + bias[:, None, None]


@st.composite
def layers(draw):
    group = draw(st.sampled_from([*GROUPS, cyclic(3), dihedral(5), so2(), o2()]))
    if group in (so2(), o2()):
        choices = [group.trivial(), group.irrep(1), group.trivial() + group.irrep(2)]
    else:
        choices = [group.trivial(), group.regular(), group.vector()]
    channels = st.integers(1, 3)
    return SteerableConv2d(
        draw(st.sampled_from(choices)),
        draw(st.sampled_from(choices[1:])),
        draw(channels),
        draw(channels),
        draw(st.integers(2, 4)),
        stride=draw(st.integers(1, 2)),
        padding=draw(st.integers(0, 2)),
        relaxed=(filters := draw(st.sampled_from([0, 1, 3]))) > 0,
        filters=max(1, filters),
    )


@pytest.mark.filterwarnings("ignore::nearsym.layers.sizes.EquivarianceWarning")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(layers())
def test_equals_the_slow_sum_in_values_and_gradients(dtype, layer):
    layer = layer.to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    x = torch.randn(2, layer.in_rep.size * layer.in_channels, 6, 5, dtype=dtype)
    x.requires_grad_()
    inputs = [x, *layer.parameters()]
    fast, obvious = layer(x), slow(layer, x)
    direction = torch.randn_like(fast)
    torch.testing.assert_close(fast, obvious, rtol=0, atol=20 * DTYPES[dtype])
    gradients = [torch.autograd.grad(y, inputs, direction) for y in (fast, obvious)]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=20 * DTYPES[dtype] * (1 + b.abs().max()))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_kernel_as_large_as_the_map_gives_a_vector(size):
    rho = dihedral(2).regular()
    layer = SteerableConv2d(rho, rho, 2, 3, size, relaxed=True, filters=2)
    nn.init.normal_(layer.bias)
    x = torch.randn(2, 8, size, size)
    wider = nn.functional.pad(x, (0, 1))  # one more column: the usual way
    torch.testing.assert_close(layer(x), layer(wider)[..., :1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_exactly_equivariant_into_every_representation(group, relaxed, dtype, tolerance):
    for in_rep in (group.trivial(), group.regular()):
        for out_rep in outputs(group):
            layer = SteerableConv2d(
                in_rep, out_rep, 2, 3, 5, padding=2, relaxed=relaxed, filters=1 + 2 * relaxed
            ).to(dtype)
            x = torch.randn(3, 2 * in_rep.size, 8, 8, dtype=dtype)
            errors = equivariance_error(layer, x, on_maps(in_rep), on_maps(out_rep), relative=True)
            assert max(errors.values()) < tolerance
            if relaxed:
                with torch.no_grad():
                    layer.relaxed[..., 1] += 1.0
                broken = equivariance_error(
                    layer, x, on_maps(in_rep), on_maps(out_rep), relative=True
                )
                assert max(broken.values()) > 0.05


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize(
    ("planar", "grid"), [(so2(), cyclic(4)), (o2(), dihedral(4))], ids=["SO(2)", "O(2)"]
)
def test_continuous_groups_are_exact_on_the_grid(planar, grid, size, relaxed, dtype, tolerance):
    in_rep = planar.trivial() + planar.irrep(1)
    out_rep = planar.irrep(2) + planar.trivial() + planar.irrep(1)
    layer = SteerableConv2d(in_rep, out_rep, 2, 3, size, relaxed=relaxed).to(dtype)
    x = torch.randn(3, 2 * in_rep.size, 9, 9, dtype=dtype)
    actions = on_maps(in_rep.restrict(grid)), on_maps(out_rep.restrict(grid))
    assert max(equivariance_error(layer, x, *actions, relative=True).values()) < tolerance
    if relaxed:
        with torch.no_grad():
            layer.relaxed[..., 1] += 1.0
        assert max(equivariance_error(layer, x, *actions, relative=True).values()) > 0.05


def blobs(points, centres):
    """A smooth picture: Gaussians of width 2.5 pixels around some centres."""
    squared = ((points[..., None, :] - centres) ** 2).sum(-1)
    return np.exp(-squared / (2 * 2.5**2)).sum(-1)


@pytest.mark.parametrize(
    "maps",
    [
        (so2().trivial(), so2().irrep(1) + so2().irrep(2)),
        (o2().trivial(), o2().trivial() + o2().irrep(1)),
    ],
    ids=["SO(2)", "O(2)"],
)
def test_a_turned_picture_turns_the_output(maps):
    """A smooth picture turned by 30 degrees: the output at the centre turns with it."""
    in_rep, out_rep = maps
    layer = SteerableConv2d(in_rep, out_rep, 1, 8, 5).double()
    plain = layer.unconstrained().double()
    line = np.arange(-2.0, 3.0)
    grid = np.stack(np.meshgrid(line, -line), axis=-1)
    angle = math.radians(30)
    turn = in_rep.group.plane(angle)
    centres = np.random.default_rng(0).uniform(-3, 3, (5, 2))
    before, after = (torch.tensor(blobs(grid, c))[None, None] for c in (centres, centres @ turn.T))
    rho = torch.tensor(out_rep.matrix(angle))

    def gap(f):
        y, turned = (f(x).detach().view(out_rep.size, -1) for x in (before, after))
        return float((turned - rho @ y).norm() / y.norm())

    assert gap(layer) < 0.002
    assert gap(plain) > 0.1


def test_other_finite_groups_keep_their_grid_part(dtype, tolerance):
    """Of C_8 the quarter turns map pixels to pixels."""
    group, grid = cyclic(8), cyclic(4)
    rho = group.regular()
    layer = SteerableConv2d(rho, rho, 1, 2, 5).to(dtype)
    x = torch.randn(2, 8, 7, 7, dtype=dtype)
    move = ImageAction(grid)
    for quarter in range(1, 4):
        eighth = 2 * quarter
        moved = rho.along(1).act(eighth, move.act(quarter, x))
        expected = rho.along(1).act(eighth, move.act(quarter, layer(x)))
        gap = (layer(moved) - expected).abs().max() / expected.abs().max()
        assert gap < tolerance


@pytest.mark.parametrize(
    ("in_rep", "out_rep"),
    [
        (dihedral(2).regular(), dihedral(2).sign() + dihedral(2).trivial()),
        (dihedral(4).vector(), dihedral(4).regular()),
        (so2().irrep(1) + so2().trivial(), 2 * so2().irrep(1)),
    ],
    ids=["D2", "D4", "SO(2)"],
)
@pytest.mark.parametrize("relaxed", [False, True])
def test_one_pixel_is_a_linear_map(in_rep, out_rep, relaxed):
    """Between any representations; with one offset there is nothing to relax."""
    layer = SteerableConv2d(in_rep, out_rep, 3, 2, 1, relaxed=relaxed).double()
    assert layer.relaxed is None
    matrix = layer.kernel()[:, :, 0, 0].view(out_rep.size, 2, in_rep.size, 3)
    if isinstance(in_rep.group, type(so2())):
        pairs = [(out_rep.matrix(a), in_rep.matrix(a)) for a in (0.3, 1.9)]
    else:
        pairs = list(zip(out_rep.matrices, in_rep.matrices, strict=True))
    for rho_out, rho_in in pairs:
        left = torch.einsum("ij,jonc->ionc", torch.tensor(rho_out), matrix)
        right = torch.einsum("iomc,mn->ionc", matrix, torch.tensor(rho_in))
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize("gain", [1.0, math.sqrt(2)])
@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize(
    ("in_rep", "out_rep", "filters"),
    [
        (cyclic(4).regular(), cyclic(4).regular(), 1),
        (dihedral(2).regular(), dihedral(2).sign() + dihedral(2).regular(), 3),
        (cyclic(8).trivial(), cyclic(8).regular(), 1),
        (o2().trivial() + o2().irrep(1), o2().irrep(1) + o2().trivial(), 1),
    ],
)
def test_starts_at_the_scale_of_a_plain_convolution(in_rep, out_rep, filters, size, gain):
    layer = SteerableConv2d(
        in_rep, out_rep, 64, 64, size, relaxed=filters > 1, filters=filters, bias=False
    )
    layer.reset_parameters(gain)
    energy = layer.kernel().square().sum((1, 2, 3)).view(out_rep.size, -1).mean(1)
    if layer.relaxed is None and size == 1:
        in_reach = energy > 0  # one pixel may not reach every coordinate
        energy = energy[in_reach]
    torch.testing.assert_close(energy, torch.full_like(energy, gain**2), rtol=0.15, atol=0)


def test_filters_can_start_orthogonal():
    rho = dihedral(2).regular()
    layer = orthogonal_(SteerableConv2d(rho, rho, 4, 6, 3, relaxed=True), gain=1.5)
    matrix = layer.kernel().detach().flatten(1)
    torch.testing.assert_close(matrix @ matrix.T, 1.5**2 * torch.eye(24), atol=1e-4, rtol=0)


def test_bias_keeps_fixed_vectors_only(dtype, tolerance):
    group = dihedral(2)
    rho = group.sign() + group.regular()
    layer = SteerableConv2d(group.regular(), rho, 2, 3, 3).to(dtype)
    assert layer.bias.shape == (1, 3)
    nn.init.normal_(layer.bias)
    assert layer.full_bias().view(5, 3)[0].abs().max() == 0
    x = torch.randn(2, 8, 5, 5, dtype=dtype)
    errors = equivariance_error(layer, x, on_maps(group.regular()), on_maps(rho), relative=True)
    assert max(errors.values()) < tolerance
    assert SteerableConv2d(group.regular(), group.sign(), 2, 3, 3).bias is None


def test_stride_is_exact_at_fitting_sizes_and_warns_at_others():
    rho = dihedral(1).regular()
    layer = SteerableConv2d(rho, rho, 2, 2, 3, stride=2).double()
    actions = on_maps(rho), on_maps(rho)
    assert exact_sizes(layer, range(7, 12)) == [7, 9, 11]
    errors = equivariance_error(layer, torch.randn(2, 4, 9, 9).double(), *actions, relative=True)
    assert max(errors.values()) < 1e-12
    with pytest.warns(EquivarianceWarning, match="not exactly equivariant at a width of 10 pixels"):
        errors = equivariance_error(
            layer, torch.randn(2, 4, 10, 10).double(), *actions, relative=True
        )
    assert max(errors.values()) > 0.1


@pytest.mark.parametrize("relaxed", [False, True])
def test_to_conv2d_and_residual_path(relaxed):
    rho = cyclic(4).regular()
    layer = SteerableConv2d(rho, rho, 2, 3, 3, stride=2, padding=1, relaxed=relaxed)
    nn.init.normal_(layer.bias)
    x = torch.randn(2, 8, 7, 7)
    torch.testing.assert_close(layer.to_conv2d()(x), layer(x))
    path = residual(layer)
    torch.testing.assert_close(path(x), layer(x) + path.free(x))
    assert 0 < path.free(x).norm() < 0.01 * layer(x).norm()


def pixel_policy(group, action, *, relaxed):
    """A small encoder, and a policy that reads the whole map with one steerable kernel."""
    one, many = group.trivial(), group.regular()
    encoder = nn.Sequential(
        SteerableConv2d(one, many, 3, 4, 3, stride=2, relaxed=relaxed),
        Pointwise(many),
        SteerableConv2d(many, many, 4, 4, 3, relaxed=relaxed),
        Pointwise(many),
    )
    policy = nn.Sequential(
        SteerableConv2d(many, many, 4, 6, 7, relaxed=relaxed),  # the 7×7 map to a vector
        Pointwise(many),
        SteerableConv2d(many, action, 6, 1, 1),
        nn.Flatten(),
    )
    return nn.Sequential(encoder, policy)


@pytest.mark.parametrize("group", [dihedral(1), dihedral(2), dihedral(4)], ids=str)
@pytest.mark.parametrize("relaxed", [False, True])
def test_encoder_and_policy(group, relaxed):
    action = group.sign() + group.trivial()
    net = pixel_policy(group, action, relaxed=relaxed).double()
    x = torch.randn(3, 3, 19, 19).double()
    errors = equivariance_error(net, x, ImageAction(group), action, relative=True)
    assert max(errors.values()) < 1e-12
    if relaxed:
        with torch.no_grad():
            net[1][0].relaxed[..., 1] += 1.0
        errors = equivariance_error(net, x, ImageAction(group), action, relative=True)
        assert max(errors.values()) > 0.01


def test_invariant_critic_of_map_and_action():
    group = dihedral(2)
    action, many = group.sign() + group.trivial(), group.regular()
    of_map = SteerableConv2d(many, many, 4, 6, 7, relaxed=True).double()
    of_action = SteerableConv2d(action, many, 1, 6, 1, bias=False).double()
    value = SteerableConv2d(many, group.trivial(), 6, 1, 1).double()

    def critic(z, a):
        return value(torch.relu(of_map(z) + of_action(a[:, :, None, None]))).flatten(1)

    z, a = torch.randn(3, 16, 7, 7).double(), torch.randn(3, 2).double()
    errors = equivariance_error(critic, (z, a), (on_maps(many), action), group.trivial())
    assert max(errors.values()) < 1e-12


def test_continuous_network_with_gates_and_norms(tolerance, dtype):
    hidden = o2().trivial() + o2().irrep(1) + o2().sign()
    gate = Gated(hidden, 4)
    net = nn.Sequential(
        SteerableConv2d(o2().trivial(), gate.in_rep, 1, 4, 5),
        gate,
        SteerableConv2d(hidden, hidden, 4, 4, 3),
        NormReLU(hidden, 4),
        SteerableConv2d(hidden, o2().irrep(1), 4, 1, 3),
    ).to(dtype)
    grid = dihedral(4)
    x = torch.randn(2, 1, 11, 11, dtype=dtype)
    out = on_maps(o2().irrep(1).restrict(grid))
    errors = equivariance_error(net, x, ImageAction(grid), out, relative=True)
    assert max(errors.values()) < tolerance


def test_wider_bands_give_more_kernels():
    rho = so2().irrep(2)
    narrow, wide = (SteerableConv2d(rho, rho, 1, 1, 5, rings=Rings(band=b)) for b in (1.0, 2.0))
    assert narrow.filters.shape[2] < wide.filters.shape[2]


RHO = cyclic(4).regular()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (
            lambda: SteerableConv2d(RHO, RHO, 0, 1, 3),
            "`in_channels` must be a whole number ≥ 1, got 0",
        ),
        (lambda: SteerableConv2d(RHO, RHO, 1, 1, 2.5), "`kernel_size` must be a whole number ≥ 1"),
        (
            lambda: SteerableConv2d(RHO, RHO, 1, 1, 3, stride=0),
            "`stride` must be a whole number ≥ 1",
        ),
        (
            lambda: SteerableConv2d(RHO, RHO, 1, 1, 3, padding=-1),
            "`padding` must be a whole number ≥ 0",
        ),
        (
            lambda: SteerableConv2d(RHO, RHO, 1, 1, 3, filters=2),
            "2 filters without relaxed weights",
        ),
        (lambda: SteerableConv2d("C4", RHO, 1, 1, 3), "such as cyclic.*got 'C4'"),
        (
            lambda: SteerableConv2d(RHO, RHO, 2, 1, 3)(torch.zeros(1, 4, 5, 5)),
            r"from regular expects \(batch, 8, height, width\), got shape \(1, 4, 5, 5\)",
        ),
        (
            lambda: SteerableConv2d(RHO, RHO, 1, 1, 3)(torch.zeros(1, 4, 5, 5, dtype=torch.uint8)),
            "expects floating point input, got torch.uint8",
        ),
        (
            lambda: SteerableConv2d(RHO, RHO, 1, 1, 3)(torch.zeros(1, 4, 5, 5).double()),
            "has parameters of torch.float32, got input of torch.float64",
        ),
    ],
)
def test_errors(wrong, text):
    with pytest.raises(UsageError, match=text):
        wrong()
