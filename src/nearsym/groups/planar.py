"""The continuous groups of the plane, SO(2) and O(2), and their representations."""

import math
from itertools import groupby
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from nearsym.errors import UsageError
from nearsym.groups.catalog import MIRROR_X
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation, as_inexact, constant_like


class PlanarElement(NamedTuple):
    """mirror_x (x → −x) if `mirrored`, then a counter-clockwise turn by `angle` in radians."""

    angle: float
    mirrored: bool = False


class Irrep(NamedTuple):
    """An irreducible part: how (cos kφ, sin kφ) moves, or at k = 0 how a number does.

    `parity` is 1 where a mirror changes the sign of a number (k = 0); at k > 0 both parities are
    the same representation up to a change of basis, and 0 stands for it.
    """

    frequency: int
    parity: int = 0

    @property
    def size(self) -> int:
        return 1 if self.frequency == 0 else 2

    @property
    def name(self) -> str:
        if self.frequency > 0:
            return f"irrep{self.frequency}"
        return "sign" if self.parity else "trivial"

    def matrix(self, g: PlanarElement) -> np.ndarray:
        k = self.frequency
        if k == 0:
            return np.array([[-1.0 if g.mirrored and self.parity else 1.0]])
        # mirror_x sends φ to π − φ, hence (cos kφ, sin kφ) to (−1)^k (cos kφ, −sin kφ).
        flip = (-1.0) ** k * np.diag([1.0, -1.0]) if g.mirrored else np.eye(2)
        return rotation(k * g.angle) @ flip


class PlanarGroup:
    """SO(2), all rotations about the origin, or O(2), the mirrors as well.

    Its elements are pairs (angle, mirrored), moving the plane (x to the right, y up) as
    `PlanarElement` says.

    >>> so2().irrep(1) + 2 * so2().trivial()
    irrep1 + 2·trivial
    """

    def __init__(self, name: str, *, mirrors: bool):
        self.name = name
        self.mirrors = mirrors

    @property
    def order(self) -> float:
        """The number of elements: infinite."""
        return math.inf

    def element(self, angle: float, mirrored: bool = False) -> PlanarElement:
        if mirrored and not self.mirrors:
            raise UsageError(f"{self} has no mirrors; take o2() for them.")
        return PlanarElement(float(angle), bool(mirrored))

    def plane(self, angle: float, mirrored: bool = False) -> np.ndarray:
        """The 2×2 matrix by which an element moves the plane."""
        g = self.element(angle, mirrored)
        return rotation(g.angle) @ (MIRROR_X if g.mirrored else np.eye(2))

    def trivial(self) -> "PlanarRepresentation":
        """ρ(g) = 1."""
        return self.irrep(0)

    def vector(self) -> "PlanarRepresentation":
        """How the group moves vectors (x, y) of the plane: the irreducible one of frequency 1."""
        return self.irrep(1)

    def sign(self) -> "PlanarRepresentation":
        """−1 for the mirrors, 1 for the rotations; O(2) only."""
        return self.irrep(0, parity=1)

    def irrep(self, frequency: int, parity: int = 0) -> "PlanarRepresentation":
        """The irreducible representation of a frequency; `parity` matters at frequency 0 only."""
        if not isinstance(frequency, Integral) or frequency < 0:
            raise UsageError(f"A frequency is a whole number ≥ 0, got {frequency!r}.")
        if parity not in (0, 1):
            raise UsageError(f"A parity is 0 or 1, got {parity!r}.")
        if parity == 1 and frequency == 0 and not self.mirrors:
            raise UsageError(f"{self} has no mirrors and so no sign representation.")
        return PlanarRepresentation(self, (Irrep(frequency, parity if frequency == 0 else 0),))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlanarGroup) and self.mirrors == other.mirrors

    def __hash__(self) -> int:
        return hash((PlanarGroup, self.mirrors))

    def __repr__(self) -> str:
        return self.name


class PlanarRepresentation:
    """A direct sum of irreducible representations of SO(2) or O(2).

    Sums and whole multiples work as for `Representation`; `restrict` gives the representation of a
    finite subgroup.

    >>> rho = o2().sign() + 2 * o2().irrep(1)
    >>> rho, rho.size
    (sign + 2·irrep1, 5)
    >>> rho.matrix(np.pi, mirrored=True)[0, 0]
    np.float64(-1.0)
    """

    def __init__(self, group: PlanarGroup, irreps: tuple[Irrep, ...]):
        self.group = group
        self.irreps = irreps

    @property
    def size(self) -> int:
        return sum(irrep.size for irrep in self.irreps)

    @property
    def name(self) -> str:
        runs = [(name, len(list(run))) for name, run in groupby(i.name for i in self.irreps)]
        return " + ".join(name if n == 1 else f"{n}·{name}" for name, n in runs)

    @property
    def frequency(self) -> int:
        """The highest frequency of its parts."""
        return max(irrep.frequency for irrep in self.irreps)

    @property
    def is_permutation(self) -> bool:
        """Whether pointwise nonlinearities commute with it: only if nothing moves at all."""
        return all(irrep == Irrep(0) for irrep in self.irreps)

    def matrix(self, angle: float, mirrored: bool = False) -> np.ndarray:
        """ρ(g) for the element (angle, mirrored)."""
        g = self.group.element(angle, mirrored)
        result = np.zeros((self.size, self.size))
        start = 0
        for irrep in self.irreps:
            stop = start + irrep.size
            result[start:stop, start:stop] = irrep.matrix(g)
            start = stop
        return result

    def act(self, g: tuple[float, bool], x: Any) -> Any:
        """ρ(g) x on the last axis of a numpy array or a torch tensor."""
        if x.shape[-1] != self.size:
            raise UsageError(
                f"{self} of {self.group} acts on {self.size} coordinates, "
                f"got an array of shape {tuple(x.shape)}."
            )
        x = as_inexact(x)
        return x @ constant_like(self.matrix(*g).T, x)

    def restrict(self, group: FiniteGroup) -> Representation:
        """The same matrices for the elements of a finite group that moves the plane."""
        if group.plane is None:
            raise UsageError(f"{group} has no plane action, so it is no subgroup of {self.group}.")
        matrices = [self.matrix(*_planar_element(plane)) for plane in group.plane]
        return Representation(group, np.array(matrices), self.name)

    def __add__(self, other: "PlanarRepresentation") -> "PlanarRepresentation":
        if self.group != other.group:
            raise UsageError(
                f"{self} belongs to {self.group} and {other} to {other.group}; "
                "only representations of one group combine."
            )
        return PlanarRepresentation(self.group, self.irreps + other.irreps)

    def __rmul__(self, copies: int) -> "PlanarRepresentation":
        if copies < 1:
            raise UsageError(f"A representation can be repeated 1, 2, … times, got {copies}.")
        return PlanarRepresentation(self.group, copies * self.irreps)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PlanarRepresentation)
            and self.group == other.group
            and self.irreps == other.irreps
        )

    def __hash__(self) -> int:
        return hash((self.group, self.irreps))

    def __repr__(self) -> str:
        return self.name


def so2() -> PlanarGroup:
    """All rotations of the plane about the origin.

    >>> so2().plane(np.pi / 2)
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    return PlanarGroup("SO(2)", mirrors=False)


def o2() -> PlanarGroup:
    """All rotations and mirrors of the plane that keep the origin.

    >>> o2().plane(0.0, mirrored=True)
    array([[-1.,  0.],
           [ 0.,  1.]])
    """
    return PlanarGroup("O(2)", mirrors=True)


def rotation(angle: float) -> np.ndarray:
    """The counter-clockwise turn by an angle in radians; quarter turns are exact."""
    cos, sin = math.cos(angle), math.sin(angle)
    matrix = np.array([[cos, -sin], [sin, cos]])
    nearest = np.round(matrix)
    return np.where(np.abs(matrix - nearest) < 1e-12, nearest, matrix) + 0.0


def planar_irrep(frequency: int, group: FiniteGroup) -> Representation:
    """`FiniteGroup.irrep`."""
    return o2().irrep(frequency).restrict(group)


def _planar_element(plane: np.ndarray) -> PlanarElement:
    mirrored = np.linalg.det(plane) < 0
    turn = plane @ MIRROR_X if mirrored else plane
    return PlanarElement(math.atan2(turn[1, 0], turn[0, 0]), bool(mirrored))
