"""Finite groups as product tables."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearsym.errors import UsageError, unknown_name

LARGEST_ORDER = 1000
"""Elements that a group may have: its table of products is checked in n³ steps."""

if TYPE_CHECKING:
    from nearsym.groups.representation import Representation


class FiniteGroup:
    """A finite group: named elements in a fixed order, element 0 the identity.

    `mul[g, h]` is the index of gh, `inverse[g]` of g⁻¹ and `relative[g, h]` of g⁻¹h. A group acts
    on signals over itself by (k·f)(h) = f(k⁻¹h).

    `plane` says how the elements move the plane (x to the right, y up): orthogonal 2×2 matrices,
    or None for a group that has no natural place there.

    >>> group = FiniteGroup("C2", ["e", "r"], [[0, 1], [1, 0]])
    >>> group.order, group.index("r"), group
    (2, 1, C2)

    Its methods `trivial`, `sign`, `vector`, `irrep`, `regular`, `quotient`, `diagonal` and
    `representation` say how it may act on vectors.

    >>> 2 * group.regular() + group.diagonal({"r": [-1]}, "odd")
    2·regular + odd
    """

    def __init__(
        self,
        name: str,
        elements: Sequence[str],
        mul: np.ndarray | Sequence[Sequence[int]],
        plane: np.ndarray | None = None,
    ):
        self.name = name
        self.elements = tuple(elements)
        if len(self.elements) > LARGEST_ORDER:
            raise UsageError(
                f"{name}: a group has at most {LARGEST_ORDER} elements here, got {len(elements)}."
            )
        table = np.array(mul)
        if table.dtype.kind not in "iu" and table.size:
            raise UsageError(f"{name}: a product table holds whole numbers, got {table.dtype}.")
        self.mul = table.astype(np.int64)
        self._check_table()
        self.plane = None if plane is None else self._checked_plane(np.asarray(plane, float))
        self.mul.flags.writeable = False

    @property
    def order(self) -> int:
        return len(self.elements)

    @cached_property
    def inverse(self) -> np.ndarray:
        return np.argmax(self.mul == 0, axis=1)

    @cached_property
    def relative(self) -> np.ndarray:
        return self.mul[self.inverse]

    def index(self, element: str) -> int:
        """The position of a named element."""
        if element not in self.elements:
            raise unknown_name(f"element of {self}", element, self.elements)
        return self.elements.index(element)

    def subgroup(self, generators: Sequence[int]) -> tuple[int, ...]:
        """Indices of the smallest subgroup that contains `generators`, in increasing order."""
        found = {0, *generators}
        while True:
            products = {int(self.mul[g, h]) for g in found for h in found}
            if products <= found:
                return tuple(sorted(found))
            found |= products

    def is_subgroup(self, members: Iterable[int]) -> bool:
        """Whether these elements are closed under products and inverses.

        >>> from nearsym.groups.catalog import cyclic
        >>> cyclic(4).is_subgroup([0, 2]), cyclic(4).is_subgroup([0, 1])
        (True, False)
        """
        # Of finitely many, the powers of g come back to e past g⁻¹: products are enough.
        found = tuple(sorted(set(members)))
        return bool(found) and self.subgroup(found) == found

    def right_cosets(self, subgroup: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """The cosets Kh of a subgroup K, each in increasing order, that of the identity first."""
        cosets = {tuple(sorted(int(self.mul[k, h]) for k in subgroup)) for h in range(self.order)}
        return tuple(sorted(cosets))

    def trivial(self) -> "Representation":
        """ρ(g) = 1."""
        return _representations().trivial_of(self)

    def sign(self) -> "Representation":
        """−1 for the elements that reverse orientation in the plane, 1 for the rest.

        For D_n these are the reflections. A cyclic group of even order without reflections gets
        the representation that sends its generator to −1.
        """
        return _representations().sign(self)

    def vector(self) -> "Representation":
        """How the group moves vectors (x, y) of the plane."""
        return _representations().plane_of(self)

    def irrep(self, frequency: int) -> "Representation":
        """How the circular harmonic (cos kφ, sin kφ) moves; at frequency k = 0, how a number does.

        Irreducible for SO(2) and O(2); a finite group may split it, as D_4 does at k = 2.
        """
        from nearsym.groups.planar import planar_irrep

        return planar_irrep(frequency, self)

    def regular(self) -> "Representation":
        """The group moving its own elements: e_h goes to e_{gh}."""
        return _representations().regular(self)

    def quotient(self, subgroup: Sequence[int]) -> "Representation":
        """The group moving the left cosets hK of a subgroup K, given by its elements."""
        return _representations().quotient(self, subgroup)

    def diagonal(
        self, signs: Mapping[str, Sequence[float]], name: str = "diagonal"
    ) -> "Representation":
        """A representation by sign changes, given by name for every element but the identity.

        >>> from nearsym.groups.catalog import dihedral
        >>> dihedral(1).diagonal({"mirror_x": [-1, 1]}).act(1, np.array([2.0, 3.0]))
        array([-2.,  3.])
        """
        return _representations().diagonal(self, signs, name)

    def representation(
        self,
        matrices: Mapping[str, Any] | Sequence[Any] | np.ndarray,
        name: str = "custom",
        tolerance: float = 1e-8,
    ) -> "Representation":
        """A representation from one matrix for each element, in order or by name; checked.

        >>> from nearsym.groups.catalog import cyclic
        >>> cyclic(2).representation([[[1.0]], [[2.0]]])
        Traceback (most recent call last):
        nearsym.errors.UsageError: custom is no representation of C2: ρ(rot180)·ρ(rot180) differs \
from ρ(e) by 3.
        """
        return _representations().from_matrices(self, matrices, name, tolerance)

    def _check_table(self) -> None:
        n = self.order
        if n == 0 or len(set(self.elements)) != n:
            raise UsageError(f"{self.name}: elements need distinct names, got {self.elements}.")
        if self.mul.shape != (n, n) or self.mul.min() < 0 or self.mul.max() >= n:
            raise UsageError(
                f"{self.name}: the product table of {n} elements must be {n}×{n} with entries "
                f"0…{n - 1}, got shape {self.mul.shape}."
            )
        everything = np.arange(n)
        if (self.mul[0] != everything).any() or (self.mul[:, 0] != everything).any():
            raise UsageError(f"{self.name}: element 0 ({self.elements[0]!r}) must be the identity.")
        if not all(
            (np.sort(table, axis=1) == everything).all() for table in (self.mul, self.mul.T)
        ):
            raise UsageError(
                f"{self.name}: an element appears twice in a row or column of the product table."
            )
        # One g at a time: (gh)k = g(hk) for all h and k.
        if any((self.mul[self.mul[g]] != self.mul[g][self.mul]).any() for g in range(n)):
            raise UsageError(f"{self.name}: the product table is not associative.")

    def _checked_plane(self, plane: np.ndarray) -> np.ndarray:
        if plane.shape != (self.order, 2, 2):
            raise UsageError(
                f"{self.name}: `plane` needs one 2×2 matrix for each of {self.order} elements, "
                f"got shape {plane.shape}."
            )
        products = np.einsum("gij,hjk->ghik", plane, plane)
        if not np.allclose(products, plane[self.mul], atol=1e-9):
            raise UsageError(f"{self.name}: the plane matrices do not multiply like the elements.")
        if not np.allclose(plane @ plane.transpose(0, 2, 1), np.eye(2), atol=1e-9):
            raise UsageError(f"{self.name}: the plane matrices must be orthogonal.")
        return plane

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FiniteGroup)
            and self.elements == other.elements
            and np.array_equal(self.mul, other.mul)
            and (self.plane is None) == (other.plane is None)
            and (self.plane is None or np.allclose(self.plane, other.plane))  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        return hash((self.elements, self.mul.tobytes()))

    def __repr__(self) -> str:
        return self.name


def _representations() -> Any:
    """A representation has a group, so its file imports this one; it is loaded when asked for."""
    from nearsym.groups import representation

    return representation
