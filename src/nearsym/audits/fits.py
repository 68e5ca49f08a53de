"""The signed permutation that turns one list of vectors into another, if there is one."""

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from nearsym.physics.signed import SignedPermutation

EXACT = 1e-6
"""How far entries may be apart, in parts of their size, and still be equal."""


def fit_signed(
    x: Float[np.ndarray, "samples entries"],
    y: Float[np.ndarray, "samples entries"],
    tolerance: float = EXACT,
) -> SignedPermutation | None:
    """P with y = P x for all samples; None where no signed permutation does it.

    Entries that cannot be told apart, such as constants, stay in place where they can.

    >>> x = np.array([[1.0, 2.0, 0.0], [3.0, 5.0, 0.0]])
    >>> fit_signed(x, x[:, [1, 0, 2]] * [1, -1, 1]).matrix.tolist()
    [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    cost, sign = _gaps(x, y)
    size = np.maximum(np.abs(x).mean(axis=0)[None, :], np.abs(y).mean(axis=0)[:, None])
    off = cost > tolerance * np.maximum(size, 1e-9) + 1e-12
    preference = 1e-3 * (1 - np.eye(len(cost)))
    rows, source = linear_sum_assignment(off + preference)
    if off[rows, source].any():
        return None
    return SignedPermutation(source, sign[rows, source])


def fit_most(
    x: Float[np.ndarray, "samples entries"],
    y: Float[np.ndarray, "samples entries"],
    tolerance: float,
    *,
    involution: bool,
) -> SignedPermutation | None:
    """P with y ≈ P x for most entries: the one that misses least, if that is little on average.

    With `involution`, entries that change places must do so both ways.
    """
    plus, minus = _gaps_of(x, y, 1.0), _gaps_of(x, y, -1.0)
    if involution:
        plus, minus = (plus + plus.T) / 2, (minus + minus.T) / 2
    cost = np.minimum(plus, minus)
    rows, source = linear_sum_assignment(cost + 1e-6 * (1 - np.eye(len(cost))))
    if cost[rows, source].mean() > tolerance:
        return None
    return SignedPermutation(source, np.where(minus < plus, -1.0, 1.0)[rows, source])


def _gaps_of(x: np.ndarray, y: np.ndarray, sign: float) -> np.ndarray:
    """Mean distances of entry i of y from ± entry j of x, in parts of their size."""
    size = np.maximum(np.abs(x).mean(axis=0)[None, :], np.abs(y).mean(axis=0)[:, None])
    gaps = np.stack([np.abs(y[:, i, None] - sign * x).mean(axis=0) for i in range(x.shape[1])])
    return gaps / np.maximum(size, 1e-9)


def _gaps(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean distances of entry i of y from entry j of x with the better sign, and that sign."""
    n = x.shape[1]
    cost, sign = np.empty((n, n)), np.empty((n, n))
    for i in range(n):  # one row at a time: observations may be long
        plus = np.abs(y[:, i, None] - x).mean(axis=0)
        minus = np.abs(y[:, i, None] + x).mean(axis=0)
        cost[i], sign[i] = np.minimum(plus, minus), np.where(minus < plus, -1.0, 1.0)
    return cost, sign
