"""Products with all neighbours by the short way beside the plain sum: values and gradients."""

import pytest
import torch

from nearsym.layers import toeplitz
from nearsym.layers.scale import ScaleConv1d

CHANNELS, OUT, BATCH, LENGTH = 30, 28, 12, 9
every_relaxation = pytest.mark.parametrize("filters", [0, 1, 2, 3])


def plain(x, kernels, relaxed):
    """Σ_m v[l, m] ψ_l(m − i) x[m], term by term."""
    n = len(x)
    weights = torch.ones(len(kernels), n) if relaxed is None else relaxed
    return torch.stack(
        [
            torch.stack([sum(v[m] * psi[m - i + n - 1] @ x[m] for m in range(n)) for i in range(n)])
            for psi, v in zip(kernels, weights, strict=True)
        ]
    )


def assert_same(one, other, inputs, tolerance=1e-10):
    torch.testing.assert_close(one, other, rtol=0, atol=tolerance)
    direction = torch.randn_like(one)
    known = [torch.autograd.grad(y, inputs, direction) for y in (one, other)]
    for a, b in zip(*known, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


@every_relaxation
@pytest.mark.parametrize("places", [2, 3])
def test_all_neighbours(filters, places):
    made = {"dtype": torch.float64, "requires_grad": True}
    x = torch.randn(places, CHANNELS, 40, **made)
    kernels = torch.randn(max(1, filters), 2 * places - 1, OUT, CHANNELS, **made)
    relaxed = torch.rand(filters, places, **made) if filters else None
    inputs = [x, kernels] if relaxed is None else [x, kernels, relaxed]
    assert_same(toeplitz.multiply(x, kernels, relaxed), plain(x, kernels, relaxed), inputs)


def test_digits_that_single_precision_loses():
    """Fewer products cost digits; they stay within what a sum of so many terms loses anyway."""
    x, kernels = torch.randn(3, 256, 40), torch.randn(1, 5, 52, 256) / 28
    exact = toeplitz.multiply(x.double(), kernels.double(), None)
    error = (toeplitz.multiply(x, kernels, None) - exact).abs().max() / exact.std()
    assert error < 1e-5


@every_relaxation
def test_the_layer_takes_the_short_way_and_is_the_same(filters, monkeypatch):
    relaxed = {"relaxed": filters > 0, "filters": max(1, filters)}
    layer = ScaleConv1d(CHANNELS, OUT, 5, LENGTH, **relaxed).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    x = torch.randn(BATCH, 3, CHANNELS, LENGTH, dtype=torch.float64, requires_grad=True)
    calls = []
    multiply = toeplitz.multiply
    monkeypatch.setattr(toeplitz, "multiply", lambda *a: calls.append(1) or multiply(*a))
    short = layer(x)
    assert calls
    monkeypatch.setattr(toeplitz, "saves", lambda *_: False)
    assert_same(short, layer(x), [x, *layer.parameters()], 1e-9)


def test_when_it_saves():
    """Not for single windows, few channels, some neighbours only, four scales or half precision."""

    def saves(scales, channels, many, neighbours=2, dtype=torch.float32):
        kernels = torch.zeros(1, 2 * neighbours + 1, channels, channels)
        return toeplitz.saves(torch.zeros(scales, channels, many, dtype=dtype), kernels)

    assert saves(3, 52, 576)
    assert saves(2, 52, 576, neighbours=1)
    assert not saves(3, 52, 9)
    assert not saves(3, 2, 576)
    assert not saves(3, 52, 576, neighbours=1)
    assert not saves(4, 52, 576, neighbours=3)
    assert not saves(1, 52, 576, neighbours=0)
    assert not saves(3, 52, 576, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        assert not saves(3, 52, 576)
