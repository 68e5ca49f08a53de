"""Declarations for Gymnasium's tasks, right ones and wrong ones, as users write them."""

import gymnasium as gym
import numpy as np

from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import from_matrices
from nearsym.groups.symmetry import Symmetry

D1 = dihedral(1)


def places(source, signs=None):
    """The matrix that takes entry i from source[i]."""
    n = len(source)
    matrix = np.zeros((n, n))
    matrix[np.arange(n), source] = 1.0 if signs is None else signs
    return matrix


def mirrored(observation, action):
    """D1 by two matrices, or by two rows of signs."""
    both = [np.diag(np.array(m, float)) if np.ndim(m) == 1 else m for m in (observation, action)]
    obs, act = (from_matrices(D1, [np.eye(len(m)), m], "declared") for m in both)
    return Symmetry(obs, act)


WALKER_ACTION = places([3, 4, 5, 0, 1, 2])
WALKER_OBS = places([0, 1, 5, 6, 7, 2, 3, 4, 8, 9, 10, 14, 15, 16, 11, 12, 13])
HIPS = [-1, 1] * 4
ANT_ACTION = places([2, 3, 0, 1, 6, 7, 4, 5], HIPS)
_LEGS = np.array([6, 7, 4, 5, 2, 3, 0, 1])
ANT_OBS = places(
    [0, 1, 2, 3, 4, *(5 + _LEGS), *range(13, 19), *(19 + _LEGS)],
    [1, 1, -1, 1, -1, *HIPS, 1, -1, 1, -1, 1, -1, *HIPS],
)
"""Ant's joints stand as hip_1, ankle_1, …; its actions begin with those of the fourth leg."""

RIGHT = {
    "InvertedDoublePendulum-v5": ([-1, -1, -1, 1, 1, -1, -1, -1, -1], [-1]),
    "Swimmer-v5": ([-1, -1, -1, 1, -1, -1, -1, -1], [-1, -1]),
    "Reacher-v5": ([1, 1, -1, -1, 1, -1, -1, -1, 1, -1], [-1, -1]),
    "Walker2d-v5": (WALKER_OBS, WALKER_ACTION),
    "Ant-v5": (ANT_OBS, ANT_ACTION),
}


def make(name):
    options = {"include_cfrc_ext_in_observation": False} if name.startswith("Ant") else {}
    return gym.make(name, **options)


def turned(matrix, rng):
    """The matrix seen through a random change of places and signs of a few entries: an involution
    again, and another one."""
    n = len(matrix)
    while True:
        few = rng.choice(n, size=min(n, int(rng.integers(1, 4))), replace=False)
        source, signs = np.arange(n), np.ones(n)
        source[few], signs[few] = rng.permutation(few), rng.choice([-1.0, 1.0], len(few))
        change = places(source, signs)
        other = change @ matrix @ change.T
        if not np.array_equal(other, matrix):
            return other
