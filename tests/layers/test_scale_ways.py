"""The short ways of layers over scales of time beside the plain sum: values and all gradients."""

import math

import pytest
import torch

from nearsym.errors import UsageError
from nearsym.layers.scale import ScaleConv1d, ScaleLiftingConv1d
from nearsym.layers.temporal import TemporalReadout
from nearsym.layers.time_axis import PADDINGS, kernel_reach

BATCH, LENGTH = 6, 9
every_padding = pytest.mark.parametrize("padding", PADDINGS)
every_relaxation = pytest.mark.parametrize("filters", [0, 1, 2, 3])


def made(kind, channels, out, padding, filters, **options):
    """A layer away from its start, where relaxed weights are equal and biases zero."""
    relaxed = {"relaxed": filters > 0, "filters": max(1, filters)}
    return moved(kind(channels, out, 5, LENGTH, padding=padding, **relaxed, **options).double())


def moved(layer):
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return layer


def stretched(x, psi, scale, padding):
    """Σ_j ψ(j) x(t + σ j) as a plain convolution with every tap spread over its two neighbours."""
    first, last = kernel_reach(psi.shape[-1], padding)
    near, far = math.floor(first * 1.2), math.ceil(last * 1.2)  # the widest of SCALES
    kernel = [psi.new_zeros(psi.shape[:-1]) for _ in range(far - near + 1)]
    for j in range(first, last + 1):
        low = math.floor(scale * j)
        for place, share in ((low, low + 1 - scale * j), (low + 1, scale * j - low)):
            if share > 0:
                kernel[place - near] = kernel[place - near] + share * psi[..., j - first]
    if padding == "circular":
        x = torch.nn.functional.pad(x, (-near, far), mode="circular")
    elif padding != "valid":
        x = torch.nn.functional.pad(x, (-near, far))
    return torch.nn.functional.conv1d(x, torch.stack(kernel, -1), groups=x.shape[1] // psi.shape[1])


def weights(layer, i):
    if layer.relaxed_time is None:
        return 1.0, [1.0] * layer.stretch.count
    return layer.relaxed_time[i], layer.relaxed_scale[i]


def plain_lifting(layer, x):
    """y[i, t] = Σ_l v[l, i] Σ_j ψ_l(j) (w_l x)(t + σ_i j) + b."""
    rows = []
    for i, scale in enumerate(layer.stretch.scales):
        y = layer.bias[:, None]
        for n, psi in enumerate(layer.filters):
            w, v = weights(layer, n)
            y = y + v[i] * stretched(w * x, psi, scale, layer.stretch.padding)
        rows.append(y)
    return torch.stack(rows, 1)


def plain(layer, x):
    """y[i, t] = Σ_l Σ_j τ_l(j) Σ_m A_l(m − i) v[l, m] (w_l x)[m, t + σ_i j] + b."""
    rows, reach = [], layer.neighbours
    for i, scale in enumerate(layer.stretch.scales):
        y = layer.bias[:, None]
        for n, mix in enumerate(layer.filters):
            w, v = weights(layer, n)
            seen = [m for m in range(layer.stretch.count) if abs(m - i) <= reach]
            z = sum(v[m] * mix[m - i + reach] @ (w * x[:, m]) for m in seen)
            tau = layer.temporal[n].unsqueeze(1)
            y = y + stretched(z, tau, scale, layer.stretch.padding)
        rows.append(y)
    return torch.stack(rows, 1)


def assert_same(one, other, inputs):
    torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
    direction = torch.randn_like(one)
    known = [torch.autograd.grad(y, inputs, direction, allow_unused=True) for y in (one, other)]
    for a, b in zip(*known, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def signal(*shape):
    return torch.randn(BATCH, *shape, LENGTH, dtype=torch.float64, requires_grad=True)


@every_padding
@every_relaxation
def test_lifting(padding, filters):
    layer, x = made(ScaleLiftingConv1d, 5, 4, padding, filters), signal(5)
    assert_same(layer(x), plain_lifting(layer, x), [x, *layer.parameters()])


@every_padding
@every_relaxation
@pytest.mark.parametrize("neighbours", [1, 2])
def test_group_convolution(padding, filters, neighbours):
    layer = made(ScaleConv1d, 5, 4, padding, filters, neighbours=neighbours)
    x = signal(3, 5)
    assert_same(layer(x), plain(layer, x), [x, *layer.parameters()])


@every_padding
@every_relaxation
def test_constant_channels(padding, filters):
    layer, x = made(ScaleConv1d, 5, 4, padding, filters), signal(3, 3)
    constant = torch.randn(BATCH, 2, dtype=torch.float64, requires_grad=True)
    whole = torch.cat([x, constant[:, None, :, None].expand(-1, 3, -1, LENGTH)], 2)
    assert_same(layer.beside(x, constant), plain(layer, whole), [x, constant, *layer.parameters()])


@every_padding
@every_relaxation
@pytest.mark.parametrize("over", ["mean", "last"])
def test_sums_over_the_output(padding, filters, over):
    layer, x = made(ScaleConv1d, 5, 4, padding, filters), signal(3, 5)
    y = plain(layer, x)
    readout = moved(TemporalReadout(y.shape[-1], 3, over=over, relaxed=filters > 0).double())
    inputs = [x, *layer.parameters(), *readout.parameters()]
    assert_same(layer.read(x, readout), readout(y), inputs)


def test_second_derivatives():
    """Gradients of gradients go through too, as a penalty on gradients needs them."""
    layer, x = made(ScaleConv1d, 2, 2, "same", 1), signal(3, 2)
    inputs = [x, *layer.parameters()]

    def slope(y):
        return sum(g.square().sum() for g in torch.autograd.grad(y, inputs, create_graph=True))

    ways = [slope(f.square().sum()) for f in (layer(x), plain(layer, x))]
    ways = [torch.autograd.grad(way, inputs) for way in ways]
    for a, b in zip(*ways, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-8)


def test_features_are_handed_over_without_copies():
    layer = ScaleConv1d(5, 4, 5)
    y = torch.relu(layer(torch.randn(BATCH, 3, 5, LENGTH)))
    assert y.permute(1, 2, 3, 0).is_contiguous()


def test_constant_channels_that_do_not_fit():
    with pytest.raises(UsageError, match="takes 5 channels, got shapes"):
        ScaleConv1d(5, 4, 5).beside(torch.zeros(1, 3, 5, 9), torch.zeros(1, 2))
