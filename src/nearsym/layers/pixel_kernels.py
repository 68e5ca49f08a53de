"""Kernels of groups that map pixels to pixels: the constraint solved pixel by pixel."""

import numpy as np

from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation
from nearsym.layers.rings import offsets


def pixel_kernels(
    in_rep: Representation, out_rep: Representation, kernel_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Solve at one offset y₀ of each orbit under its stabiliser, then carry the solution around.

    Relaxed weights belong to the elements: w_k(y) is the mean of relaxed[k, h] over the h with
    h·y₀ = y. Equal over h they change nothing; equal on the cosets Kh they keep the subgroup K.
    """
    group = in_rep.group
    moves = _moved_offsets(group, kernel_size)  # (g, offset) -> offset
    elements, weights = [], []
    for start in range(kernel_size**2):
        orbit = moves[:, start]
        if start != orbit.min():
            continue
        still = np.flatnonzero(orbit == start)
        found = invariants((out_rep.matrices[still], dual(in_rep)[still]))
        found = found.reshape(-1, out_rep.size, in_rep.size)
        values = np.zeros((*found.shape, kernel_size**2))
        values[..., orbit] = np.einsum(
            "gij,kjl,glm->kimg", out_rep.matrices, found, in_rep.matrices[group.inverse]
        )
        reached = (orbit[None, :] == np.arange(kernel_size**2)[:, None]) / len(still)
        elements.append(values)
        weights.append(np.broadcast_to(reached, (len(found), *reached.shape)))
    return np.concatenate(elements), np.concatenate(weights)


def invariants(factors: tuple[np.ndarray, ...]) -> np.ndarray:
    """A basis of what a tensor product of representations leaves fixed, as rows.

    The average of the matrices projects onto it; its columns are orthonormalised in order, which
    for signed permutations gives one sparse vector for each orbit of coordinates.
    """
    total = factors[0]
    for factor in factors[1:]:
        size = total.shape[1] * factor.shape[1]
        total = np.einsum("gij,gkl->gikjl", total, factor).reshape(-1, size, size)
    columns = total.mean(axis=0).T
    _, vectors = independent(columns, tolerance=1e-6)
    return np.where(np.abs(vectors) < 1e-12, 0.0, vectors)


def independent(rows: np.ndarray, tolerance: float) -> tuple[list[int], np.ndarray]:
    """Which rows are clearly not sums of those before, and an orthonormal basis of their span."""
    chosen = np.zeros_like(rows)
    kept: list[int] = []
    for i, row in enumerate(rows):
        before = chosen[: len(kept)]
        rest = row - (before @ row) @ before
        rest -= (before @ rest) @ before  # twice, against rounding
        norm = float(np.linalg.norm(rest))
        if norm > max(tolerance * float(np.linalg.norm(row)), 1e-6):
            chosen[len(kept)] = rest / norm
            kept.append(i)
    return kept, chosen[: len(kept)]


def dual(rep: Representation) -> np.ndarray:
    """ρ(g)⁻ᵀ: how the columns of a kernel move."""
    return rep.matrices[rep.group.inverse].transpose(0, 2, 1)


def _moved_offsets(group: FiniteGroup, kernel_size: int) -> np.ndarray:
    assert group.plane is not None
    middle = (kernel_size - 1) / 2
    moved = np.einsum("gij,pj->gpi", group.plane, offsets(kernel_size))
    column, row = moved[..., 0] + middle, middle - moved[..., 1]
    return np.rint(row * kernel_size + column).astype(int)
