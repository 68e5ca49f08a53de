"""Linear representations of finite groups, as values.

The functions at the end make them; users call them as methods of the group.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearsym.errors import UsageError, shown
from nearsym.groups.group import FiniteGroup


class Representation:
    """ρ: one matrix for each element of a group, with ρ(g)ρ(h) = ρ(gh).

    It acts on the last axis of an array, or on another with `along`. Representations add
    (`a + b` is the direct sum), multiply by whole numbers (`3 * a` is three copies side by side)
    and with each other (`a @ b` is the tensor product).

    >>> from nearsym.groups.catalog import dihedral
    >>> mirror = dihedral(1)
    >>> rho = 2 * mirror.sign() + mirror.trivial()
    >>> rho, rho.size
    (2·sign + trivial, 3)
    >>> rho.act(1, np.array([1.0, 2.0, 3.0]))
    array([-1., -2.,  3.])
    """

    def __init__(self, group: FiniteGroup, matrices: np.ndarray, name: str):
        self.group = group
        self.name = name
        self.matrices = np.array(matrices, dtype=np.float64) + 0.0  # −0 would change the hash
        self.matrices.flags.writeable = False

    @property
    def size(self) -> int:
        return self.matrices.shape[1]

    @property
    def character(self) -> np.ndarray:
        """χ(g) = trace ρ(g), one number for each element."""
        return np.trace(self.matrices, axis1=1, axis2=2)

    @property
    def is_signed_permutation(self) -> bool:
        """Whether every matrix moves coordinates around and changes signs, and nothing else."""
        magnitude = np.abs(self.matrices)
        binary = np.isin(magnitude, (0.0, 1.0)).all()
        return bool(binary and (magnitude.sum(1) == 1).all() and (magnitude.sum(2) == 1).all())

    @property
    def is_permutation(self) -> bool:
        """Whether pointwise nonlinearities commute with it: coordinates move, signs stay."""
        return self.is_signed_permutation and bool((self.matrices >= 0).all())

    def act(self, g: int, x: Any) -> Any:
        """ρ(g) x on the last axis of a numpy array or a torch tensor."""
        if x.shape[-1] != self.size:
            raise UsageError(
                f"{self.name} of {self.group} acts on {self.size} coordinates, "
                f"got an array of shape {tuple(x.shape)}."
            )
        x = as_inexact(x)
        return x @ constant_like(self.matrices[g].T, x)

    def along(self, axis: int) -> "AxisAction":
        """The same action on another axis, whose length may be a multiple of `size`."""
        return AxisAction(self, axis)

    def absolute(self) -> "Representation":
        """|ρ|: the same moves without the signs; how a standard deviation transforms."""
        if not self.is_signed_permutation:
            raise UsageError(f"|ρ| is a representation only for signed permutations, not {self}.")
        return Representation(self.group, np.abs(self.matrices), f"|{self.name}|")

    def __add__(self, other: "Representation") -> "Representation":
        self._check_same_group(other)
        n, m = self.size, other.size
        matrices = np.zeros((self.group.order, n + m, n + m))
        matrices[:, :n, :n] = self.matrices
        matrices[:, n:, n:] = other.matrices
        return Representation(self.group, matrices, f"{self.name} + {other.name}")

    def __rmul__(self, copies: int) -> "Representation":
        if copies < 1:
            raise UsageError(f"A representation can be repeated 1, 2, … times, got {copies}.")
        matrices = np.kron(np.eye(copies), self.matrices)
        name = f"({self.name})" if " + " in self.name else self.name
        return Representation(
            self.group, matrices, self.name if copies == 1 else f"{copies}·{name}"
        )

    def __matmul__(self, other: "Representation") -> "Representation":
        self._check_same_group(other)
        products = np.einsum("gij,gkl->gikjl", self.matrices, other.matrices)
        size = self.size * other.size
        name = f"({self.name} ⊗ {other.name})"
        return Representation(self.group, products.reshape(-1, size, size), name)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Representation)
            and self.group == other.group
            and np.array_equal(self.matrices, other.matrices)
        )

    def __hash__(self) -> int:
        return hash((self.group, self.matrices.tobytes()))

    def __repr__(self) -> str:
        return self.name

    def _check_same_group(self, other: "Representation") -> None:
        if self.group != other.group:
            raise UsageError(
                f"{self.name} belongs to {self.group} and {other.name} to {other.group}; "
                "only representations of one group combine."
            )


class AxisAction:
    """A representation acting on one axis of an array.

    An axis of length size·m holds m channels for each coordinate, coordinate-major: index c of
    coordinate i stands at i·m + c. For the regular representation that is group-major.
    """

    def __init__(self, representation: Representation, axis: int):
        self.representation = representation
        self.group = representation.group
        self.axis = axis

    def act(self, g: int, x: Any) -> Any:
        size, length = self.representation.size, x.shape[self.axis]
        if length % size:
            raise UsageError(
                f"{self.representation} acts on a multiple of {size} entries in axis {self.axis}, "
                f"got shape {tuple(x.shape)}."
            )
        first = _move_axis(as_inexact(x), self.axis, 0)
        moved = constant_like(self.representation.matrices[g], first) @ first.reshape(size, -1)
        return _move_axis(moved.reshape(first.shape), 0, self.axis)

    def __repr__(self) -> str:
        return f"{self.representation} on axis {self.axis}"


def trivial_of(group: FiniteGroup) -> Representation:
    """`FiniteGroup.trivial`."""
    return Representation(group, np.ones((group.order, 1, 1)), "trivial")


def sign(group: FiniteGroup) -> Representation:
    """`FiniteGroup.sign`."""
    if group.plane is None:
        raise UsageError(
            f"{group} has no plane action to take the sign of; use group.representation(matrices)."
        )
    signs = np.round(np.linalg.det(group.plane))
    if (signs == 1).all():
        squares = np.unique(np.diag(group.mul))  # of a cyclic group: the even powers of a generator
        if 2 * len(squares) != group.order or not group.is_subgroup({*squares.tolist()}):
            raise UsageError(
                f"{group} has no sign representation: it has no mirrors, and is not cyclic of even "
                "order."
            )
        signs = np.where(np.isin(np.arange(group.order), squares), 1.0, -1.0)
    return Representation(group, signs[:, None, None], "sign")


def regular(group: FiniteGroup) -> Representation:
    """`FiniteGroup.regular`."""
    return _permutations(group, group.mul, "regular")


def quotient(group: FiniteGroup, subgroup: Sequence[int]) -> Representation:
    """`FiniteGroup.quotient`."""
    if not group.is_subgroup({0, *subgroup}):
        raise UsageError(f"{[group.elements[g] for g in subgroup]} is no subgroup of {group}.")
    members = group.subgroup(subgroup)
    cosets = sorted(
        {tuple(sorted(int(group.mul[h, k]) for k in members)) for h in range(group.order)}
    )
    coset_of = {h: i for i, coset in enumerate(cosets) for h in coset}
    moves = [[coset_of[int(group.mul[g, c[0]])] for c in cosets] for g in range(group.order)]
    names = ",".join(group.elements[g] for g in members)
    return _permutations(group, np.array(moves), f"quotient({names})")


def plane_of(group: FiniteGroup) -> Representation:
    """`FiniteGroup.vector`."""
    if group.plane is None:
        raise UsageError(f"{group} has no plane action; use group.representation(matrices).")
    return Representation(group, group.plane, "vector")


def from_matrices(
    group: FiniteGroup,
    matrices: Mapping[str, Any] | Sequence[Any] | np.ndarray,
    name: str = "custom",
    tolerance: float = 1e-8,
) -> Representation:
    """`FiniteGroup.representation`."""
    if isinstance(matrices, Mapping):
        missing = set(group.elements) - set(matrices)
        if missing:
            raise UsageError(f"{name}: no matrix for element {sorted(missing)[0]!r} of {group}.")
        for element in matrices:
            group.index(element)  # an error for a name that is none of the group's
        matrices = [matrices[element] for element in group.elements]
    shapes = {np.shape(m) for m in matrices}
    first = min(shapes, default=(0, 0))
    square = len(first) == 2 and first[0] == first[1] > 0
    if len(matrices) != group.order or len(shapes) != 1 or not square:
        raise UsageError(
            f"{name}: {group} needs {group.order} square matrices of one size, "
            f"got {len(matrices)} of shapes {sorted(shapes)}."
        )
    stacked = np.array(matrices, dtype=np.float64)
    if not np.isfinite(stacked).all():
        raise UsageError(f"{name}: a matrix has entries that are not finite.")
    whole = np.round(stacked)  # cos(π/2) is 6e-17, and means 0
    stacked = np.where(np.abs(stacked - whole) <= min(tolerance, 1e-8), whole, stacked)
    pairs = zip(stacked, group.mul, strict=True)  # one g at a time: all would take |G|² matrices
    with np.errstate(over="ignore", invalid="ignore"):
        worst = np.stack([np.abs(m @ stacked - stacked[row]).max(axis=(1, 2)) for m, row in pairs])
    fits = worst.max() <= tolerance  # not so where products overflow
    if not fits or not np.allclose(stacked[0], np.eye(first[0]), atol=tolerance):
        g, h = np.unravel_index(np.argmax(worst), worst.shape)
        if fits:
            raise UsageError(f"{name} is no representation of {group}: ρ(e) is not the identity.")
        names = group.elements
        raise UsageError(
            f"{name} is no representation of {group}: ρ({names[g]})·ρ({names[h]}) differs from "
            f"ρ({names[group.mul[g, h]]}) by {worst.max():.3g}."
        )
    return Representation(group, stacked, name)


def diagonal(group: FiniteGroup, signs: Mapping[str, Sequence[float]], name: str) -> Representation:
    """`FiniteGroup.diagonal`."""
    if not isinstance(signs, Mapping) or not all(np.ndim(row) == 1 for row in signs.values()):
        example = f"{{{group.elements[-1]!r}: [-1, 1]}}"
        raise UsageError(
            f"diagonal takes the signs of all entries by element, as in {example}; got "
            f"{shown(signs)}."
        )
    size = len(next(iter(signs.values()))) if signs else 1
    complete = {group.elements[0]: np.ones(size), **signs}
    return from_matrices(group, {g: np.diag(np.array(s, float)) for g, s in complete.items()}, name)


def as_inexact(x: Any) -> Any:
    """An array (numpy or torch) that is not of whole numbers, which would cut off the matrices."""
    if hasattr(x, "new_tensor"):
        return x if x.is_floating_point() or x.is_complex() else x.double()
    return x if np.issubdtype(x.dtype, np.inexact) else x.astype(np.float64)


def constant_like(constant: np.ndarray, x: Any) -> Any:
    """A numpy constant as an array of the kind, type and device of x (numpy or torch)."""
    if hasattr(x, "new_tensor"):
        return x.new_tensor(constant)
    dtype = x.dtype if np.issubdtype(x.dtype, np.floating) else np.float64
    return np.asarray(constant, dtype=dtype)


def _permutations(group: FiniteGroup, moves: np.ndarray, name: str) -> Representation:
    size = moves.shape[1]
    matrices = np.zeros((group.order, size, size))
    for g, move in enumerate(moves):
        matrices[g, move, np.arange(size)] = 1.0  # e_h goes to e_{move[h]}
    return Representation(group, matrices, name)


def _move_axis(x: Any, source: int, target: int) -> Any:
    return x.movedim(source, target) if hasattr(x, "movedim") else np.moveaxis(x, source, target)
