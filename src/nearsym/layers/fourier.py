"""Convolution over a finite group as products of small blocks."""

import numpy as np
import torch
from torch import Tensor, nn

from nearsym.groups.group import FiniteGroup
from nearsym.groups.irreps import real_irreps
from nearsym.layers.constant import Constant


class FourierBlocks(nn.Module):
    """Σ_h ψ(g⁻¹h) x[h] as one product for each irreducible representation ρ.

    With x̂_im = Σ_h ρ_im(h) x[h], ψ̂ likewise, the transform of the convolution is
    ŷ_ij = Σ_m x̂_im ψ̂_jm. Together the blocks have Σ d³ products of channels, where the dense
    matrix has |G|²: 12 and 64 for D_4.
    """

    def __init__(self, irreps: tuple[np.ndarray, ...]):
        super().__init__()
        n = len(irreps[0])
        sizes = [rho.shape[1] for rho in irreps]
        rows = [rho.reshape(n, -1).T * (d / n) ** 0.5 for rho, d in zip(irreps, sizes, strict=True)]
        into = np.concatenate(rows)  # orthogonal: (i and j of each ρ, element)
        scale = np.repeat([(n / d) ** 0.5 for d in sizes], [d * d for d in sizes])
        self.into, self.outof = Constant(into), Constant(into.T)
        self.of_filters = Constant(scale[:, None] * into)
        self.sizes = [(d, sizes.count(d)) for d in dict.fromkeys(sizes)]

    def product(self, x_hat: Tensor, filters: Tensor) -> Tensor:
        """ŷ (|G|, batch, out) from x̂ (|G|, batch, in) and filters over elements (|G|, in, out)."""
        n, batch, width = x_hat.shape
        out = filters.shape[-1]
        psi_hat = torch.mm(self.of_filters(), filters.reshape(n, -1))
        found, start = [], 0
        for d, count in self.sizes:
            end = start + count * d * d
            x = x_hat[start:end].reshape(count, d, d, batch, width).transpose(2, 3)
            psi = psi_hat[start:end].reshape(count, d, d, width, out).permute(0, 2, 3, 1, 4)
            x, psi = x.reshape(count, d * batch, -1), psi.reshape(count, d * width, -1)
            y = torch.bmm(x, psi).reshape(count, d, batch, d, out).transpose(2, 3)
            found.append(y.reshape(-1, batch, out))
            start = end
        return torch.cat(found)


def fourier_blocks(group: FiniteGroup) -> FourierBlocks | None:
    """The blocks of a group, or None where they are not all real matrices."""
    irreps = real_irreps(group)
    return None if irreps is None else FourierBlocks(irreps)
