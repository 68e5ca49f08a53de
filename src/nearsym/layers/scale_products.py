"""Mixing three scales with fewer multiplications, after Toom and Cook.

What leads from scale m to scale i depends on m − i alone, z[i] = Σ_m A(m − i) x[m]: for three
scales nine products with five matrices. It is the multiplication of polynomials turned round, for
which values at five points do (here 0, 1, −1, 2 and ∞):

    z = D ((P x) ∘ (Q A))        P: (5, 3), Q: (5, 5), D: (3, 5)

Five products of matrices, and the small P, Q and D. Relaxed weights of the input scale are factors
of P, P[r, m] v[m]. Rounding errors are two to three times those of the plain sum.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

SCALES = 3
POINTS = (0.0, 1.0, -1.0, 2.0)
"""And the point at infinity, whose value is the leading coefficient."""


class Form(NamedTuple):
    """The matrices P, Q and D."""

    signal: Tensor
    kernel: Tensor
    back: Tensor


def saves(x: Float[Tensor, "scale channels steps"], filters: Tensor) -> bool:
    """Whether five products and the small ones need fewer multiplications than nine.

    Transforming the kernels reads and writes more than it multiplies: it counts twice. Half
    precision would suffer, and a compiled graph shall not depend on the batch.
    """
    if torch.compiler.is_compiling() or torch.is_autocast_enabled(x.device.type):
        return False
    if x.dtype not in (torch.float32, torch.float64):
        return False
    scales, inputs, steps = x.shape
    if scales != SCALES or filters.shape[1] != 2 * SCALES - 1:
        return False
    outputs = filters.shape[2]
    transforms = 15 * steps * (inputs + outputs) + 50 * inputs * outputs
    return 5 * inputs * outputs * steps + transforms < 9 * inputs * outputs * steps


@lru_cache(maxsize=8)
def form(dtype: torch.dtype, device: torch.device) -> Form:
    """P, Q and D; built once in double precision."""

    def values(degree: int) -> np.ndarray:
        """Polynomials of a degree at the points."""
        leading = np.eye(degree + 1)[-1:]
        return np.concatenate([np.vander(POINTS, degree + 1, increasing=True), leading])

    few, all_ = values(SCALES - 1), values(2 * SCALES - 2)
    matrices = few, np.linalg.inv(all_).T, few.T[::-1]
    with torch.inference_mode(False):  # kept for later calls, which may need gradients
        made = (torch.tensor(m.copy(), dtype=dtype, device=device) for m in matrices)
        return Form(*made)


def mix(
    x: Float[Tensor, "scale channels steps"],
    filters: Float[Tensor, "filters differences out channels"],
    relaxed: Float[Tensor, "filters scale"] | None,
) -> Float[Tensor, "filters_scale_out steps"]:
    """z_l[i] = Σ_m A_l(m − i) v[l, m] x[m]."""
    _, channels, steps = x.shape
    signal, kernel, back = form(x.dtype, x.device)
    if relaxed is not None:
        signal = (relaxed.unsqueeze(1) * signal).flatten(0, 1)  # (l·5, scale)
    values = (signal @ x.flatten(1)).view(-1, channels, steps)
    kernels = torch.matmul(kernel, filters.flatten(2)).view(-1, filters.shape[2], channels)
    z = torch.bmm(kernels, values).view(len(filters), 2 * SCALES - 1, -1)
    return torch.matmul(back, z).view(-1, steps)
