"""Signed permutations: entries change places and signs, and nothing else."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class SignedPermutation:
    """y[i] = sign[i] · x[source[i]].

    >>> turn = SignedPermutation(np.array([1, 0]), np.array([-1.0, 1.0]))
    >>> turn(np.array([2.0, 3.0]))
    array([-3.,  2.])
    >>> turn.after(turn).sign
    array([-1., -1.])
    """

    source: Int[np.ndarray, "n"]
    sign: Float[np.ndarray, "n"]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """On the last axis of an array."""
        return self.sign * x[..., self.source]

    @property
    def matrix(self) -> Float[np.ndarray, "n n"]:
        matrix = np.zeros((len(self.source),) * 2)
        matrix[np.arange(len(self.source)), self.source] = self.sign
        return matrix

    @property
    def is_identity(self) -> bool:
        return bool((self.source == np.arange(len(self.source))).all() and (self.sign > 0).all())

    def after(self, first: "SignedPermutation") -> "SignedPermutation":
        """First the one given, then this one."""
        return SignedPermutation(first.source[self.source], self.sign * first.sign[self.source])


def identity(n: int) -> SignedPermutation:
    """Nothing moves."""
    return SignedPermutation(np.arange(n), np.ones(n))


def of_matrix(matrix: np.ndarray, tolerance: float = 1e-6) -> SignedPermutation | None:
    """The signed permutation with this matrix; None if it has another.

    >>> of_matrix(np.array([[0.0, -1.0], [1.0, 0.0]])).source
    array([1, 0])
    >>> of_matrix(np.array([[0.6, 0.8], [-0.8, 0.6]])) is None
    True
    """
    whole = np.round(matrix)
    permutes = (np.abs(whole).sum(axis=0) == 1).all() and (np.abs(whole).sum(axis=1) == 1).all()
    if not permutes or np.abs(whole - matrix).max(initial=0.0) > tolerance:
        return None
    source = np.argmax(np.abs(whole), axis=1)
    return SignedPermutation(source, whole[np.arange(len(whole)), source])
