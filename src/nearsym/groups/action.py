"""How an element moves images and other arrays."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from nearsym.errors import UsageError
from nearsym.groups.group import FiniteGroup


@runtime_checkable
class Action(Protocol):
    """A group acting on arrays, numpy or torch. A `Representation` is one; so are those below.

    >>> class Reversal:
    ...     def __init__(self, group):
    ...         self.group = group
    ...     def act(self, g, x):
    ...         return x[..., ::-1] if g else x
    >>> from nearsym.groups.catalog import cyclic
    >>> isinstance(Reversal(cyclic(2)), Action)
    True
    """

    group: FiniteGroup

    def act(self, g: int, x: Any) -> Any: ...


@dataclass(frozen=True)
class GridMove:
    """One exact motion of a pixel grid: transpose, then reverse axes."""

    transpose: bool
    flip_height: bool
    flip_width: bool

    def apply(self, x: Any, height: int, width: int) -> Any:
        """Move the two pixel axes of an array."""
        if self.transpose:
            x = x.swapaxes(height, width)
        axes = tuple(a for a, f in ((height, self.flip_height), (width, self.flip_width)) if f)
        if not axes:
            return x
        return np.flip(x, axes) if isinstance(x, np.ndarray) else x.flip(axes)


def fits_grid(group: FiniteGroup) -> bool:
    """Whether every element maps pixels to pixels: flips and quarter turns do.

    >>> from nearsym.groups.catalog import cyclic
    >>> fits_grid(cyclic(4)), fits_grid(cyclic(8))
    (True, False)
    """
    return group.plane is not None and bool(np.isin(group.plane, (-1.0, 0.0, 1.0)).all())


def grid_moves(group: FiniteGroup) -> tuple[GridMove, ...]:
    """The motion of the pixel grid for each element, or an error where the grid does not fit.

    Column is x, row is −y; the picture moves by (g·f)(p) = f(g⁻¹p).
    """
    if group.plane is None:
        raise UsageError(f"{group} has no plane action, so it cannot move images.")
    if not fits_grid(group):
        raise UsageError(
            f"{group} does not fit the pixel grid: only flips and quarter turns do "
            "(C1, C2, C4, D1, D2, D4). Use SteerableConv2d for other rotations."
        )
    return tuple(_grid_move(matrix) for matrix in group.plane)


class ImageAction:
    """A group moving the pixels of images, exact on the grid: flips and quarter turns.

    `height` and `width` name the pixel axes, counted from the end so that batches work:
    (−2, −1) for channel-first arrays, (−3, −2) for channel-last ones.

    >>> from nearsym.groups.catalog import cyclic
    >>> quarter = cyclic(4).index("rot90")
    >>> ImageAction(cyclic(4)).act(quarter, np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """

    def __init__(self, group: FiniteGroup, height: int = -2, width: int = -1):
        self.group = group
        self.height, self.width = height, width
        self.moves = grid_moves(group)

    def act(self, g: int, x: Any) -> Any:
        return self.moves[g].apply(x, self.height, self.width)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageAction) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[FiniteGroup, int, int]:
        return self.group, self.height, self.width

    def __repr__(self) -> str:
        return f"{self.group} on pixels"


class Invariant:
    """The action that leaves everything where it is.

    >>> from nearsym.groups.catalog import dihedral
    >>> Invariant(dihedral(1)).act(1, np.array([5.0]))
    array([5.])
    """

    def __init__(self, group: FiniteGroup):
        self.group = group

    def act(self, g: int, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Invariant) and self.group == other.group

    def __hash__(self) -> int:
        return hash((Invariant, self.group))

    def __repr__(self) -> str:
        return f"{self.group} acting trivially"


class Together:
    """Several actions of one group on different axes of one array, such as pixels and channels.

    >>> from nearsym.groups.catalog import dihedral
    >>> mirror = dihedral(1)
    >>> Together(ImageAction(mirror), mirror.regular().along(0))
    D1 on pixels and regular on axis 0
    """

    def __init__(self, *parts: Action):
        self.parts = parts
        self.group = parts[0].group

    def act(self, g: int, x: Any) -> Any:
        for part in self.parts:
            x = part.act(g, x)
        return x

    def __repr__(self) -> str:
        return " and ".join(map(repr, self.parts))


def _grid_move(matrix: np.ndarray) -> GridMove:
    if matrix[0, 1] == 0:
        return GridMove(
            False, flip_height=bool(matrix[1, 1] < 0), flip_width=bool(matrix[0, 0] < 0)
        )
    return GridMove(True, flip_height=bool(matrix[1, 0] > 0), flip_width=bool(matrix[0, 1] > 0))
