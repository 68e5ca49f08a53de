"""Finite Markov decision processes with a group action: metrics and bounds. Numpy, no torch.

>>> from nearsym.theory import TotalVariation, gap_bound, leaking_pair
>>> found = gap_bound(*leaking_pair(leak=0.01, discount=0.9), TotalVariation())
>>> bool((found.gap_q <= found.alpha).all())
True
"""

from nearsym.theory.bounds import (
    GapBound,
    HorizonBound,
    Invariance,
    alpha,
    gap_bound,
    horizon_bound,
    invariance,
    truncation_bounds,
)
from nearsym.theory.families import leaking_pair, random_action, random_mdp, random_moves
from nearsym.theory.mdp import (
    FiniteMDP,
    MDPAction,
    Optimal,
    bellman,
    finite_horizon_values,
    optimal_values,
    pushed_forward,
    symmetrised,
)
from nearsym.theory.metrics import Kantorovich, Metric, TotalVariation, euclidean

__all__ = [
    "FiniteMDP",
    "GapBound",
    "HorizonBound",
    "Invariance",
    "Kantorovich",
    "MDPAction",
    "Metric",
    "Optimal",
    "TotalVariation",
    "alpha",
    "bellman",
    "euclidean",
    "finite_horizon_values",
    "gap_bound",
    "horizon_bound",
    "invariance",
    "leaking_pair",
    "optimal_values",
    "pushed_forward",
    "random_action",
    "random_mdp",
    "random_moves",
    "symmetrised",
    "truncation_bounds",
]
