"""Every kernel that a steerable convolution may have: solutions of the kernel constraint.

    ψ(hy) = ρ_out(h) ψ(y) ρ_in(h)⁻¹   for all h in G and all offsets y        (paper, Appendix)

The solutions form a linear space; `kernel_basis` finds a basis once for each question and keeps it.
Groups that map the pixel grid to itself (flips, quarter turns) are solved pixel by pixel, exactly
and completely. All others, SO(2) and O(2) among them, are solved on rings: circular harmonics up to
a band limit, times a profile in the radius (Weiler & Cesa 2019, arXiv:1911.08251), each made of
pixels so that it turns well (`harmonics.py`).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError
from nearsym.groups.action import fits_grid
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.planar import PlanarRepresentation, planar_irrep
from nearsym.groups.representation import Representation
from nearsym.layers.harmonics import circular_harmonics
from nearsym.layers.pixel_kernels import dual, independent, invariants, pixel_kernels
from nearsym.layers.rings import Rings, offsets

AnyRepresentation = Representation | PlanarRepresentation


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """A basis of the kernels between two representations, with what a layer needs beside it."""

    values: Float[np.ndarray, "basis out in offsets"]
    """ψ_k(y), each scaled so that its largest entry is ±1. Offsets run along rows of the kernel."""
    relaxation: Float[np.ndarray, "basis offsets weights"]
    """How relaxed weights reach the offsets: w_k(y) = Σ_r relaxation[k, y, r] · relaxed[k, r]."""
    std: Float[np.ndarray, "basis"]
    """The standard deviation of coefficients that gives every output coordinate variance 1 for
    independent inputs of variance 1 in one channel."""


@cache
def kernel_basis(
    in_rep: AnyRepresentation, out_rep: AnyRepresentation, kernel_size: int, rings: Rings
) -> KernelBasis:
    """All kernels of kernel_size × kernel_size pixels from one representation to another."""
    _check(in_rep, out_rep)
    if (
        isinstance(in_rep, Representation)
        and isinstance(out_rep, Representation)
        and fits_grid(in_rep.group)
    ):
        values, relaxation = pixel_kernels(in_rep, out_rep, kernel_size)
    else:
        values, relaxation = _ring_basis(in_rep, out_rep, kernel_size, rings)
    if len(values) == 0:
        raise UsageError(
            f"There is no {in_rep.group}-equivariant {kernel_size}×{kernel_size} kernel from "
            f"{in_rep} to {out_rep}: only zero satisfies the constraint. Choose another "
            "representation, a larger kernel or a wider band."
        )
    values = values / np.abs(values).max(axis=(1, 2, 3), keepdims=True)
    return KernelBasis(values, relaxation, _initial_std(values, out_rep))


def angular_basis(
    in_rep: AnyRepresentation, out_rep: AnyRepresentation, frequency: int
) -> Float[np.ndarray, "basis harmonics out in"]:
    """Solutions A(φ) = M₀ cos kφ + M₁ sin kφ of the constraint on a circle, for one frequency k.

    Each is given by its matrices M (one at k = 0). Together over all k they are the solutions
    tabulated by Weiler & Cesa (2019): for SO(2) the frequencies |m − n| and m + n between irreps n
    and m.
    """
    _check(in_rep, out_rep)
    source, target = _finite(in_rep, out_rep, frequency)
    harmonic = planar_irrep(frequency, source.group)
    found = invariants((harmonic.matrices, target.matrices, dual(source)))
    return found.reshape(-1, harmonic.size, target.size, source.size)


def fixed_vectors(rep: AnyRepresentation) -> Float[np.ndarray, "basis coordinates"]:
    """A basis of the vectors that no element moves: where a bias may point."""
    finite, _ = _finite(rep, rep, 0)
    found = invariants((finite.matrices,))
    return found / np.abs(found).max(axis=1, keepdims=True) if len(found) else found


def coordinate_blocks(rep: AnyRepresentation) -> list[np.ndarray]:
    """The smallest sets of coordinates that the matrices do not mix with others."""
    finite, _ = _finite(rep, rep, 0)
    reach = np.abs(finite.matrices).max(axis=0) > 1e-12
    reach |= reach.T
    for _ in range(rep.size.bit_length()):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    first = reach.argmax(axis=1)
    return [np.flatnonzero(first == i) for i in np.unique(first)]


def _ring_basis(
    in_rep: AnyRepresentation, out_rep: AnyRepresentation, kernel_size: int, rings: Rings
) -> tuple[np.ndarray, np.ndarray]:
    """The solutions on a circle, with the harmonics of every ring on the pixels.

    Relaxed weights belong to the offsets: w_k(y) = relaxed[k, y]. The origin, which is its own
    orbit and can break nothing, takes their mean.
    """
    sampled = [
        np.einsum("kaij,ap->kijp", angular_basis(in_rep, out_rep, k), values)
        for k, values in circular_harmonics(kernel_size, rings)
    ]
    values = np.concatenate(sampled)
    # A coarse grid confuses some harmonics of neighbouring rings.
    kept, _ = independent(
        values.reshape(len(values), int(np.prod(values.shape[1:]))), tolerance=1e-3
    )
    values = values[kept]
    points = offsets(kernel_size)
    away = np.abs(points).max(axis=1) > 0
    spread = np.full((len(points), int(away.sum())), 1.0 / max(1, away.sum()))
    spread[away] = np.eye(int(away.sum()))
    return values, np.broadcast_to(spread, (len(values), *spread.shape))


def _initial_std(values: np.ndarray, out_rep: AnyRepresentation) -> np.ndarray:
    """Var y_i = Σ_k std_k² |ψ_k[i]|²; elements of one block of output coordinates share a std."""
    row_energy = (values**2).sum(axis=(2, 3))  # (k, out)
    std = np.zeros(len(values))
    for block in coordinate_blocks(out_rep):
        energy = row_energy[:, block].sum(axis=1)
        mine = energy > 1e-12 * energy.max(initial=1e-300)
        if mine.any():
            std[mine] = np.sqrt(len(block) / energy[mine].sum())
    return std


def _finite(
    in_rep: AnyRepresentation, out_rep: AnyRepresentation, frequency: int
) -> tuple[Representation, Representation]:
    """The same question for a finite group.

    An average over SO(2) of trigonometric polynomials of degree < n is their average over C_n, so a
    large enough C_n or D_n has the very same solutions.
    """
    if isinstance(in_rep, Representation) and isinstance(out_rep, Representation):
        return in_rep, out_rep
    assert isinstance(in_rep, PlanarRepresentation)
    assert isinstance(out_rep, PlanarRepresentation)
    n = frequency + in_rep.frequency + out_rep.frequency + 1
    group = dihedral(n) if in_rep.group.mirrors else cyclic(n)
    return in_rep.restrict(group), out_rep.restrict(group)


def check_kind(layer: str, rep: object) -> None:
    """A layer was given a representation, of a finite group or of SO(2) or O(2)."""
    if not isinstance(rep, Representation | PlanarRepresentation):
        raise UsageError(
            f"{layer} needs a representation such as cyclic(4).regular() or so2().irrep(1), "
            f"got {rep!r}."
        )


def _check(in_rep: AnyRepresentation, out_rep: AnyRepresentation) -> None:
    for rep in (in_rep, out_rep):
        check_kind("A steerable layer", rep)
        if isinstance(rep, Representation) and rep.group.plane is None:
            raise UsageError(
                f"{rep.group} has no plane action, so no kernel over the plane can be equivariant "
                "to it. Build the group with dihedral or cyclic, or give it a `plane`."
            )
    if in_rep.group != out_rep.group:
        raise UsageError(
            f"A steerable layer needs one group: {in_rep} belongs to {in_rep.group}, "
            f"{out_rep} to {out_rep.group}."
        )
