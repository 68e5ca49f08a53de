"""The short ways of layers over time beside plain convolutions: values and all gradients."""

import pytest
import torch
from torch.nn import functional as F

from nearsym.errors import UsageError
from nearsym.layers import fourier_time
from nearsym.layers.temporal import TemporalReadout, TranslationConv1d
from nearsym.layers.time_axis import PADDINGS, kernel_reach

BATCH, CHANNELS, OUT = 24, 30, 28
every_padding = pytest.mark.parametrize("padding", PADDINGS)
every_relaxation = pytest.mark.parametrize("filters", [0, 1, 2, 3])


def translation(padding, filters, *, size=5, length=9):
    layer = TranslationConv1d(
        CHANNELS, OUT, size, length, padding=padding, relaxed=filters > 0, filters=max(1, filters)
    ).double()
    return moved(layer)


def moved(layer):
    """Away from the start, where relaxed weights are equal and biases zero."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return layer


def plain(layer, x):
    """`F.conv1d` of every filter, on the input times its relaxed weights."""
    first, last = kernel_reach(layer.kernel_size, layer.padding)
    y = 0
    for i, psi in enumerate(layer.filters):
        weighted = x if layer.relaxed is None else x * layer.relaxed[i]
        if layer.padding == "circular":
            weighted = F.pad(weighted, (-first, last), mode="circular")
        elif layer.padding != "valid":
            weighted = F.pad(weighted, (-first, last))
        y = y + F.conv1d(weighted, psi)
    return y + layer.bias[:, None]


def assert_same(one, other, inputs):
    """Equal values, and equal gradients of every input that has one."""
    torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
    direction = torch.randn_like(one)
    known = [torch.autograd.grad(y, inputs, direction, allow_unused=True) for y in (one, other)]
    for a, b in zip(*known, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def signal(channels=CHANNELS, length=9):
    return torch.randn(BATCH, channels, length, dtype=torch.float64, requires_grad=True)


@every_padding
@every_relaxation
@pytest.mark.parametrize(("size", "length"), [(5, 9), (4, 9), (3, 8), (1, 5)])
def test_convolution_by_frequencies(padding, filters, size, length):
    layer, x = translation(padding, filters, size=size, length=length), signal(length=length)
    more = (layer.bias, layer.relaxed, layer.reach, padding)
    y = fourier_time.convolve(x, layer.filters, *more)
    assert_same(y, plain(layer, x), [x, *layer.parameters()])


@every_padding
@every_relaxation
def test_the_layer_takes_the_short_way_and_is_the_same(padding, filters, monkeypatch):
    layer, x = translation(padding, filters), signal()
    saves = fourier_time.saves(x, layer.filters, layer.reach, padding)
    assert saves or padding == "valid"  # which has but 25 of 45 products to begin with
    assert_same(layer(x), plain(layer, x), [x, *layer.parameters()])
    monkeypatch.setattr(fourier_time, "saves", lambda *_: False)
    assert_same(layer(x), plain(layer, x), [x, *layer.parameters()])


@pytest.mark.parametrize("padding", ["same", "causal"])
def test_kernels_longer_than_the_window(padding):
    layer, x = translation(padding, 1, size=7, length=3), signal(length=3)
    y = fourier_time.convolve(x, layer.filters, layer.bias, layer.relaxed, layer.reach, padding)
    assert_same(y, plain(layer, x), [x, *layer.parameters()])


def test_when_it_saves():
    """Not for single windows, long ones or few channels, nor in half precision or graphs."""

    def saves(batch, channels, length, dtype=torch.float32):
        x, filters = torch.zeros(batch, channels, length), torch.zeros(1, channels, channels, 5)
        return fourier_time.saves(x.to(dtype), filters, (-2, 2), "same")

    assert saves(64, 52, 9)
    assert not saves(1, 52, 9)
    assert not saves(64, 2, 9)
    assert not saves(64, 52, 1000)
    assert not saves(64, 52, 9, torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        assert not saves(64, 52, 9)


def test_features_are_handed_over_without_copies():
    """The output lies in memory as the next layer reads it, through a ReLU too."""
    layer = TranslationConv1d(CHANNELS, OUT, 5, 9)
    y = torch.relu(layer(torch.randn(BATCH, CHANNELS, 9)))
    assert y.permute(2, 0, 1).is_contiguous()


def test_matrices_made_without_gradients_serve_with_them():
    fourier_time.form.cache_clear()
    layer = TranslationConv1d(CHANNELS, OUT, 5, 9, relaxed=True)
    x = torch.randn(BATCH, CHANNELS, 9)
    with torch.inference_mode():
        layer(x)
    layer(x).sum().backward()
    assert layer.relaxed.grad is not None


def test_the_same_numbers_every_time():
    layer, x = TranslationConv1d(CHANNELS, OUT, 5, 9, relaxed=True), torch.randn(BATCH, CHANNELS, 9)
    parameters = list(layer.parameters())
    runs = [torch.autograd.grad(layer(x).square().sum(), parameters) for _ in range(3)]
    for again in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(runs[0], again, strict=True))


def beside_each_other(x, constant):
    """Constant channels spelled out, after those of x."""
    for _ in range(x.ndim - 3):
        constant = constant.unsqueeze(1)
    shape = (*x.shape[:-2], constant.shape[-1], x.shape[-1])
    return torch.cat([x, constant.unsqueeze(-1).expand(shape)], -2)


@every_padding
@every_relaxation
def test_constant_channels(padding, filters):
    layer, x = translation(padding, filters), signal(CHANNELS - 4)
    constant = torch.randn(BATCH, 4, dtype=torch.float64, requires_grad=True)
    y = layer.beside(x, constant)
    inputs = [x, constant, *layer.parameters()]
    assert_same(y, plain(layer, beside_each_other(x, constant)), inputs)


@every_padding
@every_relaxation
@pytest.mark.parametrize("over", ["mean", "last"])
def test_sums_over_the_output(padding, filters, over):
    layer, x = translation(padding, filters), signal()
    steps = plain(layer, x).shape[-1]
    readout = moved(TemporalReadout(steps, over=over, relaxed=filters > 0).double())
    inputs = [x, *layer.parameters(), *readout.parameters()]
    assert_same(layer.read(x, readout), readout(plain(layer, x)), inputs)


def test_constant_channels_that_do_not_fit():
    layer = TranslationConv1d(CHANNELS, OUT, 5, 9).double()
    with pytest.raises(UsageError, match="takes 30 channels, got shapes"):
        layer.beside(signal(), torch.zeros(BATCH, 4, dtype=torch.float64))
