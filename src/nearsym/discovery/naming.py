"""From elements to a group that has a name, and the order in which that names them."""

import numpy as np

from nearsym.discovery.elements import Element
from nearsym.groups.catalog import cyclic, dihedral, trivial
from nearsym.groups.group import FiniteGroup


def named_group(elements: list[Element]) -> tuple[FiniteGroup, list[Element]]:
    """A cyclic or dihedral group where the elements form one, and else their own table.

    The identity comes first in `elements`; the elements are returned in the group's order.
    """
    table = _table(elements)
    n = len(elements)
    if n == 1:
        return trivial(), elements
    order = _as_dihedral(table)
    if order is not None:
        return dihedral(n // 2), [elements[i] for i in order]
    generator = next((g for g in range(n) if _order(table, g) == n), None)
    if generator is not None:
        return cyclic(n), [elements[i] for i in _powers(table, generator)]
    names = ["e", *(f"g{i}" for i in range(1, n))]
    return FiniteGroup(f"G{n}", names, table), elements


def _table(elements: list[Element]) -> np.ndarray:
    index = {element.key: i for i, element in enumerate(elements)}
    return np.array([[index[g.after(h).key] for h in elements] for g in elements])


def _powers(table: np.ndarray, g: int) -> list[int]:
    powers = [0]
    while (following := int(table[g, powers[-1]])) != 0:
        powers.append(following)
    return powers


def _order(table: np.ndarray, g: int) -> int:
    return len(_powers(table, g))


def _as_dihedral(table: np.ndarray) -> list[int] | None:
    """The order of the elements in which they are D_n: rotations, then each after one mirror."""
    size = len(table)
    if size % 2:
        return None
    n = size // 2
    for r in [0] if n == 1 else range(1, size):
        rotations = _powers(table, r)
        if len(rotations) != n:
            continue
        back = rotations[-1]
        for m in range(1, size):
            turned = int(table[table[m, r], m])
            if m not in rotations and _order(table, m) == 2 and turned == (back if n > 1 else 0):
                return [*rotations, *(int(table[k, m]) for k in rotations)]
    return None
