"""Convolution over translations and scales of time, separable, exact and relaxed.

An element (σ, t) stretches a signal by σ about its origin and delays it by t. Only a few scales
σ_0 < … < σ_{S−1} are kept, each a constant factor above the one before, so that stretching a signal
by this factor moves its features one place along the scale axis. Features are
(batch, scale, channels, time), oldest step first.

How a kernel is stretched, and why that makes scaling approximate, is in `stretch.py`.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.layers import toeplitz
from nearsym.layers.checks import check_relaxation, check_whole
from nearsym.layers.free import FreeLinear
from nearsym.layers.relaxation import start_equal
from nearsym.layers.stretch import Stretch, convolve_taps
from nearsym.layers.temporal import TemporalReadout
from nearsym.layers.time_axis import (
    check_beside,
    check_length,
    check_window,
    draw_,
    known_length,
    times,
)

SCALES = (0.8, 0.98, 1.2)
"""The paper's scales for trading; their ratios are 1.2250 and 1.2245."""


class ScaleLiftingConv1d(nn.Module):
    """From a signal over time to features over scales and time.

        y[i, t] = Σ_l v[l, i] Σ_j ψ_l(j) (w_l x)(t + σ_i j) + b

    (batch, in, time) → (batch, scale, out, time'). j runs over the taps of a full kernel ψ, around
    0, or up to 0 with `padding="causal"` (see `TranslationConv1d`). Relaxed weights, equal at the
    start: w[l, s] (`relaxed_time`) of the absolute input time, v[l, i] (`relaxed_scale`) of the
    output scale, the only one a lifting layer has.

    >>> ScaleLiftingConv1d(4, 8, 5)
    ScaleLiftingConv1d(4 → 8, kernel_size=5 at scales 0.8, 0.98, 1.2, padding=same)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        length: int | None = None,
        *,
        scales: Sequence[float] = SCALES,
        relaxed: bool = False,
        filters: int = 1,
        padding: str = "same",
        bias: bool = True,
    ):
        super().__init__()
        name = "ScaleLiftingConv1d"
        check_whole(name, in_channels=in_channels, out_channels=out_channels)
        check_relaxation(name, relaxed, filters)
        check_length(name, length, relaxed)
        self.stretch = Stretch(name, scales, kernel_size, padding)
        self.in_channels, self.out_channels, self.length = in_channels, out_channels, length
        self.filters = nn.Parameter(torch.empty(filters, out_channels, in_channels, kernel_size))
        self.relaxed_time = self.relaxed_scale = None
        if relaxed and length is not None:
            self.relaxed_time = nn.Parameter(start_equal(filters, length))
            self.relaxed_scale = nn.Parameter(torch.ones(filters, self.stretch.count))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, gain: float = 3**-0.5) -> None:
        """Draw filters of variance gain² / fan_in; the bias starts at 0, relaxed weights equal."""
        draw_(self.filters, gain, fan_in=self.in_channels * self.stretch.taps)
        _restart(self.bias, self.relaxed_time, self.relaxed_scale)

    def forward(
        self, x: Float[Tensor, "batch in_channels time"]
    ) -> Float[Tensor, "batch scale out_channels new_time"]:
        axes = (self.in_channels,)
        check_window("ScaleLiftingConv1d", x, axes, self.relaxed_time, self.filters)
        table = self.stretch.table(x, self.relaxed_time)
        if self.relaxed_scale is not None:
            table = table * self.relaxed_scale[:, :, None, None, None]
        return convolve_taps(x, self.filters, self.bias, table)

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape: every step in, every step and scale out."""
        length = known_length("ScaleLiftingConv1d", self.length)
        new = (self.stretch.count, self.out_channels, self.stretch.new_length(length))
        return FreeLinear((self.in_channels, length), new, bias=self.bias is not None)

    def __repr__(self) -> str:
        return f"ScaleLiftingConv1d({_describe(self)})"


class ScaleConv1d(nn.Module):
    """From features over scales and time to more of them, separably (Knigge et al. 2022).

        z_l[i, s] = Σ_m A_l(m − i) v[l, m] w[l, s] x[m, s]
        y[i, t]   = Σ_l Σ_j τ_l(j) z_l[i, t + σ_i j] + b

    (batch, scale, in, time) → (batch, scale, out, time'). The kernel over scale and time factors
    into A, which mixes scales and channels at one step, and a stretched temporal kernel τ for each
    output channel. |m − i| goes up to `neighbours`, by default to all scales. Scales beyond the
    kept ones count as zero, so a shift along the scale axis is exact for those outputs whose
    neighbours are all kept. Relaxed weights, equal at the start: w[l, s] (`relaxed_time`) of the
    absolute input time, v[l, m] (`relaxed_scale`) of the input scale.

    >>> ScaleConv1d(8, 16, 5)(torch.zeros(2, 3, 8, 9)).shape
    torch.Size([2, 3, 16, 9])
    """

    difference: Tensor
    kept: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        length: int | None = None,
        *,
        scales: Sequence[float] = SCALES,
        neighbours: int | None = None,
        relaxed: bool = False,
        filters: int = 1,
        padding: str = "same",
        bias: bool = True,
    ):
        super().__init__()
        name = "ScaleConv1d"
        check_whole(name, in_channels=in_channels, out_channels=out_channels)
        check_relaxation(name, relaxed, filters)
        check_length(name, length, relaxed)
        self.stretch = Stretch(name, scales, kernel_size, padding)
        self.in_channels, self.out_channels, self.length = in_channels, out_channels, length
        self.neighbours = self.stretch.count - 1 if neighbours is None else neighbours
        check_whole(name, 0, neighbours=self.neighbours)
        shape = (filters, 2 * self.neighbours + 1, out_channels, in_channels)
        self.filters = nn.Parameter(torch.empty(shape))
        self.temporal = nn.Parameter(torch.empty(filters, out_channels, kernel_size))
        self.relaxed_time = self.relaxed_scale = None
        if relaxed and length is not None:
            self.relaxed_time = nn.Parameter(start_equal(filters, length))
            self.relaxed_scale = nn.Parameter(torch.ones(filters, self.stretch.count))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self._tabulate()
        self.reset_parameters()

    def _tabulate(self) -> None:
        """Which part of A leads from scale m to scale i, and whether there is one."""
        scale = torch.arange(self.stretch.count)
        difference, reach = scale - scale[:, None], self.neighbours  # [i, m] -> m − i
        index = (difference.clamp(-reach, reach) + reach).flatten()
        self.register_buffer("difference", index, persistent=False)
        self.register_buffer("kept", difference.abs() <= reach, persistent=False)

    @torch.no_grad()
    def reset_parameters(self, gain: float = 3**-0.5) -> None:
        """Draw A of variance gain² / fan_in, as for an output that sees the most scales."""
        seen = int(self.kept.sum(1).max())
        draw_(self.filters, gain, fan_in=self.in_channels * seen)
        draw_(self.temporal, 1.0, fan_in=self.stretch.taps)
        _restart(self.bias, self.relaxed_time, self.relaxed_scale)

    def forward(
        self, x: Float[Tensor, "batch scale in_channels time"]
    ) -> Float[Tensor, "batch scale out_channels new_time"]:
        axes = (self.stretch.count, self.in_channels)
        check_window("ScaleConv1d", x, axes, self.relaxed_time, self.filters)
        return self._convolved(x, None)

    def beside(
        self, x: Float[Tensor, "batch scale channels time"], constant: Float[Tensor, "batch more"]
    ) -> Float[Tensor, "batch scale out_channels new_time"]:
        """The layer on x with further channels that are the same at every step and scale.

        They are mixed once for all steps: they cost hardly anything.
        """
        check_beside("ScaleConv1d", x, constant, self.in_channels, self.relaxed_time)
        return self._convolved(x, constant)

    def _convolved(self, x: Tensor, constant: Tensor | None) -> Tensor:
        """In memory (scale, channels, time, batch): mixing is one product, the temporal kernels are
        one matrix for each channel, and the next layer finds its input without a copy."""
        batch, count, channels, length = x.shape
        z = self._mixed(x.permute(1, 2, 3, 0).flatten(2), self.filters[..., :channels])
        z = z.reshape(len(z), length, batch)  # (l·scale·out, time, batch)
        if constant is not None:
            mixing = self.mixing(self.filters[..., channels:]).unflatten(2, (count, -1)).sum(2)
            z = z + (mixing.flatten(0, 1) @ constant.t()).unsqueeze(1)
        y = self._over_time(self.bands(x).transpose(1, 2), z).unflatten(0, (count, -1))
        return y.permute(3, 0, 1, 2)  # from (scale, out, new_time, batch)

    def _mixed(
        self, signal: Float[Tensor, "scale channels many"], filters: Tensor
    ) -> Float[Tensor, "filters_scale_out many"]:
        """Σ_m A_l(m − i) v[l, m] x[m]."""
        if toeplitz.saves(signal, filters):
            return toeplitz.multiply(signal, filters, self.relaxed_scale).flatten(0, 2)
        return times(self.mixing(filters).flatten(0, 1), signal.flatten(0, 1))

    def _over_time(self, bands: Tensor, z: Tensor) -> Float[Tensor, "scale_out new_time batch"]:
        """Σ_l of the products of each channel, and the bias: of one filter in a single call."""
        bias = None if self.bias is None else self.bias.repeat(self.stretch.count)[:, None, None]
        if len(self.filters) == 1 and bias is not None:
            return torch.baddbmm(bias, bands, z)
        y = torch.bmm(bands, z).unflatten(0, (len(self.filters), -1)).sum(0)
        return y if bias is None else y + bias

    def bands(self, x: Tensor) -> Float[Tensor, "filters_scale_out time new_time"]:
        """Σ_j τ_l(j) w[l, s] φ(s − t − σ_i j): the temporal kernels as matrices from s to t."""
        table = self.stretch.table(x, self.relaxed_time)  # (l, scale, tap, time, new_time)
        bands = torch.matmul(self.temporal.unsqueeze(1), table.flatten(3))
        return bands.flatten(0, 2).unflatten(1, (x.shape[-1], -1))

    def read(
        self, x: Float[Tensor, "batch scale in_channels time"], readout: TemporalReadout
    ) -> Float[Tensor, "batch out_channels"]:
        """`readout` of the layer's output, Σ_i Σ_t n[i] u[t] y[i, t], without that output.

        One matrix from all scales m and steps s,
        Σ_l Σ_i A_l(m − i) v[l, m] w[l, s] n[i] Σ_t u[t] Σ_j τ_l(j) φ(s − t − σ_i j).
        """
        over_time, over_scale = readout.weights(x)
        axes = (self.stretch.count, self.in_channels)
        check_window("ScaleConv1d", x, axes, self.relaxed_time, self.filters)
        seen = self.stretch.table(x, self.relaxed_time) @ over_time  # (l, scale, tap, time)
        seen = (seen * over_scale[:, None, None]).expand(len(self.filters), -1, -1, -1)
        seen = torch.einsum("loj,lijs->osli", self.temporal, seen).flatten(2)  # (out, time, l·i)
        mixing = self.mixing().unflatten(1, (self.stretch.count, -1))
        mixing = mixing.permute(2, 0, 1, 3).flatten(1, 2)  # (out, l·i, scale·in)
        kernels = torch.bmm(seen, mixing).transpose(0, 1)  # (time, out, scale·in)
        y = times(kernels, x.permute(3, 1, 2, 0).flatten(1, 2)).sum(0).t()
        return y if self.bias is None else y + self.bias * (over_time.sum() * over_scale.sum())

    def mixing(
        self, filters: Float[Tensor, "filters neighbour out channels"] | None = None
    ) -> Float[Tensor, "filters scale_out scale_in"]:
        """A_l(m − i) v[l, m] as one matrix for each filter: rows (i, out), columns (m, in).

        Those of all channels, or of the filters of some."""
        count, filters = self.stretch.count, self.filters if filters is None else filters
        blocks = filters.index_select(1, self.difference).unflatten(1, (count, count))
        if self.neighbours < count - 1:
            blocks = blocks * self.kept[:, :, None, None]  # (l, i, m, out, in)
        if self.relaxed_scale is not None:
            blocks = blocks * self.relaxed_scale[:, None, :, None, None]
        return blocks.transpose(2, 3).flatten(3, 4).flatten(1, 2)

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape: every step and scale in and out."""
        length, count = known_length("ScaleConv1d", self.length), self.stretch.count
        new = (count, self.out_channels, self.stretch.new_length(length))
        return FreeLinear((count, self.in_channels, length), new, bias=self.bias is not None)

    def __repr__(self) -> str:
        return f"ScaleConv1d({_describe(self)})"


def _restart(bias: Tensor | None, time: Tensor | None, scale: Tensor | None) -> None:
    if bias is not None:
        bias.zero_()
    if time is not None and scale is not None:
        time.fill_(len(time) ** -0.5)
        scale.fill_(1.0)


def _describe(layer: ScaleLiftingConv1d | ScaleConv1d) -> str:
    stretch = layer.stretch
    text = (
        f"{layer.in_channels} → {layer.out_channels}, kernel_size={stretch.taps} at scales "
        f"{', '.join(f'{s:g}' for s in stretch.scales)}, padding={stretch.padding}"
    )
    if layer.relaxed_time is not None:
        text += f", relaxed over {layer.length} steps, filters={len(layer.filters)}"
    return text
