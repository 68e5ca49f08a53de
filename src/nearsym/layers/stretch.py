"""Kernels over time at several scales.

A kernel is stretched by reading the signal at the steps t + σ_i·j, linearly between samples. The
weights of each tap add up to 1, so a constant signal gives the same response at every scale, and
σ = 1 is an ordinary convolution. Reading between samples is what makes scaling approximate.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nearsym.errors import UsageError
from nearsym.layers.checks import check_whole
from nearsym.layers.constant import sent
from nearsym.layers.time_axis import (
    check_padding,
    check_reach,
    kernel_reach,
    new_length,
    times,
)


class Stretch:
    """Taps of a kernel at every scale: tap j stands at step σ_i·j."""

    def __init__(self, layer: str, scales: Sequence[float], kernel_size: int, padding: str):
        check_whole(layer, kernel_size=kernel_size)
        check_padding(layer, padding)
        _check_scales(layer, scales)
        if padding != "causal" and kernel_size % 2 == 0:
            raise UsageError(
                f"{layer} stretches kernels about their middle, so `kernel_size` must be odd (or "
                f"`padding` causal), got {kernel_size}."
            )
        self.scales, self.taps, self.padding = tuple(scales), kernel_size, padding
        first, last = kernel_reach(kernel_size, padding)
        places = np.array(scales)[:, None] * np.arange(first, last + 1)
        self.reach = int(np.floor(places.min())), int(np.ceil(places.max()))
        self.places = tuple(map(tuple, places.tolist()))

    @property
    def count(self) -> int:
        return len(self.scales)

    def table(
        self, x: Tensor, relaxed_time: Tensor | None
    ) -> Float[Tensor, "filters scale tap time new_time"]:
        """`read_taps` for windows like x, times the relaxed weights of the input steps."""
        how = (self.places, self.reach, self.padding, x.shape[-1], x.dtype, x.device)
        # Kept between calls; a compiled graph has its own.
        table = read_taps(*how) if torch.compiler.is_compiling() else _kept(*how)
        table = table.unsqueeze(0)
        return table if relaxed_time is None else table * relaxed_time[:, None, None, :, None]

    def new_length(self, length: int) -> int:
        return new_length(length, self.reach, self.padding)


def read_taps(
    places: tuple[tuple[float, ...], ...],
    reach: tuple[int, int],
    padding: str,
    length: int,
    dtype: torch.dtype,
    device: torch.device,
) -> Float[Tensor, "scale tap time new_time"]:
    """How far output t at scale i sees step s through tap j, for windows of this length.

        table[i, j, s, t] = φ(s − t − σ_i j)        φ(d) = max(0, 1 − |d|)

    On windows of days a product with this table is far cheaper than a convolution: a kernel of
    few taps serves all scales, and relaxed weights are factors of the table. It has length²
    entries.
    """
    check_reach(length, reach, padding)
    step = torch.arange(length, device=device)
    seen_from = step[-reach[0] : length - reach[1]] if padding == "valid" else step
    taps = sent(torch.tensor(places, dtype=torch.float64), device)
    away = step[:, None] - seen_from - taps[:, :, None, None]
    if padding == "circular":  # the shorter way round
        away = torch.remainder(away + length / 2, length) - length / 2
    return (1 - away.abs()).clamp(min=0).to(dtype)


@lru_cache(maxsize=64)
def _kept(*how: Any) -> Tensor:
    with torch.inference_mode(False):  # kept for later calls, which may need gradients
        return read_taps(*how)


def convolve_taps(
    x: Float[Tensor, "batch channels time"],
    filters: Float[Tensor, "filters out channels tap"],
    bias: Float[Tensor, " out"] | None,
    table: Float[Tensor, "filters scale tap time new_time"],
) -> Float[Tensor, "batch scale out new_time"]:
    """y[i, o, t] = Σ_l Σ_j Σ_s table_l[i, j, s, t] · Σ_c ψ_l[o, c, j] x[c, s] + b[o].

    First every tap of every filter at every step, then the steps: two products.
    """
    batch, out = x.shape[0], filters.shape[1]
    kernels = filters.permute(1, 0, 3, 2).flatten(0, 2)  # (out·l·tap, channels)
    taps = times(kernels, x.permute(2, 0, 1).flatten(0, 1).t())  # …, time·batch
    steps = table.permute(1, 4, 0, 2, 3).flatten(2).flatten(0, 1)  # (scale·new_time, l·tap·time)
    taps = taps.reshape(out, steps.shape[1], batch)
    y = torch.matmul(steps, taps) if bias is None else bias.view(-1, 1, 1) + steps @ taps
    return y.view(out, table.shape[1], table.shape[4], batch).permute(3, 1, 0, 2)


def _check_scales(layer: str, scales: Sequence[float]) -> None:
    values = np.asarray(scales, dtype=float)
    if values.ndim != 1 or len(values) == 0 or not (values > 0).all():
        raise UsageError(f"{layer} needs one or more scales > 0, got {scales!r}.")
    ratios = values[1:] / values[:-1]
    if len(ratios) and (ratios.min() <= 1 or ratios.max() / ratios.min() > 1.01):
        even = np.geomspace(values.min(), values.max(), len(values))
        hint = ", ".join(f"{v:.4g}" for v in even)
        raise UsageError(
            f"{layer}: each scale must be the same factor (to 1 %) above the one before, got "
            f"{tuple(float(v) for v in values)}. Evenly spaced: {hint}."
        )
