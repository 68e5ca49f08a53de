"""Kernels over time at several scales.

A kernel is stretched by reading the signal at the steps t + σ_i·j, linearly between samples. The
weights of each tap add up to 1, so a constant signal gives the same response at every scale, and
σ = 1 is an ordinary convolution. Reading between samples is what makes scaling approximate.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nearsym.errors import UsageError
from nearsym.layers.checks import check_whole
from nearsym.layers.constant import sent
from nearsym.layers.time_axis import check_padding, check_reach, kernel_reach, new_length


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
        table = read_taps(self.places, self.reach, self.padding, x).unsqueeze(0)
        return table if relaxed_time is None else table * relaxed_time[:, None, None, :, None]

    def new_length(self, length: int) -> int:
        return new_length(length, self.reach, self.padding)


def read_taps(
    places: tuple[tuple[float, ...], ...],
    reach: tuple[int, int],
    padding: str,
    like: Float[Tensor, "*any time"],
) -> Float[Tensor, "scale tap time new_time"]:
    """How far output t at scale i sees step s through tap j, for windows like this one.

        table[i, j, s, t] = φ(s − t − σ_i j)        φ(d) = max(0, 1 − |d|)

    On windows of days a product with this table is far cheaper than a convolution: a kernel of
    few taps serves all scales, and relaxed weights are factors of the table. It has length²
    entries.
    """
    length = like.shape[-1]
    check_reach(length, reach, padding)
    step = torch.arange(length, device=like.device)
    seen_from = step[-reach[0] : length - reach[1]] if padding == "valid" else step
    taps = sent(torch.tensor(places, dtype=torch.float64), like.device)
    away = step[:, None] - seen_from - taps[:, :, None, None]
    if padding == "circular":  # the shorter way round
        away = torch.remainder(away + length / 2, length) - length / 2
    return (1 - away.abs()).clamp(min=0).to(like.dtype)


def convolve_taps(
    x: Float[Tensor, "batch channels time"],
    filters: Float[Tensor, "filters out channels tap"],
    table: Float[Tensor, "filters scale tap time new_time"],
) -> Float[Tensor, "batch out scale new_time"]:
    """y[o, i, t] = Σ_l Σ_j Σ_s table_l[i, j, s, t] · Σ_c ψ_l[o, c, j] x[c, s].

    First every tap of every filter at every step, then the steps: two products.
    """
    taps = x.transpose(1, 2) @ filters.permute(2, 1, 0, 3).flatten(1)  # (batch, time, out·l·tap)
    rows = taps.unflatten(2, (filters.shape[1], -1)).permute(0, 2, 3, 1).flatten(2)
    steps = table.permute(0, 2, 3, 1, 4).flatten(3).flatten(0, 2)  # (l·tap·time, scale·new_time)
    return (rows @ steps).unflatten(2, (table.shape[1], -1))


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
