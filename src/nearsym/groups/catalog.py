"""The finite groups people name: trivial, cyclic, dihedral and products."""

import math
from numbers import Integral

import numpy as np

from nearsym.errors import UsageError, shown
from nearsym.groups.group import FiniteGroup

LARGEST = 500
"""The largest n of C_n and D_n: a table of products has n² entries, and is checked in n³ steps."""
MIRROR_X = np.array([[-1.0, 0.0], [0.0, 1.0]])


def trivial() -> FiniteGroup:
    """The group of the identity alone.

    >>> trivial().elements
    ('e',)
    """
    return FiniteGroup("trivial", ["e"], [[0]], plane=np.eye(2)[None])


def cyclic(n: int) -> FiniteGroup:
    """C_n: rotations of the plane by multiples of 360/n degrees.

    >>> cyclic(4).elements
    ('e', 'rot90', 'rot180', 'rot270')
    """
    _check_size("cyclic", n)
    table = (np.arange(n)[:, None] + np.arange(n)) % n
    return FiniteGroup(f"C{n}", [_rotation_name(k, n) for k in range(n)], table, _rotations(n))


def dihedral(n: int) -> FiniteGroup:
    """D_n: the n rotations of C_n and n reflections, 2n elements.

    D_1 is one reflection, mirror_x: x → −x; D_2 = {e, rot180, mirror_x, mirror_y}. Element n + k is
    the rotation k after mirror_x.

    >>> dihedral(2).elements
    ('e', 'rot180', 'mirror_x', 'mirror_y')
    """
    _check_size("dihedral", n)
    rotations = _rotations(n)
    plane = np.concatenate([rotations, rotations @ MIRROR_X])
    turn, flip = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    # (r^a m^s)(r^b m^t) = r^(a ± b) m^(s + t), minus where m^s reverses the rotation that follows.
    sign = np.where(flip == 1, -1, 1)
    table_turn = (turn[:, None] + sign[:, None] * turn[None, :]) % n
    table = table_turn + n * (flip[:, None] ^ flip[None, :])
    names = [_rotation_name(k, n) for k in range(n)] + [_mirror_name(k, n) for k in range(n)]
    return FiniteGroup(f"D{n}", names, table, plane)


def product(first: FiniteGroup, second: FiniteGroup) -> FiniteGroup:
    """The direct product; element (a, b) stands at a·|second| + b. It carries no plane action.

    >>> product(cyclic(2), dihedral(1)).elements
    ('e', '(e,mirror_x)', '(rot180,e)', '(rot180,mirror_x)')
    """
    n = second.order
    a, b = np.divmod(np.arange(first.order * n), n)
    table = first.mul[a[:, None], a] * n + second.mul[b[:, None], b]
    names = [f"({first.elements[i]},{second.elements[j]})" for i, j in zip(a, b, strict=True)]
    return FiniteGroup(f"{first}×{second}", ["e", *names[1:]], table)


def _rotations(n: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(n) / n
    cos, sin = np.cos(angles), np.sin(angles)
    matrices = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
    nearest = np.round(matrices)  # quarter turns are exact
    return np.where(np.abs(matrices - nearest) < 1e-12, nearest, matrices) + 0.0


def _rotation_name(k: int, n: int) -> str:
    return "e" if k == 0 else f"rot{360 * k / n:.4g}"


def _mirror_name(k: int, n: int) -> str:
    axis = (90 + 180 * k / n) % 180  # the line that stays, in degrees
    named = {90.0: "mirror_x", 0.0: "mirror_y"}
    return next((v for key, v in named.items() if math.isclose(axis, key)), f"mirror{axis:.4g}")


def _check_size(family: str, n: int) -> None:
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= n <= LARGEST:
        raise UsageError(f"{family}(n) needs a whole number n from 1 to {LARGEST}, got {shown(n)}.")
