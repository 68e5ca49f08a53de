"""Group convolution over a finite group: the linear layer between regular features."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.groups.group import FiniteGroup
from nearsym.layers.checks import check_group, check_last, check_relaxation, check_whole
from nearsym.layers.free import FreeLinear
from nearsym.layers.relaxation import mix_outputs, scale_inputs, start_equal


class GroupLinear(nn.Module):
    """Group convolution whose filters may differ between group elements.

        y[g] = Σ_h ψ(g⁻¹h) x[h] + b                         exact (paper, Eq. 1)
        y[g] = Σ_h Σ_l w[l, h] ψ_l(g⁻¹h) x[h] + b           relaxed="input" (paper, Eq. 2)
        y[g] = Σ_h Σ_l w[l, g] ψ_l(g⁻¹h) x[h] + b           relaxed on the output

    x and y are regular features, (..., group, channels). Without relaxed weights the layer is
    exactly equivariant; with them it is while w is the same for every element, as it is at the
    start, and exactly under a subgroup K while w is constant on the cosets Kh.

    Where every element is its own inverse (trivial, D_1, D_2, products of C_2) the convolution is
    |G| small products in the Fourier basis, 1/|G| of the work of the dense matrix.

    >>> from nearsym.groups.catalog import dihedral
    >>> GroupLinear(dihedral(2), 8, 16, relaxed=True)
    GroupLinear(8·regular → 16·regular of D2, relaxed input, filters=1)
    """

    relative: Tensor
    signs: Tensor | None

    def __init__(
        self,
        group: FiniteGroup,
        in_channels: int,
        out_channels: int,
        *,
        relaxed: bool = False,
        filters: int = 1,
        relax: str = "input",
        bias: bool = True,
    ):
        super().__init__()
        check_group("GroupLinear", group)
        check_whole("GroupLinear", in_channels=in_channels, out_channels=out_channels)
        check_relaxation("GroupLinear", relaxed, filters, relax)
        self.group, self.relax = group, relax
        self.in_channels, self.out_channels = in_channels, out_channels
        n = group.order
        self.filters = nn.Parameter(torch.empty(filters, n * out_channels, in_channels))
        self.relaxed = nn.Parameter(start_equal(filters, n)) if relaxed else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        relative = torch.from_numpy(group.relative.flatten())
        self.register_buffer("relative", relative, persistent=False)  # [g, h] → g⁻¹h
        table = characters(group)
        signs = None if table is None else torch.tensor(table, dtype=torch.get_default_dtype())
        self.register_buffer("signs", signs, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The start of the `nn.Linear` of the expanded size."""
        bound = (self.group.order * self.in_channels) ** -0.5
        nn.init.uniform_(self.filters, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(
        self, x: Float[Tensor, "*batch group in_channels"]
    ) -> Float[Tensor, "*batch group out_channels"]:
        check_last("GroupLinear", x, (self.group.order, self.in_channels), self.filters)
        filters = self.filters.unflatten(1, (self.group.order, -1))  # (filters, group, out, in)
        if self.relaxed is None:
            y = self._convolve(x, filters[0])
        elif self.relax == "input":
            filters = filters.permute(1, 2, 0, 3).flatten(2)  # (group, out, filters·in)
            y = self._convolve(scale_inputs(x, self.relaxed), filters)
        else:
            filters = filters.transpose(0, 1).flatten(1, 2)  # (group, filters·out, in)
            y = mix_outputs(self._convolve(x, filters), self.relaxed)
        return y if self.bias is None else y + self.bias

    def _convolve(self, x: Tensor, filters: Tensor) -> Tensor:
        """Σ_h ψ(g⁻¹h) x[h] with filters ψ of shape (group, out, in)."""
        batch, n = x.shape[:-2], self.group.order
        if n == 1:
            return F.linear(x, filters[0])
        if self.signs is None:
            return F.linear(x.flatten(-2), self._matrix(filters)).unflatten(-1, (n, -1))
        x_hat = _transform(self.signs, x.reshape(-1, *x.shape[-2:]).transpose(0, 1))
        filters_hat = _transform(self.signs / n, filters)  # with the 1/|G| of the way back
        y_hat = torch.bmm(x_hat, filters_hat.transpose(1, 2))  # (character, batch, out)
        return _transform(self.signs, y_hat).transpose(0, 1).reshape(*batch, n, -1)

    def _matrix(self, filters: Tensor) -> Tensor:
        """Rows (g, out), columns (h, in), block ψ(g⁻¹h)."""
        n, (out_channels, in_channels) = self.group.order, filters.shape[1:]
        blocks = filters.index_select(0, self.relative).unflatten(0, (n, n)).transpose(1, 2)
        return blocks.reshape(n * out_channels, n * in_channels)

    def expand(self, filters: Float[Tensor, "group_out in"]) -> Float[Tensor, "rows columns"]:
        """The matrix of the exact layer with one filter: rows (g, out), columns (h, in)."""
        return self._matrix(filters.unflatten(0, (self.group.order, -1)))

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Float[Tensor, "group_out in"]:
        """The filter of an equivariant matrix: its blocks at g = e."""
        first = matrix[: self.out_channels]
        return first.unflatten(1, (self.group.order, -1)).transpose(0, 1).flatten(0, 1)

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape."""
        n = self.group.order
        shapes = (n, self.in_channels), (n, self.out_channels)
        return FreeLinear(*shapes, bias=self.bias is not None)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}·regular → {self.out_channels}·regular of {self.group}"
        if self.relaxed is not None:
            text += f", relaxed {self.relax}, filters={len(self.filters)}"
        return text if self.bias is not None else text + ", bias=False"


def characters(group: FiniteGroup) -> np.ndarray | None:
    """χ(g) = ±1 of a group whose elements are their own inverses, as (character, element).

    None for other groups, whose Fourier blocks are not all of size one.
    """
    if (np.diag(group.mul) != 0).any():
        return None
    bits = {0: 0}  # each element as a product of generators, found one after the other
    for g in range(group.order):
        if g not in bits:
            bits |= {int(group.mul[h, g]): b + len(bits) for h, b in bits.items()}
    words = np.array([bits[g] for g in range(group.order)])
    shared = [[math.prod((-1,) * int(s & b).bit_count()) for b in words] for s in words]
    return np.array(shared, dtype=np.float64)


def _transform(signs: Tensor, x: Float[Tensor, "group rows columns"]) -> Tensor:
    """Σ_h signs[k, h] x[h] over the leading axis."""
    return (signs @ x.reshape(len(x), -1)).view(-1, *x.shape[1:])
