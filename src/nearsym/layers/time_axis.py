"""What layers over time share: how far kernels reach, what lies past the window, and checks.

Time is the last axis, oldest first.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.errors import UsageError, unknown_name
from nearsym.layers.checks import check_dtype, check_whole

PADDINGS = ("valid", "same", "causal", "circular")
FEW = 16
"""Columns from which on a product is as fast either way."""


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


def times(
    matrix: Float[Tensor, "*many rows inner"], columns: Float[Tensor, "*many inner columns"]
) -> Float[Tensor, "*many rows columns"]:
    """matrix @ columns; few columns, those of a single window, are several times faster as rows."""
    if not torch.compiler.is_compiling() and columns.shape[-1] < FEW:
        return (columns.mT @ matrix.mT).mT
    return matrix @ columns


def seen_by(
    weights: Float[Tensor, " new_time"], reach: tuple[int, int], padding: str
) -> Float[Tensor, "time size"]:
    """The weight of that output which sees input step s through tap j: u[s − first − j]."""
    first, last = (0, reach[1] - reach[0]) if padding == "valid" else reach
    left, right = (last, last) if padding == "valid" else (last, -first)
    mode = "circular" if padding == "circular" else "constant"
    padded = F.pad(weights.view(1, 1, -1), (left, right), mode=mode)
    return padded[0, 0].unfold(0, last - first + 1, 1).flip(1)


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


def check_beside(
    layer: str, x: Tensor, constant: Tensor, channels: int, relaxed: Tensor | None
) -> None:
    """Channels of x and constant ones, together as many as the layer takes."""
    fits = constant.ndim == 2 and x.shape[-2] + constant.shape[1] == channels
    if not fits or (relaxed is not None and x.shape[-1] != relaxed.shape[-1]):
        raise UsageError(
            f"{layer} takes {channels} channels, got shapes {tuple(x.shape)} and constant "
            f"{tuple(constant.shape)}."
        )
