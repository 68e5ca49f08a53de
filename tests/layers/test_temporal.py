from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from nearsym.errors import UsageError
from nearsym.layers.relaxation import relaxed_weights
from nearsym.layers.residual_path import residual
from nearsym.layers.temporal import TemporalReadout, TranslationConv1d
from nearsym.layers.time_axis import PADDINGS, kernel_reach

DTYPES = {torch.float32: 1e-5, torch.float64: 1e-12}


def slow(layer, x):
    """y[t] = Σ_s Σ_l w[l, s] ψ_l(s − t) x[s] + b, with ψ zero outside its taps, step by step."""
    first, last = kernel_reach(layer.kernel_size, layer.padding)
    steps = x.shape[-1]
    times = range(-first, steps - last) if layer.padding == "valid" else range(steps)
    columns = []
    for t in times:
        y = 0
        for j in range(first, last + 1):
            s = t + j
            if layer.padding == "circular":
                s %= steps
            if not 0 <= s < steps:
                continue
            for i, psi in enumerate(layer.filters):
                w = 1.0 if layer.relaxed is None else layer.relaxed[i, s]
                y = y + w * x[:, :, s] @ psi[:, :, j - first].T
        columns.append(y + torch.zeros(layer.out_channels, dtype=x.dtype))
    y = torch.stack(columns, -1)
    return y if layer.bias is None else y + layer.bias[:, None]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(
    st.sampled_from(PADDINGS),
    st.integers(1, 5),
    st.sampled_from([0, 1, 3]),
    st.integers(5, 9),
    st.integers(1, 3),
)
def test_equals_the_slow_sum_in_values_and_gradients(dtype, padding, size, filters, steps, width):
    layer = TranslationConv1d(
        width, 2, size, steps, padding=padding, relaxed=filters > 0, filters=max(1, filters)
    ).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter))
    x = torch.randn(2, width, steps, dtype=dtype, requires_grad=True)
    fast, obvious = layer(x), slow(layer, x)
    torch.testing.assert_close(fast, obvious, rtol=0, atol=20 * DTYPES[dtype])
    inputs, direction = [x, *layer.parameters()], torch.randn_like(fast)
    gradients = [torch.autograd.grad(y, inputs, direction) for y in (fast, obvious)]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=20 * DTYPES[dtype] * (1 + b.abs().max()))


def stack(padding, *, length, relaxed=False, layers=4):
    """The paper's encoder in shape: four layers with kernel 5."""
    widths = [3, *[4] * layers]
    convs = [
        TranslationConv1d(a, b, 5, length, padding=padding, relaxed=relaxed)
        for a, b in pairwise(widths)
    ]
    return nn.Sequential(*[module for conv in convs for module in (conv, nn.ReLU())])


def shift_error(net, x, steps):
    """Relative difference of net(shifted x) and shifted net(x), at every step that both have."""
    y, moved = net(x[..., :-steps]), net(x[..., steps:])
    return (y[..., steps:] - moved[..., :-steps]).abs().amax((0, 1)) / y.abs().max()


@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
def test_translation_is_exact_away_from_the_borders(padding, dtype, tolerance):
    length = 40
    net = stack(padding, length=length).to(dtype)
    error = shift_error(net, torch.randn(2, 3, length + 3, dtype=dtype), 3).detach()
    border = 4 * 4  # four kernels of 5 reach 16 steps in all
    interior = {
        "valid": error,
        "same": error[border // 2 : -(border // 2)],
        "causal": error[border:],
    }[padding]
    assert len(interior) > 0
    assert interior.max() < tolerance
    if padding != "valid":
        assert error.max() > 0.01  # at the borders zeros take the place of what was there


@pytest.mark.parametrize("relaxed", [False, True])
def test_cyclic_shifts_are_exact_on_circles(relaxed, dtype, tolerance):
    net = stack("circular", length=9, relaxed=relaxed).to(dtype)
    x = torch.randn(2, 3, 9, dtype=dtype)
    gap = (net(x.roll(2, -1)) - net(x).roll(2, -1)).abs().max() / net(x).abs().max()
    assert gap < tolerance
    if relaxed:
        with torch.no_grad():
            net[0].relaxed[:, 0] += 1.0
        gap = (net(x.roll(2, -1)) - net(x).roll(2, -1)).abs().max() / net(x).abs().max()
        assert gap > 0.01


@pytest.mark.parametrize("padding", ["same", "causal"])
def test_a_window_of_nine_has_no_exact_step_under_four_layers(padding):
    """17 steps of sight in 9: no output step is free of the padding."""
    torch.manual_seed(1)
    net = stack(padding, length=9).double()
    error = shift_error(net, torch.randn(64, 3, 10).double(), 1)
    assert error.min() > 1e-4
    one = stack(padding, length=9, layers=1).double()
    error = shift_error(one, torch.randn(64, 3, 10).double(), 1)
    assert error.min() < 1e-12


def test_causal_sees_no_future():
    net = stack("causal", length=9)
    x = torch.randn(1, 3, 9)
    changed = x.clone()
    changed[..., 6:] += 1.0
    torch.testing.assert_close(net(x)[..., :6], net(changed)[..., :6])
    assert (net(x)[..., 6:] - net(changed)[..., 6:]).abs().max() > 1e-4


def test_relaxed_weights_stay_equal_on_closed_batches():
    """Closed under cyclic shifts, with a shift-equivariant target."""
    x = torch.randn(4, 2, 6).double()
    x = torch.cat([x.roll(i, -1) for i in range(6)])
    teacher = TranslationConv1d(2, 3, 3, padding="circular").double()
    student = TranslationConv1d(2, 3, 3, 6, padding="circular", relaxed=True, filters=2).double()
    optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
    for _ in range(30):
        optimizer.zero_grad()
        (student(x) - teacher(x).detach()).square().mean().backward()
        optimizer.step()
    weights = student.relaxed.detach()
    assert weights.std(-1).max() < 1e-12
    assert (weights - 2**-0.5).abs().max() > 0.01


def test_relaxed_weights_find_the_step_that_matters():
    """A target that reads the last step only."""
    x = torch.randn(256, 1, 9)
    layer = TranslationConv1d(1, 1, 1, 9, relaxed=True)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        (layer(x).sum(-1) - x[..., -1]).square().mean().backward()
        optimizer.step()
    weights = relaxed_weights(layer)["relaxed"].abs()[0]
    assert weights[-1] > 3 * weights[:-1].max()


def test_starts_at_the_scale_of_conv1d():
    layer, plain = TranslationConv1d(64, 64, 5, 9, relaxed=True, filters=3), nn.Conv1d(64, 64, 5)
    x = torch.randn(16, 64, 30)
    mixed = TranslationConv1d(64, 64, 5, 30, relaxed=True, filters=3, padding="valid", bias=False)
    assert float((mixed(x).std() / plain(x).std()).detach()) == pytest.approx(1, rel=0.05)
    layer.reset_parameters(gain=2.0)
    assert float(layer.filters.detach().std()) == pytest.approx(2.0 / (64 * 5) ** 0.5, rel=0.05)


def test_residual_path_is_free_over_time():
    layer = TranslationConv1d(2, 3, 5, 9, padding="valid")
    path = residual(layer)
    x = torch.randn(4, 2, 9)
    assert path(x).shape == (4, 3, 5)
    torch.testing.assert_close(path(x), layer(x) + path.free(x))
    assert sum(p.numel() for p in path.free.parameters()) == 18 * 15 + 15


@pytest.mark.parametrize("scales", [None, 3])
def test_mean_readout_is_invariant_until_relaxed(scales):
    shape = (4, 5, 9) if scales is None else (4, scales, 5, 9)
    x = torch.randn(shape).double()
    readout = TemporalReadout(9, scales, relaxed=True).double()
    torch.testing.assert_close(readout(x), x.mean(-1) if scales is None else x.mean((1, 3)))
    torch.testing.assert_close(readout(x.roll(4, -1)), readout(x))
    with torch.no_grad():
        readout.relaxed_time[0, -1] = 3.0
        if scales is not None:
            readout.relaxed_scale[0, 1] = 2.0
    assert (readout(x.roll(4, -1)) - readout(x)).abs().max() > 0.1
    w = readout.relaxed_time[0]
    expected = (x * w).mean(-1)
    if scales is not None:
        expected = (expected * readout.relaxed_scale[0][:, None]).mean(1)
    torch.testing.assert_close(readout(x), expected)


def test_last_readout_reads_the_present():
    x = torch.randn(4, 5, 9)
    torch.testing.assert_close(TemporalReadout(9, over="last")(x), x[..., -1])
    y = torch.randn(4, 3, 5, 9)
    layer = TemporalReadout(9, 3, over="last", relaxed=True)
    torch.testing.assert_close(layer(y), y[..., -1].mean(1))
    assert list(relaxed_weights(layer)) == ["relaxed_scale"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: TranslationConv1d(1, 1, 5, relaxed=True), "so it needs its length"),
        (lambda: TranslationConv1d(1, 1, 5, padding="sme"), "Unknown padding.*Did you mean 'same'"),
        (lambda: TranslationConv1d(1, 0, 5), "`out_channels` must be a whole number ≥ 1, got 0"),
        (lambda: TranslationConv1d(1, 1, 5, 9, filters=2), "2 filters without relaxed weights"),
        (lambda: TranslationConv1d(1, 1, 5, 0), "`length` must be a whole number ≥ 1, got 0"),
        (
            lambda: TranslationConv1d(1, 1, 5, 9, relaxed=True)(torch.zeros(1, 1, 8)),
            r"expects \(batch, 1, 9\), got shape \(1, 1, 8\)",
        ),
        (
            lambda: TranslationConv1d(2, 1, 5)(torch.zeros(1, 9)),
            r"expects \(batch, 2, time\), got shape \(1, 9\)",
        ),
        (
            lambda: TranslationConv1d(1, 1, 5, padding="valid")(torch.zeros(1, 1, 3)),
            "kernel reaches over 5 steps, more than the window's 3",
        ),
        (
            lambda: TranslationConv1d(1, 1, 5)(torch.zeros(1, 1, 9, dtype=torch.int64)),
            "expects floating point input, got torch.int64",
        ),
        (lambda: TranslationConv1d(1, 1, 5).unconstrained(), "needs the window's length"),
        (lambda: TemporalReadout(9, over="first"), "Unknown readout 'first'"),
        (
            lambda: TemporalReadout(9, 3)(torch.zeros(1, 2, 5, 9)),
            r"expects \(batch, 3, channels, 9\), got shape \(1, 2, 5, 9\)",
        ),
    ],
)
def test_errors(wrong, text):
    with pytest.raises(UsageError, match=text):
        wrong()
