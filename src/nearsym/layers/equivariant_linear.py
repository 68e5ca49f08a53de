"""The equivariant linear maps between any two representations of a finite group."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.errors import UsageError
from nearsym.groups.action import Action
from nearsym.groups.representation import Representation
from nearsym.layers.actions import on_vectors
from nearsym.layers.checks import check_last, check_relaxation, check_representation, check_whole
from nearsym.layers.constant import Constant
from nearsym.layers.free import FreeLinear
from nearsym.layers.lift import copies, has_invariants
from nearsym.layers.relaxation import start_equal


class EquivariantLinear(nn.Module):
    """A linear map that commutes with two representations, exactly or approximately.

        y = Σ_g Σ_l w[l, g] ρ_out(g) A_l ρ_in(g)⁻¹ x + b,     A_l = Σ_k θ[l, k] E_k

    (..., in size, in) → (..., out size, out); with one channel its axis is left out. Every
    equivariant map is such an average over the group. The seeds E_k have one entry each; their
    averages are a basis of the equivariant maps. Without relaxed weights w = 1 and the layer is
    exactly equivariant. With them it is while w is the same for every g, as at the start, and
    under a subgroup K while w is constant on the cosets Kg; seeds are added until their moved
    copies span all linear maps, so that any symmetry can be broken.

    The paper defines relaxed weights only between regular features. This definition is ours and
    contains the paper's: from regular to regular it is `GroupLinear`, with w on the input element
    (`relax="input"`, seeds in the first column) or the output element (seeds in the first row).

    >>> from nearsym.groups.catalog import dihedral
    >>> layer = EquivariantLinear(dihedral(4).vector(), dihedral(4).regular(), 1, 3)
    >>> layer, tuple(layer.filters.shape)
    (EquivariantLinear(vector → 3·(regular) of D4), (1, 2, 3, 1))
    """

    def __init__(
        self,
        in_rep: Representation,
        out_rep: Representation,
        in_channels: int,
        out_channels: int,
        *,
        relaxed: bool = False,
        filters: int = 1,
        relax: str = "input",
        bias: bool = True,
    ):
        super().__init__()
        for rep in (in_rep, out_rep):
            check_representation("EquivariantLinear", rep)
        _check_related(in_rep, out_rep)
        check_whole("EquivariantLinear", in_channels=in_channels, out_channels=out_channels)
        check_relaxation("EquivariantLinear", relaxed, filters, relax)
        self.group, self.in_rep, self.out_rep = in_rep.group, in_rep, out_rep
        self.in_channels, self.out_channels, self.relax = in_channels, out_channels, relax
        terms = moved_seeds(in_rep, out_rep, relaxed, relax)  # (k, group, out size, in size)
        # Exact layers need only the averages.
        self.terms = Constant(terms if relaxed else terms.sum(1, keepdims=True))
        self.filters = nn.Parameter(torch.empty(filters, len(terms), out_channels, in_channels))
        self.relaxed = nn.Parameter(start_equal(filters, self.group.order)) if relaxed else None
        self.free_bias = bias
        has_bias = bias and has_invariants(out_rep)
        self.bias = nn.Parameter(torch.empty(out_rep.size, out_channels)) if has_bias else None
        self.invariant = Constant(out_rep.matrices.mean(0))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The entries of the expanded matrix get the variance that `nn.Linear` would give them."""
        bound = (_dimension(self.in_rep, self.out_rep) * self.in_channels) ** -0.5
        nn.init.uniform_(self.filters, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Float[Tensor, "*batch_and_in"]) -> Float[Tensor, "*batch_and_out"]:
        in_shape = (self.in_rep.size, self.in_channels)
        vectors = x.unsqueeze(-1) if self.in_channels == 1 else x
        check_last("EquivariantLinear", vectors, in_shape, self.filters)
        bias = None if self.bias is None else (self.invariant() @ self.bias).flatten()
        y = F.linear(vectors.flatten(-2), self.matrix(), bias)
        y = y.unflatten(-1, (self.out_rep.size, self.out_channels))
        return y.squeeze(-1) if self.out_channels == 1 else y

    def matrix(self) -> Float[Tensor, "rows columns"]:
        """The matrix that the layer applies: rows (coordinate, out), columns (coordinate, in)."""
        if self.relaxed is None:
            return self.expand(self.filters[0])
        bases = torch.einsum("lg,kgab->lkab", self.relaxed, self.terms())
        return _flat(torch.einsum("lkoi,lkab->aobi", self.filters, bases))

    def expand(self, filters: Float[Tensor, "k out in"]) -> Float[Tensor, "rows columns"]:
        """The matrix of the exact layer."""
        return _flat(torch.einsum("koi,kab->aobi", filters, self.terms().sum(1)))

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Float[Tensor, "k out in"]:
        """The coefficients of an equivariant matrix."""
        shape = (self.out_rep.size, self.out_channels, self.in_rep.size, self.in_channels)
        inverse = torch.linalg.pinv(self.terms().sum(1).flatten(1)).unflatten(
            0, (shape[0], shape[2])
        )
        return torch.einsum("aobi,abk->koi", matrix.view(shape), inverse)

    @property
    def in_action(self) -> Action:
        """How the group moves the input."""
        return on_vectors(self.in_rep, self.in_channels)

    @property
    def out_action(self) -> Action:
        """How the group moves the output."""
        return on_vectors(self.out_rep, self.out_channels)

    def unconstrained(self) -> FreeLinear:
        """The unconstrained layer of the same shape."""
        source = (self.in_rep.size, self.in_channels)[: 1 if self.in_channels == 1 else 2]
        target = (self.out_rep.size, self.out_channels)[: 1 if self.out_channels == 1 else 2]
        return FreeLinear(source, target, bias=self.free_bias)

    def __repr__(self) -> str:
        source = copies(self.in_rep, self.in_channels)
        text = f"{source} → {copies(self.out_rep, self.out_channels)} of {self.group}"
        if self.relaxed is not None:
            text += f", relaxed {self.relax}, filters={len(self.filters)}"
        return f"EquivariantLinear({text}{'' if self.bias is not None else ', bias=False'})"


def moved_seeds(
    in_rep: Representation, out_rep: Representation, relaxed: bool, relax: str
) -> np.ndarray:
    """ρ_out(g) E_k ρ_in(g)⁻¹ for each seed and element: (k, group, out size, in size).

    Summed over the group the first of them are a basis of the equivariant maps, each of Frobenius
    norm √(out size). Seeds are taken column by column for `relax="input"`, else row by row.
    """
    size = (out_rep.size, in_rep.size)
    undo = in_rep.matrices[in_rep.group.inverse]
    places = [(i, j) for j in range(size[1]) for i in range(size[0])]
    places = places if relax == "input" else sorted(places)
    moved = [np.einsum("ga,gb->gab", out_rep.matrices[:, :, i], undo[:, j, :]) for i, j in places]
    basis = _independent([terms.sum(0, keepdims=True) for terms in moved])
    chosen = [moved[k] * size[0] ** 0.5 / np.linalg.norm(moved[k].sum(0)) for k in basis]
    if relaxed:
        rest = [terms for k, terms in enumerate(moved) if k not in basis]
        added = _independent([*chosen, *rest])
        extra = [rest[k - len(chosen)] for k in added if k >= len(chosen)]
        chosen += [terms * size[0] ** 0.5 / np.linalg.norm(terms) for terms in extra]
    return np.stack(chosen)


def _independent(candidates: list[np.ndarray]) -> list[int]:
    """Those candidates, each a stack of matrices, that reach beyond all earlier ones."""
    length = candidates[0][0].size
    span = np.zeros((0, length))  # orthonormal rows
    chosen = []
    for k, stack in enumerate(candidates):
        rest = stack.reshape(-1, length)
        rest = rest - rest @ span.T @ span
        _, s, rows = np.linalg.svd(rest, full_matrices=False)
        if s[0] > 1e-6:
            chosen.append(k)
            span = np.vstack([span, rows[s > 1e-6]])
    return chosen


def _dimension(in_rep: Representation, out_rep: Representation) -> int:
    """How many independent equivariant maps there are: (1/|G|) Σ_g χ_in(g⁻¹) χ_out(g)."""
    return round(float((in_rep.character[in_rep.group.inverse] * out_rep.character).mean()))


def _check_related(in_rep: Representation, out_rep: Representation) -> None:
    if in_rep.group != out_rep.group:
        raise UsageError(
            f"EquivariantLinear needs two representations of one group, got {in_rep} of "
            f"{in_rep.group} and {out_rep} of {out_rep.group}."
        )
    if _dimension(in_rep, out_rep) == 0:
        raise UsageError(
            f"Only the zero map is equivariant from {in_rep} to {out_rep} of {in_rep.group}: they "
            "have no irreducible part in common. Pass through regular features instead."
        )


def _flat(blocks: Float[Tensor, "a out b in"]) -> Float[Tensor, "rows columns"]:
    return blocks.flatten(2).flatten(0, 1)
