"""Signed permutations that carry one set of matrices to another, by backtracking.

For matrices A_k and B_k over the same nodes, all P with

    B_k P = P A_k,   that is   A_k[π(i), π(j)] = s_i s_j B_k[i, j]

where P takes entry i from node π(i) with sign s_i. Nodes may only go to nodes of their kind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nearsym.physics.signed import SignedPermutation

MOST = 512
"""Solutions that are given at most."""
VISITS = 200_000
"""Assignments that are tried at most."""


@dataclass(frozen=True)
class Tolerance:
    """How far two entries of matrices may be apart and still count as equal."""

    relative: float
    floor: float
    """In parts of the smaller of the largest entries of row and column."""


NOISE = 1e-6
"""What differences of steps, divided by small changes, are off by in any case."""
EXACTLY = Tolerance(1e-3, 1e-4)
ROUGHLY = Tolerance(0.45, 0.1)


class Matcher:
    """All signed permutations between two lists of matrices.

    `allowed[i, j, s]` says whether node i may come from node j with sign + (s = 0) or − (s = 1).

    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> found = Matcher([swap], [swap], np.ones((2, 2, 2), dtype=bool), EXACTLY)
    >>> [p.matrix.tolist() for p in found.solutions()][:2]
    [[[1.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, -1.0]]]
    """

    def __init__(
        self,
        from_: Sequence[np.ndarray],
        to: Sequence[np.ndarray],
        allowed: np.ndarray,
        tolerance: Tolerance,
    ):
        self.a, self.b = np.stack(from_), np.stack(to)  # (matrices, n, n)
        self.n, self.tolerance = self.a.shape[1], tolerance
        self.floor_a, self.floor_b = (_floors(m, tolerance.floor) for m in (self.a, self.b))
        self.allowed = allowed & self._profiles()[:, :, None]
        self.order = self._ordered()
        self.visits = 0

    def solutions(self) -> Iterator[SignedPermutation]:
        """At most `MOST`, the identity first where it is one."""
        self.visits = 0
        source, sign = np.full(self.n, -1), np.zeros(self.n)
        for count, found in enumerate(self._extend(0, source, sign)):
            if count >= MOST:
                return
            yield found

    @property
    def complete(self) -> bool:
        """Whether the search ended by itself."""
        return self.visits < VISITS

    def _extend(
        self, depth: int, source: np.ndarray, sign: np.ndarray
    ) -> Iterator[SignedPermutation]:
        if depth == self.n:
            yield SignedPermutation(source.copy(), sign.copy())
            return
        i, done = self.order[depth], self.order[:depth]
        for j, s in self._choices(i, done, source, sign):
            self.visits += 1
            if self.visits > VISITS:
                return
            source[i], sign[i] = j, s
            yield from self._extend(depth + 1, source, sign)
            source[i], sign[i] = -1, 0.0

    def _choices(
        self, i: int, done: list[int], source: np.ndarray, sign: np.ndarray
    ) -> list[tuple[int, float]]:
        """Where node i may come from, given where the nodes before it do."""
        taken = source[done]
        free = np.flatnonzero(self.allowed[i].any(axis=1))
        nodes = [int(j) for j in free if j not in taken]
        # Staying in place with its sign comes first, so that the identity is found first.
        options = sorted(nodes, key=lambda j: j != i)
        choices = []
        for j in options:
            for s, at in ((1.0, 0), (-1.0, 1)):
                if self.allowed[i, j, at] and self._agrees(i, j, s, done, taken, sign[done]):
                    choices.append((j, s))
        return choices

    def _agrees(
        self, i: int, j: int, s: float, done: list[int], taken: np.ndarray, signs: np.ndarray
    ) -> bool:
        """Whether all entries between node i and the nodes done are matched."""
        rows = self._close(
            (self.a[:, j, taken], self.floor_a[:, j, taken]),
            (s * signs * self.b[:, i, done], self.floor_b[:, i, done]),
        )
        columns = self._close(
            (self.a[:, taken, j], self.floor_a[:, taken, j]),
            (s * signs * self.b[:, done, i], self.floor_b[:, done, i]),
        )
        return rows and columns

    def _close(self, a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> bool:
        larger = np.maximum(np.abs(a[0]), np.abs(b[0]))
        limit = self.tolerance.relative * larger + np.maximum(a[1], b[1])
        return bool((np.abs(a[0] - b[0]) <= limit).all())

    def _profiles(self) -> np.ndarray:
        """Whether node i may come from node j by their own entries and their sorted rows."""
        n, fits = self.n, np.ones((self.n, self.n), dtype=bool)
        own_a, own_b = (np.diagonal(m, axis1=1, axis2=2) for m in (self.a, self.b))
        for k in range(len(self.a)):
            fits &= self._near(own_a[k][None, :], own_b[k][:, None], k)
            for axis in (1, 2):
                a, b = (np.sort(np.abs(m[k]), axis=2 - axis) for m in (self.a, self.b))
                a, b = (a, b) if axis == 1 else (a.T, b.T)
                largest = np.maximum(np.abs(a).max(axis=1)[None, :], np.abs(b).max(axis=1)[:, None])
                gap = np.abs(a[None, :, :] - b[:, None, :]).max(axis=2)
                fits &= gap <= (self.tolerance.relative + self.tolerance.floor) * largest + NOISE
        assert fits.shape == (n, n)
        return fits

    def _near(self, a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
        floors = np.maximum(
            np.diagonal(self.floor_a[k])[None, :], np.diagonal(self.floor_b[k])[:, None]
        )
        larger = np.maximum(np.abs(a), np.abs(b))
        return np.abs(a - b) <= self.tolerance.relative * larger + floors

    def _ordered(self) -> list[int]:
        """Nodes with few choices first, each next one tied to those before it if any is."""
        choices = self.allowed.sum(axis=(1, 2))
        tied = (np.abs(self.b) > self.floor_b).any(axis=0)
        tied = tied | tied.T
        order: list[int] = []
        rest = set(range(self.n))
        while rest:
            near = {i for i in rest if order and tied[i, order].any()}
            order.append(min(near or rest, key=lambda i: (choices[i], i)))
            rest.remove(order[-1])
        return order


def _floors(matrices: np.ndarray, share: float) -> np.ndarray:
    rows = np.abs(matrices).max(axis=2, keepdims=True)
    columns = np.abs(matrices).max(axis=1, keepdims=True)
    return share * np.minimum(rows, columns) + NOISE
