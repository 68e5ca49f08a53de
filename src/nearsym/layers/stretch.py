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
from nearsym.layers.fourier_time import by_tap
from nearsym.layers.time_axis import (
    check_padding,
    check_reach,
    kernel_reach,
    new_length,
    pad_time,
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

    def factors(
        self,
        temporal: Float[Tensor, "filters out tap"],
        relaxed_time: Float[Tensor, "filters time"] | None,
        length: int,
    ) -> Float[Tensor, "filters offset new_time scale_out"]:
        """c_l[d, t] = w[l, t + d] Σ_j τ_l(j) φ(d − σ_i j) for every d in reach, as `depthwise`
        takes them; on a circle w has been continued around it."""
        places, reach = np.array(self.places), np.arange(self.reach[0], self.reach[1] + 1)
        offsets = np.maximum(0, 1 - np.abs(reach[:, None, None] - places))  # (d, scale, tap)
        seen = _constant(offsets.tobytes(), offsets.shape, temporal.dtype, temporal.device)
        made = torch.einsum("dij,loj->ldio", seen, temporal).flatten(2).unsqueeze(2)
        if relaxed_time is None:
            return made.expand(-1, -1, self.new_length(length), -1)
        padded = pad_time(relaxed_time.unsqueeze(0), self.reach, self.padding)[0]
        weights = padded.unfold(1, len(reach), 1).transpose(1, 2)  # (l, d, new_time)
        return made * weights.unsqueeze(-1)

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


@lru_cache(maxsize=64)
def _constant(
    numbers: bytes, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(np.frombuffer(numbers).reshape(shape), dtype=dtype, device=device)


def convolve_taps(
    x: Float[Tensor, "batch channels time"],
    filters: Float[Tensor, "filters out channels tap"],
    bias: Float[Tensor, " out"] | None,
    table: Float[Tensor, "filters scale tap time new_time"],
) -> Float[Tensor, "batch scale out new_time"]:
    """y[i, o, t] = Σ_l Σ_j Σ_s table_l[i, j, s, t] · Σ_c ψ_l[o, c, j] x[c, s] + b[o].

    First every tap of every filter at every step, then the steps: two products.
    """
    batch, channels, _ = x.shape
    kernels = by_tap(filters).view(-1, filters.shape[1], channels)  # (l·tap, out, channels)
    taps = torch.matmul(x.permute(2, 0, 1).flatten(0, 1), kernels.transpose(1, 2))
    taps = taps.view(-1, batch * filters.shape[1])  # (l·tap·time, batch·out)
    steps = table.permute(1, 4, 0, 2, 3).flatten(2).flatten(0, 1)  # (scale·new_time, l·tap·time)
    y = steps @ taps if bias is None else torch.addmm(bias.repeat(batch), steps, taps)
    return y.view(table.shape[1], -1, batch, filters.shape[1]).permute(2, 0, 3, 1)


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
