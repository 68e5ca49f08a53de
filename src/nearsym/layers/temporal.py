"""Convolution over a window of time, exact and relaxed, and the readout to invariant features.

Time is the last axis, oldest first.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.errors import UsageError, unknown_name
from nearsym.layers.checks import check_dtype, check_relaxation, check_whole
from nearsym.layers.free import FreeLinear
from nearsym.layers.relaxation import start_equal

PADDINGS = ("valid", "same", "causal", "circular")
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
        if self.relaxed is not None:
            x = (x.unsqueeze(1) * self.relaxed.unsqueeze(1)).flatten(1, 2)  # (batch, l·in, time)
        kernel = self.filters.transpose(0, 1).flatten(1, 2)  # (out, l·in, size)
        return convolve_time(pad_time(x, self.reach, self.padding), kernel, self.bias)

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

    def _check(self, x: Tensor) -> None:
        scales = () if self.scales is None else (self.scales,)
        fits = x.ndim == 3 + len(scales) and x.shape[-1] == self.length
        if not fits or tuple(x.shape[1:-2]) != scales:
            shape = ", ".join(["batch", *map(str, scales), "channels", str(self.length)])
            raise UsageError(f"TemporalReadout expects ({shape}), got shape {tuple(x.shape)}.")

    def extra_repr(self) -> str:
        scales = "" if self.scales is None else f" and {self.scales} scales"
        return f"{self.over} of {self.length} steps{scales}"


def kernel_reach(kernel_size: int, padding: str) -> tuple[int, int]:
    """The first and last input step that y[t] sees, relative to t; centred unless causal."""
    if padding == "causal":
        return 1 - kernel_size, 0
    return -((kernel_size - 1) // 2), kernel_size // 2


def pad_time(x: Tensor, reach: tuple[int, int], padding: str) -> Tensor:
    """What stands before and after the window, on the last axis of (batch, channels, time)."""
    check_reach(x.shape[-1], reach, padding)
    if padding == "valid":
        return x
    sides = (-reach[0], reach[1])
    return F.pad(x, sides, mode="circular") if padding == "circular" else F.pad(x, sides)


def convolve_time(
    x: Float[Tensor, "batch channels time"],
    kernel: Float[Tensor, "out channels size"],
    bias: Float[Tensor, " out"] | None,
) -> Float[Tensor, "batch out new_time"]:
    """`F.conv1d` as one matrix product: on windows of a few steps several times faster."""
    steps = x.transpose(1, 2)
    size = kernel.shape[2]
    count = steps.shape[1] - size + 1
    taps = torch.cat([steps[:, j : j + count] for j in range(size)], dim=2)
    return F.linear(taps, kernel.transpose(1, 2).flatten(1), bias).transpose(1, 2)


def new_length(length: int, reach: tuple[int, int], padding: str) -> int:
    return length - (reach[1] - reach[0]) if padding == "valid" else length


def draw_(parameter: Tensor, gain: float, fan_in: int) -> None:
    bound = gain * (3 / fan_in) ** 0.5
    nn.init.uniform_(parameter, -bound, bound)


def check_padding(layer: str, padding: str) -> None:
    if padding not in PADDINGS:
        raise unknown_name(f"padding of {layer}", padding, PADDINGS)


def check_reach(length: int, reach: tuple[int, int], padding: str) -> None:
    needed = reach[1] - reach[0] + 1
    if length < needed and padding in ("valid", "circular"):
        raise UsageError(
            f"A kernel reaches over {needed} steps, more than the window's {length}: with "
            f'padding "{padding}" it needs a longer window or fewer taps.'
        )


def check_length(layer: str, length: int | None, relaxed: bool) -> None:
    if length is not None:
        check_whole(layer, length=length)
    elif relaxed:
        raise UsageError(
            f"{layer}: relaxed weights belong to the steps of the window, so it needs its length."
        )


def known_length(layer: str, length: int | None) -> int:
    if length is None:
        raise UsageError(f"{layer}: an unconstrained counterpart needs the window's length.")
    return length


def check_window(
    layer: str, x: Tensor, axes: tuple[int, ...], relaxed: Tensor | None, parameter: Tensor
) -> None:
    """(batch, *axes, time), with as many steps as there are relaxed weights."""
    time_fits = relaxed is None or x.shape[-1] == relaxed.shape[-1]
    if x.ndim != len(axes) + 2 or tuple(x.shape[1:-1]) != axes or not time_fits:
        time = "time" if relaxed is None else str(relaxed.shape[-1])
        shape = ", ".join(["batch", *map(str, axes), time])
        raise UsageError(f"{layer} expects ({shape}), got shape {tuple(x.shape)}.")
    check_dtype(layer, x, parameter)
