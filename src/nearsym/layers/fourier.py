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
        factors = self._factors(x_hat, filters)
        return torch.cat([_apart(torch.bmm(x, psi), d) for d, x, psi in factors])

    def product_backward(
        self, x_hat: Tensor, filters: Tensor, dy_hat: Tensor, *, learns: bool, wants_x: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """The gradients by x̂ and by the filters; None for what nobody wants."""
        by_x, by_psi, start = [], [], 0
        for d, x, psi in self._factors(x_hat, filters):
            end = start + len(x) * d * d
            dy = _together(dy_hat[start:end], d)
            if wants_x:
                by_x.append(_apart(torch.bmm(dy, psi.transpose(1, 2)), d))
            if learns:
                by_psi.append(self._unblocked(torch.bmm(x.transpose(1, 2), dy), d, filters))
            start = end
        dx_hat = torch.cat(by_x) if wants_x else None
        if not learns:
            return dx_hat, None
        by_psi_hat = torch.cat(by_psi).reshape(len(filters), -1)
        return dx_hat, torch.mm(self.of_filters().t(), by_psi_hat).view_as(filters)

    def _unblocked(self, blocks: Tensor, d: int, filters: Tensor) -> Tensor:
        """ψ̂ as (blocks·d·d, in, out) from what `_factors` makes of it."""
        _, width, out = filters.shape
        entries = blocks.reshape(-1, d, width, d, out).permute(0, 3, 1, 2, 4)
        return entries.reshape(-1, width, out)

    def _factors(self, x_hat: Tensor, filters: Tensor) -> list[tuple[int, Tensor, Tensor]]:
        """For each size of a block: d, x̂ (blocks, d·batch, d·in) and ψ̂ (blocks, d·in, d·out)."""
        _, width, out = filters.shape
        psi_hat = torch.mm(self.of_filters(), filters.reshape(len(filters), -1))
        found, start = [], 0
        for d, count in self.sizes:
            end = start + count * d * d
            psi = psi_hat[start:end].reshape(count, d, d, width, out).permute(0, 2, 3, 1, 4)
            psi = psi.reshape(count, d * width, d * out)
            found.append((d, _together(x_hat[start:end], d), psi))
            start = end
        return found


def _together(entries: Tensor, d: int) -> Tensor:
    """The entries of d×d blocks, (blocks·d·d, batch, width), as (blocks, d·batch, d·width)."""
    count, (batch, width) = len(entries) // d**2, entries.shape[1:]
    blocks = entries.reshape(count, d, d, batch, width).transpose(2, 3)
    return blocks.reshape(count, d * batch, d * width)


def _apart(blocks: Tensor, d: int) -> Tensor:
    """The inverse of `_together`."""
    count, rows, columns = blocks.shape
    entries = blocks.reshape(count, d, rows // d, d, columns // d).transpose(2, 3)
    return entries.reshape(count * d**2, rows // d, columns // d)


def fourier_blocks(group: FiniteGroup) -> FourierBlocks | None:
    """The blocks of a group, or None where they are not all real matrices."""
    irreps = real_irreps(group)
    return None if irreps is None else FourierBlocks(irreps)
