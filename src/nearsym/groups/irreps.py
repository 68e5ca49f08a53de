"""The real irreducible representations of a finite group, found numerically."""

from functools import lru_cache

import numpy as np

from nearsym.groups.group import FiniteGroup

LARGEST_ORDER = 64
"""Beyond it the search takes longer than it is worth."""
_CLOSE = 1e-8


@lru_cache(maxsize=64)
def real_irreps(group: FiniteGroup) -> tuple[np.ndarray, ...] | None:
    """All irreducible representations as orthogonal matrices (element, d, d), the smallest first.

    None where some of them come from complex or quaternionic ones (C_n for n > 2), whose blocks are
    not plain matrices, and for groups of more than 64 elements.

    >>> from nearsym.groups.catalog import cyclic, dihedral
    >>> [len(rho[0]) for rho in real_irreps(dihedral(4))]
    [1, 1, 1, 1, 2]
    >>> real_irreps(cyclic(4)) is None
    True
    """
    if group.order > LARGEST_ORDER:
        return None
    found: list[np.ndarray] = []
    for space in _invariant_spaces(group):
        rho = np.stack([space.T @ space[group.mul[group.inverse[g]]] for g in range(group.order)])
        if not any(_same(rho, other) for other in found):
            found.append(rho)
    complete = sum(rho.shape[1] ** 2 for rho in found) == group.order
    return tuple(sorted(found, key=lambda rho: rho.shape[1])) if complete else None


def _invariant_spaces(group: FiniteGroup) -> list[np.ndarray]:
    """Bases of irreducible parts of the regular representation.

    A symmetric matrix that commutes with it, and is otherwise random, has them as eigenspaces.
    """
    rng = np.random.default_rng(0)
    weights = rng.normal(size=group.order)
    weights = weights + weights[group.inverse]
    commuting = weights[group.relative]  # [g, h] → w(g⁻¹h): what right translations make
    values, vectors = np.linalg.eigh(commuting)
    borders = np.flatnonzero(np.diff(values) > _CLOSE) + 1
    return np.split(vectors, borders, axis=1)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal up to a change of basis: their characters are."""
    return np.allclose(np.trace(one, axis1=1, axis2=2), np.trace(other, axis1=1, axis2=2))
