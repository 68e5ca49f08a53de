"""Convolution over a short window of time with fewer multiplications, by Fourier's theorem.

A window of T steps and a kernel of K taps, y[t] = Σ_j ψ[j] x[t + first + j], fit on a circle of N
steps, N = T plus what the kernel reaches past the window. There the convolution is one product for
each frequency, a complex one (three real products, after Gauss) but for those with real waves:

    y = D ((A x) ∘ (G ψ))        A: (R, T), G: (R, K), D: (T', R)

With channels each of the R products is one of matrices. A window of 9 days and 5 taps takes R = 16
of them instead of 45, and relaxed weights of the input time, A[r, s] w[s], cost nothing. The three
matrices are dense, so this is for windows of some days: `saves` says when.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

Reach = tuple[int, int]


class Form(NamedTuple):
    """The matrices A, G and D of a convolution."""

    signal: Tensor
    kernel: Tensor
    back: Tensor


def circle(length: int, reach: Reach, padding: str) -> int:
    """N: steps of the smallest circle on which no tap meets what it must not see."""
    return length if padding in ("valid", "circular") else length + max(-reach[0], reach[1])


def products(length: int, reach: Reach, padding: str) -> int:
    """R: one product for each frequency with a real wave, three for each other.

    >>> products(9, (-2, 2), "same")
    16
    """
    size = circle(length, reach, padding)
    return 3 * ((size - 1) // 2) + 1 + (size % 2 == 0)


def saves(x: Tensor, filters: Tensor, reach: Reach, padding: str) -> bool:
    """Whether the form needs fewer multiplications than the plain sum, its matrices included.

    Transforming the kernels reads and writes more than it multiplies: it counts twice. Half
    precision would suffer, and a compiled graph shall not depend on the batch.
    """
    if torch.compiler.is_compiling() or torch.is_autocast_enabled(x.device.type):
        return False
    if x.dtype not in (torch.float32, torch.float64):
        return False
    batch, inputs, length = x.shape
    outputs, taps = filters.shape[1], filters.shape[3]
    count = products(length, reach, padding)
    plain = batch * length * taps * inputs * outputs
    kernels = count * inputs * outputs * (batch + 2 * taps)
    return kernels + count * length * batch * (inputs + outputs) < plain


@lru_cache(maxsize=64)
def form(length: int, reach: Reach, padding: str, dtype: torch.dtype, device: torch.device) -> Form:
    """A, G and D for a window; built once in double precision."""
    size = circle(length, reach, padding)
    tap = np.arange(reach[1] - reach[0] + 1) + (0 if padding == "valid" else reach[0])
    seen = np.arange(length - (len(tap) - 1 if padding == "valid" else 0))
    rows: tuple[list[np.ndarray], ...] = ([], [], [])
    for wave in range(size // 2 + 1):
        omega = 2 * math.pi * wave / size
        real = wave in (0, size / 2)
        for row, more in zip(rows, _wave(omega, real, size, length, tap, seen), strict=True):
            row.extend(more)
    signal, kernel, back = map(np.stack, rows)
    with torch.inference_mode(False):  # kept for later calls, which may need gradients
        made = (torch.tensor(m, dtype=dtype, device=device) for m in (signal, kernel, back.T))
        return Form(*made)


def _wave(
    omega: float, real: bool, size: int, length: int, tap: np.ndarray, seen: np.ndarray
) -> tuple[list[np.ndarray], ...]:
    """Rows of A and G and columns of D of one frequency.

    With X = Σ_s x[s] e^{−iωs} and Ψ = Σ_j ψ[j] e^{iωj}, y[t] sums X Ψ e^{iωt} over frequencies.
    Gauss: Re XΨ = p − r and Im XΨ = p + q for p = (Xr + Xi) Ψr, q = Xr (Ψi − Ψr), r = Xi (Ψr + Ψi).
    """
    step, weight = omega * np.arange(length), (1 if real else 2) / size
    xr, xi = np.cos(step), -np.sin(step)
    kr, ki = np.cos(omega * tap), np.sin(omega * tap)
    yr, yi = weight * np.cos(omega * seen), -weight * np.sin(omega * seen)
    if real:
        return [xr], [kr], [yr]
    return [xr + xi, xr, xi], [kr, ki - kr, kr + ki], [yr + yi, yi, -yr]


def convolve(
    x: Float[Tensor, "batch channels time"],
    filters: Float[Tensor, "filters out channels size"],
    bias: Float[Tensor, " out"] | None,
    relaxed: Float[Tensor, "filters time"] | None,
    reach: Reach,
    padding: str,
) -> Float[Tensor, "batch out new_time"]:
    """y[t] = Σ_l Σ_s w[l, s] ψ_l(s − t) x[s] + b, in memory (time, batch, channels): so the next
    layer finds its input without a copy."""
    batch, channels, length = x.shape
    signal, kernel, back = form(length, reach, padding, x.dtype, x.device)
    if relaxed is not None:
        signal = (relaxed.unsqueeze(1) * signal).flatten(0, 1)  # (l·R, time)
        back = back if len(relaxed) == 1 else back.repeat(1, len(relaxed))
    waves = (signal @ x.permute(2, 0, 1).flatten(1)).view(-1, batch, channels)
    kernels = torch.matmul(kernel, by_tap(filters)).view(-1, filters.shape[1], channels)
    y = torch.bmm(waves, kernels.transpose(1, 2)).flatten(1)  # (l·R, batch·out)
    y = back @ y if bias is None else torch.addmm(bias.repeat(batch), back, y)
    return y.unflatten(1, (batch, -1)).permute(1, 2, 0)


def by_tap(
    filters: Float[Tensor, "filters out channels size"],
) -> Float[Tensor, "filters size out_channels"]:
    """The taps in rows. The copy pays: gradients come back as a wide product, not a narrow one."""
    return filters.permute(0, 3, 1, 2).flatten(2).contiguous()
