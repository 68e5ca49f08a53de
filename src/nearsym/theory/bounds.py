"""How far an MDP is from invariant, and how far its values can be for that reason.

All quantities are per element g and become the paper's by taking the largest over the group:
the proofs follow one g at a time, so each element has its own valid bound.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError
from nearsym.theory.mdp import (
    FiniteMDP,
    MDPAction,
    finite_horizon_values,
    optimal_values,
    pushed_forward,
)
from nearsym.theory.metrics import Metric

PerElement = Float[np.ndarray, "elements"]


@dataclass(frozen=True)
class Invariance:
    """(G, ε_R, ε_P)-invariance: the smallest ε with which the definition holds, per element.

    ε_R(g) = max |R(gs, ga) − R(s, a)|,  ε_P(g) = max d(g_# P(· | s, a), P(· | gs, ga)).

    >>> Invariance(eps_r=np.array([0.0, 0.5]), eps_p=np.array([0.0, 0.2])).transition
    0.2
    """

    eps_r: PerElement
    eps_p: Float[np.ndarray, "*time elements"]

    @property
    def reward(self) -> float:
        """ε_R of the whole group."""
        return float(self.eps_r.max())

    @property
    def transition(self) -> float:
        """ε_P of the whole group (and of all steps, where transitions depend on time)."""
        return float(self.eps_p.max())


@dataclass(frozen=True)
class GapBound:
    """What Theorem 1 promises and what is true, per element: gap ≤ alpha.

    >>> from nearsym.theory.families import leaking_pair
    >>> from nearsym.theory.metrics import TotalVariation
    >>> found = gap_bound(*leaking_pair(leak=0.01, discount=0.9), TotalVariation())
    >>> bool((found.gap_v <= found.alpha).all())
    True
    """

    invariance: Invariance
    rho: float
    """ρ_F(V*)."""
    alpha: PerElement
    gap_q: PerElement
    """max |Q*(s, a) − Q*(gs, ga)|."""
    gap_v: PerElement
    """max |V*(s) − V*(gs)|."""
    tolerance: float
    """The sup-norm error of Q* and V*, which moves each gap by at most twice as much."""


@dataclass(frozen=True)
class HorizonBound:
    """The finite-horizon recursion and the true gaps, for t = 0 … T−1 (rows) and g (columns).

    >>> from nearsym.theory.families import leaking_pair
    >>> from nearsym.theory.metrics import TotalVariation
    >>> pair = leaking_pair(leak=0.01, discount=1.0)
    >>> found = horizon_bound(*pair, TotalVariation(), horizon=5)
    >>> found.alpha.shape, bool((found.gap_v <= found.alpha + 1e-12).all())
    ((5, 2), True)
    """

    invariance: Invariance
    rho: Float[np.ndarray, "horizon"]
    """ρ_F(V_{t+1}): the last is 0, because V_T = 0."""
    alpha: Float[np.ndarray, "horizon elements"]
    gap_q: Float[np.ndarray, "horizon elements"]
    gap_v: Float[np.ndarray, "horizon elements"]


def invariance(mdp: FiniteMDP, action: MDPAction, metric: Metric) -> Invariance:
    """The exact ε_R and ε_P of every element: a maximum over all states and actions.

    >>> from nearsym.theory.families import leaking_pair
    >>> from nearsym.theory.metrics import TotalVariation
    >>> found = invariance(*leaking_pair(leak=0.1, discount=0.9), TotalVariation())
    >>> found.reward, round(found.transition, 6)
    (0.0, 0.2)
    """
    eps_r, eps_p = [], []
    for g in range(action.group.order):
        transitions, rewards = pushed_forward(mdp, action, g)
        eps_r.append(np.abs(rewards - mdp.rewards).max())
        eps_p.append(metric.distance(transitions, mdp.transitions).max(axis=(-2, -1)))
    return Invariance(np.array(eps_r), np.stack(eps_p, axis=-1))


def alpha(
    eps_r: np.ndarray | float, eps_p: np.ndarray | float, rho: float, discount: float
) -> np.ndarray:
    """Theorem 1: α = (ε_R + γ ρ_F(V*) ε_P) / (1 − γ).

    For total variation ρ_F(V*) is ½ (max V* − min V*); the paper's |R_max − R_min| is too small.

    >>> round(float(alpha(eps_r=0.0, eps_p=0.002, rho=50.0, discount=0.99)), 2)
    9.9
    """
    if not 0 <= discount < 1:
        raise UsageError(f"Theorem 1 needs a discount in [0, 1), got {discount}.")
    return np.asarray((eps_r + discount * rho * eps_p) / (1 - discount))


def gap_bound(
    mdp: FiniteMDP, action: MDPAction, metric: Metric, tolerance: float | None = None
) -> GapBound:
    """Theorem 1 beside the truth: α(g) and the gaps of Q* and V* for every element.

    >>> from nearsym.theory.families import leaking_pair
    >>> from nearsym.theory.metrics import TotalVariation
    >>> found = gap_bound(*leaking_pair(leak=0.001, discount=0.9), TotalVariation())
    >>> found.alpha.round(3), found.gap_v.round(3)
    (array([0.  , 0.09]), array([0.   , 0.089]))
    """
    q, values, tolerance = optimal_values(mdp, tolerance)
    found, rho = invariance(mdp, action, metric), metric.rho(values)
    return GapBound(
        invariance=found,
        rho=rho,
        alpha=alpha(found.eps_r, found.eps_p, rho, mdp.discount),
        gap_q=_gaps(q[None], action)[0],
        gap_v=_gaps(values[None, :, None], action)[0],
        tolerance=tolerance,
    )


def horizon_bound(
    mdp: FiniteMDP, action: MDPAction, metric: Metric, horizon: int | None = None
) -> HorizonBound:
    """The recursion of Appendices A and B, for any γ ≤ 1 and time-dependent transitions.

    α_T = 0,  α_t = ε_R + γ (ρ_F(V_{t+1}) ε_P(t) + α_{t+1}).

    The paper starts at α_{T+1} = 0 although V_T = 0: that counts ε_R one step too often.

    >>> from nearsym.theory.families import leaking_pair
    >>> from nearsym.theory.metrics import TotalVariation
    >>> pair = leaking_pair(leak=0.0, discount=1.0, reward_gap=0.5)
    >>> horizon_bound(*pair, TotalVariation(), horizon=3).alpha[:, 1]
    array([1.5, 1. , 0.5])
    """
    q, values = finite_horizon_values(mdp, horizon)
    steps, found = len(q), invariance(mdp, action, metric)
    eps_p = np.broadcast_to(found.eps_p, (steps, action.group.order))
    rho = np.array([metric.rho(following) for following in values[1:]])
    bound = np.zeros((steps + 1, action.group.order))
    for t in reversed(range(steps)):
        bound[t] = found.eps_r + mdp.discount * (rho[t] * eps_p[t] + bound[t + 1])
    gap_v = _gaps(values[:-1, :, None], action)
    return HorizonBound(found, rho, bound[:-1], _gaps(q, action), gap_v)


def truncation_bounds(
    mdp: FiniteMDP, horizon: int
) -> tuple[
    Float[np.ndarray, "horizon states actions"], Float[np.ndarray, "horizon states actions"]
]:
    """Proposition 2: Q_t + γ^{T−t} R_min/(1−γ) ≤ Q* ≤ Q_t + γ^{T−t} R_max/(1−γ).

    Q_t is the optimal value of the problem that stops at T. Returns both sides for t = 0 … T−1.

    >>> from nearsym.theory.families import leaking_pair
    >>> mdp, _ = leaking_pair(leak=0.1, discount=0.5)
    >>> low, high = truncation_bounds(mdp, horizon=4)
    >>> low[0, 0, 0], high[0, 0, 0]  # the truth is 2
    (np.float64(1.875), np.float64(2.0))
    """
    if mdp.discount == 1 or mdp.steps is not None:
        raise UsageError("Proposition 2 needs γ < 1 and transitions that do not depend on time.")
    q, _ = finite_horizon_values(mdp, horizon)
    rest = mdp.discount ** (horizon - np.arange(horizon)) / (1 - mdp.discount)
    rest = rest[:, None, None]
    return q + rest * mdp.rewards.min(), q + rest * mdp.rewards.max()


def _gaps(
    q: Float[np.ndarray, "time states actions"], action: MDPAction
) -> Float[np.ndarray, "time elements"]:
    """max over (s, a) of |q(s, a) − q(gs, ga)|; an actions axis of length 1 stands for V."""
    columns = []
    for g in range(action.group.order):
        moved = q[:, action.states[g]]
        if q.shape[2] > 1:
            moved = moved[:, :, action.actions[g]]
        columns.append(np.abs(q - moved).max(axis=(1, 2)))
    return np.stack(columns, axis=1)
