"""Between vectors that transform by a representation and regular features: lift and project.

With one channel the channel axis of the vectors is left out: (..., size) instead of
(..., size, 1).
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.groups.action import Action
from nearsym.groups.representation import Representation
from nearsym.layers.actions import on_features, on_vectors
from nearsym.layers.checks import check_last, check_relaxation, check_representation, check_whole
from nearsym.layers.constant import Constant
from nearsym.layers.free import FreeLinear
from nearsym.layers.relaxation import mix_outputs, start_equal


class LiftLinear(nn.Module):
    """From a representation to regular features.

        y[g] = Σ_l w[l, g] A_l ρ(g)⁻¹ x + b

    (..., size, in) → (..., |G|, out). Without relaxed weights w = 1 and the layer is exactly
    equivariant; with them it is while w is the same for every g, as it is at the start.

    >>> from nearsym.groups.catalog import dihedral
    >>> LiftLinear(3 * dihedral(1).sign(), 1, 16)
    LiftLinear(3·sign → 16·regular of D1)
    """

    def __init__(
        self,
        in_rep: Representation,
        in_channels: int,
        out_channels: int,
        *,
        relaxed: bool = False,
        filters: int = 1,
        bias: bool = True,
    ):
        super().__init__()
        check_representation("LiftLinear", in_rep)
        check_whole("LiftLinear", in_channels=in_channels, out_channels=out_channels)
        check_relaxation("LiftLinear", relaxed, filters)
        self.group, self.in_rep = in_rep.group, in_rep
        self.in_channels, self.out_channels = in_channels, out_channels
        shape = (filters, out_channels, in_rep.size * in_channels)
        self.filters = nn.Parameter(torch.empty(shape))
        self.relaxed = nn.Parameter(start_equal(filters, self.group.order)) if relaxed else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.undo = Constant(in_rep.matrices[self.group.inverse])  # ρ(g)⁻¹
        bound = (in_rep.size * in_channels) ** -0.5
        _reset(self.filters, self.bias, bound, bound)

    def forward(self, x: Float[Tensor, "*batch_and_vectors"]) -> Float[Tensor, "*batch group out"]:
        check_last("LiftLinear", x, _axes(self.in_rep, self.in_channels), self.filters)
        vectors = x.unsqueeze(-1) if self.in_channels == 1 else x
        # (…, size, in) → (…, group, size, in)
        moved = torch.matmul(self.undo().to(x.dtype), vectors.unsqueeze(-3)).flatten(-2)
        y = F.linear(moved, self.filters.flatten(0, 1))  # (…, group, filters·out)
        if self.relaxed is not None:
            y = mix_outputs(y, self.relaxed)
        return y if self.bias is None else y + self.bias

    def expand(self, filters: Float[Tensor, "out size_in"]) -> Float[Tensor, "rows columns"]:
        """The matrix of the exact layer: rows (g, out), columns (coordinate, in)."""
        vectors = filters.unflatten(1, (self.in_rep.size, -1))
        blocks = torch.einsum("omi,gmn->goni", vectors, self.undo())
        return blocks.flatten(2).flatten(0, 1)

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Float[Tensor, "out size_in"]:
        """The filter of an equivariant matrix: its rows at g = e."""
        return matrix[: self.out_channels]

    @property
    def in_action(self) -> Action:
        """How the group moves the input."""
        return on_vectors(self.in_rep, self.in_channels)

    @property
    def out_action(self) -> Action:
        """How the group moves the output."""
        return on_features(self.group)

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape."""
        shapes = _axes(self.in_rep, self.in_channels), (self.group.order, self.out_channels)
        return FreeLinear(*shapes, bias=self.bias is not None)

    def __repr__(self) -> str:
        source = copies(self.in_rep, self.in_channels)
        return _describe(self, f"{source} → {self.out_channels}·regular of {self.group}")


class ProjectLinear(nn.Module):
    """From regular features to a representation.

        y = (1/|G|) Σ_g ρ(g) (Σ_l w[l, g] A_l x[g] + b)

    (..., |G|, in) → (..., size, out). Without relaxed weights w = 1 and the layer is exactly
    equivariant; with them it is while w is the same for every g, as it is at the start. The bias
    reaches only the vectors that ρ leaves in place; where there are none, the layer has none.

    >>> from nearsym.groups.catalog import dihedral
    >>> ProjectLinear(3 * dihedral(1).sign(), 16)
    ProjectLinear(16·regular → 3·sign of D1, bias=False)
    """

    def __init__(
        self,
        out_rep: Representation,
        in_channels: int,
        out_channels: int = 1,
        *,
        relaxed: bool = False,
        filters: int = 1,
        bias: bool = True,
    ):
        super().__init__()
        check_representation("ProjectLinear", out_rep)
        check_whole("ProjectLinear", in_channels=in_channels, out_channels=out_channels)
        check_relaxation("ProjectLinear", relaxed, filters)
        self.group, self.out_rep = out_rep.group, out_rep
        self.in_channels, self.out_channels = in_channels, out_channels
        order, size = self.group.order, out_rep.size
        self.filters = nn.Parameter(torch.empty(filters, size * out_channels, in_channels))
        self.relaxed = nn.Parameter(start_equal(filters, order)) if relaxed else None
        self.free_bias = bias  # a free path may shift what the symmetry holds in place
        has_bias = bias and has_invariants(out_rep)
        self.bias = nn.Parameter(torch.empty(size, out_channels)) if has_bias else None
        average = out_rep.matrices.transpose(1, 0, 2) / order  # ρ(g)/|G| side by side
        self.average = Constant(average.reshape(size, order * size))
        onto = out_rep.matrices.mean(0)  # what ρ leaves in place
        self.invariant = None if np.array_equal(onto, np.eye(size)) else Constant(onto)
        # As the nn.Linear of the expanded size: bias and entries of ρ(g)A/|G| reach 1/√(|G|·in).
        bound = (order * in_channels) ** -0.5
        _reset(self.filters, self.bias, order * bound, bound)

    def forward(self, x: Float[Tensor, "*batch group in"]) -> Float[Tensor, "*batch_and_vectors"]:
        order = self.group.order
        check_last("ProjectLinear", x, (order, self.in_channels), self.filters)
        if order == 1 and self.relaxed is None and self.out_channels == 1:  # a plain linear layer
            bias = None if self.bias is None else self.bias.squeeze(-1)
            return F.linear(x.squeeze(-2), self.filters.squeeze(0), bias)
        vectors = F.linear(x.movedim(-2, 0), self.filters.flatten(0, 1)).movedim(0, -2)
        if self.relaxed is not None:
            vectors = mix_outputs(vectors, self.relaxed)  # (…, group, size·out)
        if self.out_channels > 1:
            vectors = vectors.unflatten(-1, (-1, self.out_channels)).movedim(-1, -3)
        y = F.linear(vectors.flatten(-2), self.average().to(vectors.dtype))  # (…, [out,] size)
        bias = self.invariant_bias()
        y = y if bias is None else y + bias
        return y if self.out_channels == 1 else y.transpose(-2, -1)

    def invariant_bias(self) -> Tensor | None:
        """The part of the bias that ρ leaves in place, as ([out,] size)."""
        if self.bias is None:
            return None
        bias = self.bias if self.invariant is None else self.invariant() @ self.bias
        return bias.squeeze(-1) if self.out_channels == 1 else bias.t()

    def invariant_bias_backward(self, dy: Float[Tensor, "size"]) -> Float[Tensor, "size 1"]:
        """The gradient by the bias, for one channel, from that by what it adds."""
        column = dy.unsqueeze(1)
        return column if self.invariant is None else self.invariant().t() @ column

    def expand(self, filters: Float[Tensor, "size_out in"]) -> Float[Tensor, "rows columns"]:
        """The matrix of the exact layer: rows (coordinate, out), columns (g, in)."""
        vectors = filters.unflatten(0, (self.out_rep.size, -1))
        average = self.average().unflatten(1, (self.group.order, -1))
        blocks = torch.einsum("ngm,moi->nogi", average, vectors)
        return blocks.flatten(2).flatten(0, 1)

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Float[Tensor, "size_out in"]:
        """The filter of an equivariant matrix: |G| times its columns at g = e."""
        return self.group.order * matrix[:, : self.in_channels]

    @property
    def in_action(self) -> Action:
        """How the group moves the input."""
        return on_features(self.group)

    @property
    def out_action(self) -> Action:
        """How the group moves the output."""
        return on_vectors(self.out_rep, self.out_channels)

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape."""
        shapes = (self.group.order, self.in_channels), _axes(self.out_rep, self.out_channels)
        return FreeLinear(*shapes, bias=self.free_bias)

    def __repr__(self) -> str:
        target = copies(self.out_rep, self.out_channels)
        return _describe(self, f"{self.in_channels}·regular → {target} of {self.group}")


def has_invariants(rep: Representation) -> bool:
    """Whether some vector stays where it is under every element."""
    return round(float(rep.character.mean())) > 0


def copies(rep: Representation, channels: int) -> str:
    """A representation with its channels, as text."""
    return repr(rep) if channels == 1 else f"{channels}·({rep})"


def _axes(rep: Representation, channels: int) -> tuple[int, ...]:
    return (rep.size,) if channels == 1 else (rep.size, channels)


def _reset(filters: Tensor, bias: Tensor | None, of_filters: float, of_bias: float) -> None:
    nn.init.uniform_(filters, -of_filters, of_filters)
    if bias is not None:
        nn.init.uniform_(bias, -of_bias, of_bias)


def _describe(layer: LiftLinear | ProjectLinear, text: str) -> str:
    if layer.relaxed is not None:
        text += f", relaxed, filters={len(layer.filters)}"
    if layer.bias is None:
        text += ", bias=False"
    return f"{type(layer).__name__}({text})"
