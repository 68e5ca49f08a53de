"""Products with all neighbours on a short axis with fewer multiplications (Toom and Cook).

    y[i] = Σ_m ψ(m − i) x[m]        0 ≤ i, m < n

looks like n² products. Read backwards it is the product of two polynomials of n coefficients, which
is known from its values at 2n − 1 points. So

    y = D ((A x) ∘ (G ψ))        A: (2n − 1, n), G: (2n − 1, 2n − 1), D: (n, 2n − 1)

takes 2n − 1 products. With channels each is one of matrices: five instead of nine for three scales.
"""

from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nearsym.layers.fourier_time import Form

POINTS = (0.0, 1.0, -1.0, 0.5)
"""Where polynomials are evaluated, beside infinity. More points would cost digits."""


def saves(
    x: Float[Tensor, "place channels many"], kernels: Float[Tensor, "filters difference out in"]
) -> bool:
    """Whether the form is there and needs fewer multiplications, its matrices included.

    The same applies as in `fourier_time.saves`: transforms count twice.
    """
    if torch.compiler.is_compiling() or torch.is_autocast_enabled(x.device.type):
        return False
    places, channels, many = x.shape
    out, count = kernels.shape[2], 2 * places - 1
    if count != kernels.shape[1] or not 1 < count <= len(POINTS) + 1:
        return False
    if x.dtype not in (torch.float32, torch.float64):
        return False
    transforms = count * (places * many * (channels + out) + count * channels * out)
    return count * channels * out * many + 2 * transforms < places**2 * channels * out * many


@lru_cache(maxsize=64)
def form(places: int, dtype: torch.dtype, device: torch.device) -> Form:
    """A, G and D; built once in double precision.

    With V the values of polynomials of 2n − 1 coefficients and A those of the first n, G = V⁻ᵀ
    and D = Aᵀ read from its last row.
    """
    count = 2 * places - 1
    values = np.vander(POINTS[: count - 1], count, increasing=True)
    values = np.vstack([values, np.eye(count)[-1]])  # at infinity the last coefficient is left
    signal = np.vstack([values[:-1, :places], np.eye(places)[-1]])
    with torch.inference_mode(False):  # kept for later calls, which may need gradients
        made = (signal, np.linalg.inv(values).T, signal.T[::-1].copy())
        return Form(*(torch.tensor(m, dtype=dtype, device=device) for m in made))


def multiply(
    x: Float[Tensor, "place channels many"],
    kernels: Float[Tensor, "filters difference out channels"],
    relaxed: Float[Tensor, "filters place"] | None,
) -> Float[Tensor, "filters place out many"]:
    """y_l[i] = Σ_m v[l, m] ψ_l(m − i) x[m] for kernels of all differences, from 1 − n to n − 1."""
    filters, count, out, channels = kernels.shape
    signal, kernel, back = form(len(x), x.dtype, x.device)
    if relaxed is not None:
        signal = (relaxed.unsqueeze(1) * signal).flatten(0, 1)  # (l·R, place)
    values = (signal @ x.flatten(1)).view(-1, channels, x.shape[2])  # (l·R or R, channels, many)
    kernels = torch.matmul(kernel, kernels.flatten(2)).view(-1, out, channels)
    if len(values) < len(kernels):
        values = values.repeat(filters, 1, 1)
    y = torch.bmm(kernels, values).view(filters, count, -1)
    return torch.matmul(back, y).view(filters, len(x), out, -1)
