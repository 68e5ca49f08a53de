import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from nearsym.errors import UsageError
from nearsym.layers.relaxation import relaxed_weights, spread_penalty
from nearsym.layers.residual_path import residual
from nearsym.layers.scale import SCALES, ScaleConv1d, ScaleLiftingConv1d
from nearsym.layers.temporal import TemporalReadout
from nearsym.layers.time_axis import PADDINGS, kernel_reach

DTYPES = {torch.float32: 1e-5, torch.float64: 1e-12}


def between(x, place, padding):
    """x at a place between samples, linearly; beyond the window zeros, or its other end."""

    def sample(s):
        if padding == "circular":
            s %= x.shape[-1]
        return x[..., s] if 0 <= s < x.shape[-1] else torch.zeros_like(x[..., 0])

    low = math.floor(place)
    return (low + 1 - place) * sample(low) + (place - low) * sample(low + 1)


def times(layer, steps):
    first, last = layer.stretch.reach
    return range(-first, steps - last) if layer.stretch.padding == "valid" else range(steps)


def weights(layer, i):
    if layer.relaxed_time is None:
        return 1.0, [1.0] * len(layer.stretch.scales)
    return layer.relaxed_time[i], layer.relaxed_scale[i]


def slow_lifting(layer, x):
    """y[i, t] = Σ_l v[l, i] Σ_j ψ_l(j) (w_l x)(t + σ_i j) + b."""
    first, last = kernel_reach(layer.stretch.taps, layer.stretch.padding)
    rows = []
    for i, scale in enumerate(layer.stretch.scales):
        columns = []
        for t in times(layer, x.shape[-1]):
            y = layer.bias
            for n, psi in enumerate(layer.filters):
                w, v = weights(layer, n)
                for j in range(first, last + 1):
                    seen = between(w * x, t + scale * j, layer.stretch.padding)
                    y = y + v[i] * seen @ psi[:, :, j - first].T
            columns.append(y)
        rows.append(torch.stack(columns, -1))
    return torch.stack(rows, 1)


def slow_group(layer, x):
    """y[i, t] = Σ_l Σ_j τ_l(j) Σ_m A_l(m − i) v[l, m] (w_l x)[m, t + σ_i j] + b."""
    first, last = kernel_reach(layer.stretch.taps, layer.stretch.padding)
    reach = layer.neighbours
    rows = []
    for i, scale in enumerate(layer.stretch.scales):
        columns = []
        for t in times(layer, x.shape[-1]):
            y = layer.bias
            for n, mix in enumerate(layer.filters):
                w, v = weights(layer, n)
                for j in range(first, last + 1):
                    seen = between(w * x, t + scale * j, layer.stretch.padding)
                    for m in range(max(0, i - reach), min(x.shape[1], i + reach + 1)):
                        z = v[m] * seen[:, m] @ mix[m - i + reach].T
                        y = y + layer.temporal[n, :, j - first] * z
            columns.append(y)
        rows.append(torch.stack(columns, -1))
    return torch.stack(rows, 1)


def assert_same(layer, slow, x, dtype):
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    x.requires_grad_()
    fast, obvious = layer(x), slow(layer, x)
    torch.testing.assert_close(fast, obvious, rtol=0, atol=50 * DTYPES[dtype])
    inputs, direction = [x, *layer.parameters()], torch.randn_like(fast)
    gradients = [torch.autograd.grad(y, inputs, direction) for y in (fast, obvious)]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=20 * DTYPES[dtype] * (1 + b.abs().max()))


options = st.fixed_dictionaries(
    {
        "padding": st.sampled_from(PADDINGS),
        "scales": st.sampled_from([SCALES, (1.0,), (0.5, 1.0, 2.0)]),
        "filters": st.sampled_from([0, 1, 3]),
    }
)


def relaxation(filters):
    return {"relaxed": filters > 0, "filters": max(1, filters)}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(options, st.sampled_from([1, 3]))
def test_lifting_equals_the_slow_sum(dtype, chosen, size):
    chosen = chosen | relaxation(chosen["filters"])
    layer = ScaleLiftingConv1d(2, 2, size, 7, **chosen).to(dtype)
    assert_same(layer, slow_lifting, torch.randn(2, 2, 7, dtype=dtype), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(options, st.sampled_from([1, 3]), st.integers(0, 2))
def test_group_convolution_equals_the_slow_sum(dtype, chosen, size, neighbours):
    chosen = chosen | relaxation(chosen["filters"])
    layer = ScaleConv1d(2, 2, size, 7, neighbours=neighbours, **chosen).to(dtype)
    x = torch.randn(2, len(chosen["scales"]), 2, 7, dtype=dtype)
    assert_same(layer, slow_group, x, dtype)


def network(scales, padding="valid", length=None, relaxed=False):
    """Lifting and two group convolutions that look one scale up and down."""
    more = {"scales": scales, "padding": padding, "relaxed": relaxed, "length": length}
    return nn.Sequential(
        ScaleLiftingConv1d(1, 4, 5, **more),
        nn.ReLU(),
        ScaleConv1d(4, 4, 5, neighbours=1, **more),
        nn.ReLU(),
        ScaleConv1d(4, 4, 5, neighbours=1, **more),
    ).double()


def random_signal(shortest, seed=0):
    """A function of time without periods below `shortest` steps."""
    rng = np.random.default_rng(seed)
    omega = 2 * np.pi / rng.uniform(shortest, 4 * shortest, 6)
    phase, size = rng.uniform(0, 2 * np.pi, 6), rng.normal(size=6)
    return lambda t: (size * np.cos(np.multiply.outer(t, omega) + phase)).sum(-1)


def response(net, signal, times):
    """The features (time, scale, channels) at any times, read from windows around each."""
    reach = sum(max(map(abs, m.stretch.reach)) for m in net if hasattr(m, "stretch"))
    windows = signal(np.asarray(times)[:, None] + np.arange(-reach, reach + 1))
    return net(torch.tensor(windows)[:, None]).detach()[..., 0]


def stretching_error(scales, shortest):
    """How far stretching a signal by one ratio is from one place up the scale axis."""
    ratio, net = scales[1] / scales[0], network(scales)
    signal = random_signal(shortest)
    moments = np.linspace(-30, 30, 25)
    before = response(net, signal, moments)
    after = response(net, lambda t: signal(t / ratio), ratio * moments)
    # Two group convolutions see two scales up and down: these are the outputs clear of borders.
    inside = range(2, len(scales) - 3)
    assert len(inside) > 0
    gap = torch.stack([after[:, i + 1] - before[:, i] for i in inside])
    return float(gap.norm() / torch.stack([before[:, i] for i in inside]).norm())


def test_stretching_moves_features_up_the_scale_axis():
    """Exactly where nothing is read between samples, else as well as lines fit the signal."""
    assert stretching_error([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], shortest=8) < 1e-12
    even = list(np.geomspace(0.8, 0.8 * 1.2247**6, 7))
    coarse, fine = stretching_error(even, shortest=12), stretching_error(even, shortest=36)
    assert coarse < 0.1
    assert fine < 0.02
    assert fine < coarse / 3


def test_wrong_scale_is_noticed():
    """The same measurement with a network whose scales do not match: it can fail."""
    even = np.geomspace(0.8, 0.8 * 1.2247**6, 7)
    net, signal, moments = network(list(even)), random_signal(12), np.linspace(-30, 30, 25)
    before = response(net, signal, moments)[:, 2:4]
    after = response(net, lambda t: signal(t / 1.5), 1.5 * moments)[:, 3:5]
    assert (after - before).norm() / before.norm() > 0.05


@pytest.mark.parametrize("neighbours", [0, 1, 2])
def test_mixing_is_a_convolution_over_scales(neighbours):
    layer = ScaleConv1d(3, 2, 3, scales=(0.5, 1, 2, 4), neighbours=neighbours)
    blocks = layer.mixing()[0].detach().view(4, 2, 4, 3)
    for i in range(3):
        for m in range(3):
            assert torch.equal(blocks[i, :, m], blocks[i + 1, :, m + 1])
    assert blocks[0, :, 3].abs().max() == 0


@pytest.mark.parametrize("relaxed", [False, True])
def test_translation_is_exact_in_the_interior(relaxed):
    """`valid` leaves nothing but interior; relaxed weights of absolute time break it once moved."""
    length = 40
    more = {"padding": "valid", "relaxed": relaxed}
    net = nn.Sequential(
        ScaleLiftingConv1d(2, 3, 5, length, **more), ScaleConv1d(3, 2, 5, length - 6, **more)
    ).double()
    x = torch.randn(4, 2, length + 2).double()

    def gap():
        y, moved = net(x[..., :-2]), net(x[..., 2:])
        return float((y[..., 2:] - moved[..., :-2]).detach().norm() / y.detach().norm())

    assert gap() < 1e-12
    if relaxed:
        with torch.no_grad():
            net[1].relaxed_time[:, 9] += 1.0
        assert gap() > 0.01


def test_relaxed_scale_breaks_the_shift_over_scales():
    layer = ScaleConv1d(2, 2, 1, 5, scales=(1, 2, 4), relaxed=True)
    with torch.no_grad():
        layer.relaxed_scale[:, 0] += 1.0
    blocks = layer.mixing()[0].detach().view(3, 2, 3, 2)
    assert (blocks[0, :, 0] - blocks[1, :, 1]).abs().max() > 0.01


def test_constants_look_the_same_at_every_scale():
    y = ScaleLiftingConv1d(1, 4, 5, padding="valid")(torch.ones(1, 1, 20)).detach()
    torch.testing.assert_close(y, y[:, :1].expand_as(y))


def test_scale_one_is_an_ordinary_convolution():
    layer = ScaleLiftingConv1d(2, 3, 5, scales=(1.0,))
    x = torch.randn(2, 2, 9)
    plain = nn.functional.conv1d(x, layer.filters[0], layer.bias, padding=2)
    torch.testing.assert_close(layer(x)[:, 0], plain)


def test_causal_sees_no_future():
    net = nn.Sequential(
        ScaleLiftingConv1d(1, 2, 5, padding="causal"), ScaleConv1d(2, 2, 5, padding="causal")
    )
    x = torch.randn(1, 1, 9)
    changed = x.clone()
    changed[..., 6:] += 1.0
    torch.testing.assert_close(net(x)[..., :6], net(changed)[..., :6])
    assert (net(x)[..., 6:] - net(changed)[..., 6:]).abs().max() > 1e-3


def test_window_network_with_relaxed_weights():
    """The paper's trading encoder in shape: window 9, kernel 5, four layers, relaxed."""
    more = {"relaxed": True, "padding": "causal"}
    net = nn.Sequential(
        ScaleLiftingConv1d(6, 8, 5, 9, **more),
        nn.ReLU(),
        *[m for _ in range(3) for m in (ScaleConv1d(8, 8, 5, 9, **more), nn.ReLU())],
        TemporalReadout(9, 3, relaxed=True),
    )
    assert net(torch.randn(4, 6, 9)).shape == (4, 8)
    shapes = {name: tuple(w.shape) for name, w in relaxed_weights(net).items()}
    assert shapes["0.relaxed_time"] == (1, 9)
    assert shapes["2.relaxed_scale"] == (1, 3)
    assert len(shapes) == 10
    assert float(spread_penalty(net).detach()) == 0.0


@pytest.mark.parametrize("filters", [1, 3])
def test_signals_keep_their_scale_through_layers(filters):
    more = {"relaxed": True, "filters": filters, "scales": (1.0, 2.0, 4.0), "padding": "valid"}
    x = torch.randn(8, 64, 60)
    lifting = ScaleLiftingConv1d(64, 64, 5, 60, **more)
    lifting.reset_parameters(gain=1.0)
    y = lifting(x).detach()
    assert y.var() == pytest.approx(1.0, rel=0.1)
    group = ScaleConv1d(64, 64, 5, y.shape[-1], **more)
    group.reset_parameters(gain=1.0)
    assert group(torch.randn_like(y)).detach().var() == pytest.approx(1.0, rel=0.15)


def test_residual_paths():
    lifting, group = ScaleLiftingConv1d(2, 3, 5, 9), ScaleConv1d(3, 2, 5, 9)
    x = torch.randn(4, 2, 9)
    y = residual(lifting)(x)
    assert y.shape == (4, 3, 3, 9)
    assert residual(group)(y).shape == (4, 3, 2, 9)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: ScaleConv1d(1, 1, 5, scales=(1.0, 2.0, 3.0)), "Evenly spaced: 1, 1.732, 3"),
        (lambda: ScaleConv1d(1, 1, 5, scales=(2.0, 1.0)), "the same factor"),
        (lambda: ScaleConv1d(1, 1, 5, scales=()), "one or more scales > 0, got ()"),
        (lambda: ScaleLiftingConv1d(1, 1, 4), "`kernel_size` must be odd"),
        (lambda: ScaleLiftingConv1d(1, 1, 5, relaxed=True), "so it needs its length"),
        (lambda: ScaleConv1d(1, 1, 5, neighbours=-1), "`neighbours` must be a whole number ≥ 0"),
        (lambda: ScaleConv1d(1, 1, 5, padding="full"), "Unknown padding of ScaleConv1d 'full'"),
        (
            lambda: ScaleConv1d(4, 1, 5)(torch.zeros(1, 2, 4, 9)),
            r"ScaleConv1d expects \(batch, 3, 4, time\), got shape \(1, 2, 4, 9\)",
        ),
        (
            lambda: ScaleLiftingConv1d(1, 1, 5, padding="valid")(torch.zeros(1, 1, 6)),
            "reaches over 7 steps, more than the window's 6",
        ),
    ],
)
def test_errors(wrong, text):
    with pytest.raises(UsageError, match=text):
        wrong()


def test_an_empty_batch_stays_empty():
    lift, conv = ScaleLiftingConv1d(2, 3, 5), ScaleConv1d(3, 4, 5)
    assert conv(lift(torch.zeros(0, 2, 9))).shape == (0, 3, 4, 9)
