"""Convolution over a window of time, exact and relaxed, and the readout to invariant features.

Time is the last axis, oldest first.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.errors import UsageError, unknown_name
from nearsym.layers import fourier_time
from nearsym.layers.checks import check_relaxation, check_whole
from nearsym.layers.free import FreeLinear
from nearsym.layers.relaxation import start_equal
from nearsym.layers.time_axis import (
    check_beside,
    check_length,
    check_padding,
    check_reach,
    check_window,
    convolve_time,
    draw_,
    kernel_reach,
    known_length,
    new_length,
    pad_time,
    seen_by,
)

READOUTS = ("mean", "last")


class TranslationConv1d(nn.Module):
    """Group convolution over translations of time.

        y[t] = Σ_s Σ_l w[l, s] ψ_l(s − t) x[s] + b

    (batch, in, time) → (batch, out, time'). The relaxed weights w (`relaxed`, of shape
    (filters, length)) belong to the absolute input time s and start equal. Without them, or while
    they are equal, shifting x in time shifts y: exactly where the kernel does not reach past the
    window. What lies there is `padding`:

    - "valid": nothing; y has kernel_size − 1 fewer steps and is exact throughout.
    - "same": zeros on both sides; y has as many steps as x.
    - "causal": zeros in the past; y[t] sees x[s] at s ≤ t only.
    - "circular": the other end of the window; exact under cyclic shifts.

    >>> TranslationConv1d(4, 8, 5, 9, relaxed=True)
    TranslationConv1d(4 → 8, kernel_size=5, padding=same, relaxed over 9 steps, filters=1)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        length: int | None = None,
        *,
        relaxed: bool = False,
        filters: int = 1,
        padding: str = "same",
        bias: bool = True,
    ):
        super().__init__()
        name = "TranslationConv1d"
        check_whole(name, in_channels=in_channels, out_channels=out_channels)
        check_whole(name, kernel_size=kernel_size)
        check_relaxation(name, relaxed, filters)
        check_padding(name, padding)
        check_length(name, length, relaxed)
        self.in_channels, self.out_channels, self.length = in_channels, out_channels, length
        self.kernel_size, self.padding = kernel_size, padding
        self.reach = kernel_reach(kernel_size, padding)
        self.filters = nn.Parameter(torch.empty(filters, out_channels, in_channels, kernel_size))
        self.relaxed = None
        if relaxed and length is not None:
            self.relaxed = nn.Parameter(start_equal(filters, length))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, gain: float = 3**-0.5) -> None:
        """Draw filters of variance gain² / fan_in; by default the start of `nn.Conv1d`."""
        draw_(self.filters, gain, fan_in=self.in_channels * self.kernel_size)
        if self.bias is not None:
            self.bias.zero_()
        if self.relaxed is not None:
            self.relaxed.fill_(len(self.filters) ** -0.5)

    def forward(
        self, x: Float[Tensor, "batch in_channels time"]
    ) -> Float[Tensor, "batch out_channels new_time"]:
        check_window("TranslationConv1d", x, (self.in_channels,), self.relaxed, self.filters)
        return self._convolved(x, self.filters)

    def _convolved(self, x: Tensor, filters: Tensor) -> Tensor:
        check_reach(x.shape[-1], self.reach, self.padding)
        if fourier_time.saves(x, filters, self.reach, self.padding):
            more = (self.bias, self.relaxed, self.reach, self.padding)
            return fourier_time.convolve(x, filters, *more)
        if self.relaxed is not None:
            x = (x.unsqueeze(1) * self.relaxed.unsqueeze(1)).flatten(1, 2)  # (batch, l·in, time)
        kernel = filters.transpose(0, 1).flatten(1, 2)  # (out, l·in, size)
        return convolve_time(pad_time(x, self.reach, self.padding), kernel, self.bias)

    def beside(
        self, x: Float[Tensor, "batch channels time"], constant: Float[Tensor, "batch more"]
    ) -> Float[Tensor, "batch out_channels new_time"]:
        """The layer on x with further channels that are the same at every step.

        Σ_s Σ_l w[l, s] ψ_l(s − t) is one matrix for each t: they cost hardly anything, and nor
        does their gradient if x needs none.
        """
        check_beside("TranslationConv1d", x, constant, self.in_channels, self.relaxed)
        channels = x.shape[1]
        y = self._convolved(x, self.filters[:, :, :channels])
        weights = x.new_ones(1, x.shape[-1]) if self.relaxed is None else self.relaxed
        seen = pad_time(weights.unsqueeze(0), self.reach, self.padding)[0]
        seen = seen.unfold(1, self.kernel_size, 1).transpose(0, 1).flatten(1)  # (new_time, l·size)
        taps = fourier_time.by_tap(self.filters[:, :, channels:]).flatten(0, 1)
        kernels = (seen @ taps).unflatten(1, (self.out_channels, -1))  # (new_time, out, more)
        return y + (constant @ kernels.transpose(1, 2)).permute(1, 2, 0)

    def read(
        self, x: Float[Tensor, "batch in_channels time"], readout: "TemporalReadout"
    ) -> Float[Tensor, "batch out_channels"]:
        """`readout` of the layer's output, Σ_t u[t] y[t], without that output.

        One matrix Σ_l w[l, s] Σ_j u[s − j] ψ_l(j) for each step s.
        """
        over_time, _ = readout.weights(x)
        check_window("TranslationConv1d", x, (self.in_channels,), self.relaxed, self.filters)
        seen = seen_by(over_time, self.reach, self.padding).unsqueeze(1)  # (time, 1, size)
        if self.relaxed is not None:
            seen = seen * self.relaxed.t().unsqueeze(2)
        taps = fourier_time.by_tap(self.filters).flatten(0, 1)  # (l·size, out·in)
        kernels = (seen.flatten(1) @ taps).unflatten(1, (self.out_channels, -1))
        y = torch.bmm(x.permute(2, 0, 1), kernels.transpose(1, 2)).sum(0)
        return y if self.bias is None else y + self.bias * over_time.sum()

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape: every step in, every step out."""
        length = known_length("TranslationConv1d", self.length)
        new = new_length(length, self.reach, self.padding)
        shapes = (self.in_channels, length), (self.out_channels, new)
        return FreeLinear(*shapes, bias=self.bias is not None)

    def extra_repr(self) -> str:
        text = f"{self.in_channels} → {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", padding={self.padding}"
        if self.relaxed is not None:
            text += f", relaxed over {self.length} steps, filters={len(self.filters)}"
        return text


class TemporalReadout(nn.Module):
    """From features over time, and over scale if there is that axis, to plain features.

        y = (1 / S·T) Σ_i Σ_t v[i] w[t] x[i, t]        over="mean"
        y = (1 / S) Σ_i v[i] x[i, T − 1]               over="last"

    (batch, channels, time) or (batch, scale, channels, time) → (batch, channels). The mean is
    invariant to what permutes steps and scales, cyclic shifts among them, while the relaxed
    weights w (`relaxed_time`) and v (`relaxed_scale`) are equal, as at the start; learned, they
    say which steps and scales matter. The last step alone is not invariant: it is equivariant
    features read at the present.

    >>> TemporalReadout(3)(torch.tensor([[[1.0, 2.0, 6.0]]]))
    tensor([[3.]])
    >>> TemporalReadout(3, over="last")(torch.tensor([[[1.0, 2.0, 6.0]]]))
    tensor([[6.]])
    """

    def __init__(
        self,
        length: int,
        scales: int | None = None,
        *,
        over: str = "mean",
        relaxed: bool = False,
    ):
        super().__init__()
        if over not in READOUTS:
            raise unknown_name("readout", over, READOUTS)
        check_whole("TemporalReadout", length=length)
        check_whole("TemporalReadout", scales=1 if scales is None else scales)
        self.length, self.scales, self.over = length, scales, over
        self.relaxed_time = self.relaxed_scale = None
        if relaxed and over == "mean":
            self.relaxed_time = nn.Parameter(torch.ones(1, length))
        if relaxed and scales is not None:
            self.relaxed_scale = nn.Parameter(torch.ones(1, scales))

    def forward(
        self, x: Float[Tensor, "batch *scale channels time"]
    ) -> Float[Tensor, "batch channels"]:
        self._check(x)
        if self.over == "last":
            x = x[..., -1]
        else:
            x = (x if self.relaxed_time is None else x * self.relaxed_time[0]).mean(-1)
        if self.scales is None:
            return x
        if self.relaxed_scale is not None:
            x = x * self.relaxed_scale.view(1, -1, 1)
        return x.mean(1)

    def weights(self, like: Tensor) -> tuple[Float[Tensor, " time"], Float[Tensor, " scale"]]:
        """What each step and each scale counts, as factors of x[i, t]; of the type of `like`."""
        steps = like.new_full((self.length,), 1 / self.length)
        if self.over == "last":
            steps = (torch.arange(self.length, device=like.device) == self.length - 1).to(like)
        if self.relaxed_time is not None:
            steps = steps * self.relaxed_time[0]
        count = 1 if self.scales is None else self.scales
        scales = like.new_full((count,), 1 / count)
        return steps, scales if self.relaxed_scale is None else scales * self.relaxed_scale[0]

    def _check(self, x: Tensor) -> None:
        scales = () if self.scales is None else (self.scales,)
        fits = x.ndim == 3 + len(scales) and x.shape[-1] == self.length
        if not fits or tuple(x.shape[1:-2]) != scales:
            shape = ", ".join(["batch", *map(str, scales), "channels", str(self.length)])
            raise UsageError(f"TemporalReadout expects ({shape}), got shape {tuple(x.shape)}.")

    def extra_repr(self) -> str:
        scales = "" if self.scales is None else f" and {self.scales} scales"
        return f"{self.over} of {self.length} steps{scales}"
