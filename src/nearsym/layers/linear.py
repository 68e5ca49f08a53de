"""Group convolution over a finite group: the linear layer between regular features."""

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.groups.action import Action
from nearsym.groups.group import FiniteGroup
from nearsym.layers.actions import on_features
from nearsym.layers.checks import check_group, check_last, check_relaxation, check_whole
from nearsym.layers.constant import Constant
from nearsym.layers.fourier import fourier_blocks
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
    |G| small products in the Fourier basis, 1/|G| of the work of the dense matrix. There
    `filters` holds ψ in that (orthonormal) basis; `over_elements` gives ψ itself. Of other groups
    whose irreducible representations are real (D_n) only the product is made in blocks.

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
        self.filters = nn.Parameter(torch.empty(filters, n * in_channels, out_channels))
        self.relaxed = nn.Parameter(start_equal(filters, n)) if relaxed else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        relative = torch.from_numpy(group.relative.flatten())
        self.register_buffer("relative", relative, persistent=False)  # [g, h] → g⁻¹h
        table = characters(group)
        signs = None if table is None else torch.tensor(table, dtype=torch.get_default_dtype())
        self.register_buffer("signs", signs, persistent=False)  # (character, element)
        self.back = None if table is None else Constant(table.T / len(table) ** 0.5)
        self.blocks = fourier_blocks(group) if table is None else None
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
        n, count = self.group.order, len(self.filters)
        if self.relaxed is None or (count == 1 and self.in_blocks):
            filters = self.filters.view(n, self.in_channels, self.out_channels)
            return self._convolve(x, filters, self.relaxed, self.bias)
        filters = self.filters.view(count, n, self.in_channels, self.out_channels)
        if self.relax == "input":
            stacked = filters.transpose(0, 1).flatten(1, 2)  # (group, filters·in, out)
            return self._convolve(scale_inputs(x, self.relaxed), stacked, bias=self.bias)
        stacked = filters.permute(1, 2, 0, 3).flatten(2)  # (group, in, filters·out)
        y = mix_outputs(self._convolve(x, stacked), self.relaxed)
        return y if self.bias is None else y + self.bias

    @property
    def in_blocks(self) -> bool:
        """Whether the convolution is a product for each irreducible representation."""
        return self.signs is not None or self.blocks is not None

    def _convolve(
        self,
        x: Tensor,
        filters: Tensor,
        relaxed: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Σ_h ψ(g⁻¹h) x[h] + b with stored filters of shape (group, in, out)."""
        if self.in_blocks and self.group.order > 1:
            y = self._by_blocks(x, filters, relaxed)
            return y if bias is None else y + bias
        if relaxed is not None:  # the trivial group: one weight
            x = x * relaxed
        n, width = self.group.order, filters.shape[-1]
        rows = x.reshape(-1, n * x.shape[-1])
        matrix = filters.squeeze(0) if n == 1 else self._matrix(filters)
        if bias is None:
            y = torch.mm(rows, matrix)
        else:
            y = torch.addmm(bias if n == 1 else bias.repeat(n), rows, matrix)
        return y.reshape(*x.shape[:-1], width)

    def _by_blocks(self, x: Tensor, filters: Tensor, relaxed: Tensor | None) -> Tensor:
        """The convolution as one product for each character, or for each larger block.

        The relaxed weights of a single filter cost nothing here: they are factors of the transform
        of x or of y. In memory the group comes first, so that both transforms are plain matrix
        products; one layer leaves it so for the next.
        """
        n = self.group.order
        into, outof = self.transforms()
        if relaxed is not None and self.relax == "input":
            into = into * relaxed
        elif relaxed is not None:
            outof = outof * relaxed.t()
        by_element = x.movedim(-2, 0)
        x_hat = torch.mm(into, by_element.reshape(n, -1)).reshape(n, -1, x.shape[-1])
        y = torch.mm(outof, self.product(x_hat, filters).reshape(n, -1))
        return y.reshape(*by_element.shape[:-1], filters.shape[-1]).movedim(0, -2)

    def transforms(self) -> tuple[Tensor, Tensor]:
        """The Fourier transform over the group, (character or block entry, element), and back."""
        if self.blocks is not None:
            return self.blocks.into(), self.blocks.outof()
        assert self.signs is not None
        assert self.back is not None
        return self.signs, self.back()  # inverse to each other up to 1/√|G|

    def product(self, x_hat: Tensor, filters: Tensor) -> Tensor:
        """The transform of the convolution from that of x, (|G|, batch, in)."""
        if self.blocks is not None:
            return self.blocks.product(x_hat, filters)
        return torch.bmm(x_hat, filters)

    def product_backward(
        self, x_hat: Tensor, filters: Tensor, dy_hat: Tensor, *, learns: bool, wants_x: bool
    ) -> tuple[Any, Any]:
        """The gradients by both factors of `product`; None for what nobody wants."""
        if self.blocks is not None:
            return self.blocks.product_backward(
                x_hat, filters, dy_hat, learns=learns, wants_x=wants_x
            )
        dx_hat = _times_transposed(dy_hat, filters) if wants_x else None
        return dx_hat, torch.bmm(x_hat.transpose(1, 2), dy_hat) if learns else None

    def _matrix(self, psi: Tensor) -> Tensor:
        """Rows (h, in), columns (g, out), block ψ(g⁻¹h): what multiplies from the right."""
        n = self.group.order
        blocks = psi.index_select(0, self.relative).unflatten(0, (n, n))  # (g, h, in, out)
        return blocks.permute(1, 2, 0, 3).flatten(2).flatten(0, 1)

    def over_elements(self, filters: Float[Tensor, "group_in out"]) -> Tensor:
        """ψ(k) of one stored filter as (k, in, out); the same call leads back."""
        psi = filters.unflatten(0, (self.group.order, -1))
        if self.signs is None:
            return psi
        return torch.einsum("kg,kio->gio", self.signs, psi) * self.group.order**-0.5

    def expand(self, filters: Float[Tensor, "group_in out"]) -> Float[Tensor, "rows columns"]:
        """The matrix of the exact layer with one filter: rows (g, out), columns (h, in)."""
        return self._matrix(self.over_elements(filters)).t()

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Float[Tensor, "group_in out"]:
        """The filter of an equivariant matrix: its rows at g = e."""
        return self.over_elements(matrix[: self.out_channels].t()).flatten(0, 1)

    @property
    def in_action(self) -> Action:
        """How the group moves the input."""
        return on_features(self.group)

    @property
    def out_action(self) -> Action:
        """How the group moves the output."""
        return on_features(self.group)

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape."""
        n = self.group.order
        shapes = (n, self.in_channels), (n, self.out_channels)
        return FreeLinear(*shapes, bias=self.bias is not None)

    def __repr__(self) -> str:
        text = f"{self.in_channels}·regular → {self.out_channels}·regular of {self.group}"
        if self.relaxed is not None:
            text += f", relaxed {self.relax}, filters={len(self.filters)}"
        return f"GroupLinear({text}{'' if self.bias is not None else ', bias=False'})"


NARROW = 32
"""Columns below which a product of many rows is faster the other way round."""


def _times_transposed(a: Tensor, b: Tensor) -> Tensor:
    """a bᵀ, in one piece, of each pair of matrices."""
    if b.shape[1] >= NARROW:
        return torch.bmm(a, b.transpose(1, 2))
    return torch.bmm(b, a.transpose(1, 2)).transpose(1, 2).contiguous()


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
