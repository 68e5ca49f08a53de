"""All subgroups of a finite group, and what to call them."""

from itertools import product as pairs

import numpy as np

from nearsym.groups.group import FiniteGroup

Subgroup = tuple[int, ...]
"""The indices of its elements, in increasing order."""


def subgroups(group: FiniteGroup) -> tuple[Subgroup, ...]:
    """Every subgroup, conjugate ones each for itself, from the whole group to {e}.

    Cyclic subgroups first, then what any two generate together, until nothing new appears.

    >>> from nearsym.groups.catalog import dihedral
    >>> subgroups(dihedral(2))
    ((0, 1, 2, 3), (0, 1), (0, 2), (0, 3), (0,))
    """
    found = {group.subgroup([g]) for g in range(group.order)}
    fresh = found
    while fresh:
        fresh = {group.subgroup([*a, *b]) for a, b in pairs(fresh, found)} - found
        found = found | fresh
    return tuple(sorted(found, key=lambda k: (-len(k), k)))


def subgroup_name(group: FiniteGroup, subgroup: Subgroup) -> str:
    """A short name and the elements: a group of the plane is C_n, or D_n if it has a mirror.

    >>> from nearsym.groups.catalog import dihedral
    >>> subgroup_name(dihedral(4), (0, 2)), subgroup_name(dihedral(4), (0, 4))
    ('C2 {e, rot180}', 'D1 {e, mirror_x}')
    """
    if len(subgroup) == group.order:
        return group.name
    listed = "{" + ", ".join(group.elements[g] for g in subgroup) + "}"
    if group.plane is None or len(subgroup) == 1:
        return listed
    mirrors = bool((np.linalg.det(group.plane[list(subgroup)]) < 0).any())
    kind = f"D{len(subgroup) // 2}" if mirrors else f"C{len(subgroup)}"
    return f"{kind} {listed}"


def coset_means(group: FiniteGroup, subgroup: Subgroup) -> np.ndarray:
    """P with (P w)[h] = the mean of w over the coset Kh: an orthogonal projection.

    >>> from nearsym.groups.catalog import dihedral
    >>> coset_means(dihedral(1), (0, 1)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    means = np.zeros((group.order, group.order))
    for coset in group.right_cosets(subgroup):
        means[np.ix_(coset, coset)] = 1 / len(coset)
    return means
