"""Finite MDPs, groups that permute their states and actions, and optimal values."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from nearsym.errors import UsageError
from nearsym.groups.group import FiniteGroup

Values = Float[np.ndarray, "states"]
ActionValues = Float[np.ndarray, "states actions"]


@dataclass(frozen=True)
class FiniteMDP:
    """M = (S, A, P, R, γ) with P[s, a, s'] = P(s' | s, a) and R[s, a].

    For a finite horizon the transitions may depend on time: P[t, s, a, s'] is the law of the step
    from t to t + 1. γ = 1 is allowed there, and only there.

    >>> right = np.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    >>> walk = FiniteMDP(right, np.array([[0.0], [1.0]]), discount=0.9)
    >>> walk.states, walk.actions
    (2, 1)
    """

    transitions: Float[np.ndarray, "*time states actions states"]
    rewards: Float[np.ndarray, "states actions"]
    discount: float

    def __post_init__(self) -> None:
        for field in ("transitions", "rewards"):
            object.__setattr__(self, field, np.asarray(getattr(self, field), dtype=np.float64))
        shape = self.rewards.shape
        if len(shape) != 2 or self.transitions.shape[-3:] != (*shape, shape[0]):
            raise UsageError(
                f"An MDP with rewards of shape (states, actions) = {shape} needs transitions "
                f"(states, actions, states), or the same behind one time axis, "
                f"got {self.transitions.shape}."
            )
        if self.transitions.ndim > 4:
            raise UsageError(
                f"Transitions have one time axis at most, got the shape {self.transitions.shape}."
            )
        if not np.isfinite(self.rewards).all():
            raise UsageError("Rewards must be finite.")
        sums = self.transitions.sum(-1)
        if (self.transitions < 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-9):
            raise UsageError(
                "Every P(· | s, a) must be a distribution: entries ≥ 0 that sum to 1, "
                f"got a smallest entry {self.transitions.min():.3g} and sums from "
                f"{sums.min():.9g} to {sums.max():.9g}."
            )
        if not 0 <= self.discount <= 1:
            raise UsageError(f"The discount must lie in [0, 1], got {self.discount}.")

    @property
    def states(self) -> int:
        return self.rewards.shape[0]

    @property
    def actions(self) -> int:
        return self.rewards.shape[1]

    @property
    def steps(self) -> int | None:
        """How many steps time-dependent transitions cover; None if they do not depend on time."""
        return self.transitions.shape[0] if self.transitions.ndim == 4 else None


@dataclass(frozen=True)
class MDPAction:
    """A group permuting states and actions: s goes to states[g, s], a to actions[g, a].

    >>> from nearsym.groups.catalog import cyclic
    >>> MDPAction(cyclic(2), np.array([[0, 1, 2], [1, 0, 2]]), np.array([[0], [0]])).states[1, 0]
    np.int64(1)
    """

    group: FiniteGroup
    states: Int[np.ndarray, "elements states"]
    actions: Int[np.ndarray, "elements actions"]

    def __post_init__(self) -> None:
        for field in ("states", "actions"):
            moves = np.asarray(getattr(self, field), dtype=np.int64)
            object.__setattr__(self, field, moves)
            _check_permutations(self.group, moves, field)

    def fits(self, mdp: FiniteMDP) -> None:
        """Raise unless this action moves as many states and actions as the MDP has."""
        moved, present = (self.states.shape[1], self.actions.shape[1]), mdp.rewards.shape
        if moved != present:
            raise UsageError(
                f"The group moves {moved[0]} states and {moved[1]} actions, "
                f"but the MDP has {present[0]} and {present[1]}."
            )


def pushed_forward(
    mdp: FiniteMDP, action: MDPAction, g: int
) -> tuple[Float[np.ndarray, "*time states actions states"], ActionValues]:
    """The MDP seen through g: (law of g·s' for s' ~ P(· | g⁻¹s, g⁻¹a),  R(g⁻¹s, g⁻¹a)).

    At (gs, ga) the first is the push-forward g_# P(· | s, a), on the same footing as P(· | gs, ga).

    >>> from nearsym.theory.families import leaking_pair
    >>> mdp, action = leaking_pair(leak=0.1, discount=0.9, reward_gap=0.5)
    >>> mdp.rewards[:, 0], pushed_forward(mdp, action, 1)[1][:, 0]
    (array([1. , 0.5, 0. ]), array([0.5, 1. , 0. ]))
    """
    action.fits(mdp)
    back = int(action.group.inverse[g])
    s, a = action.states[back], action.actions[back]
    transitions = mdp.transitions[..., s, :, :][..., a, :][..., s]
    return transitions, mdp.rewards[s][:, a]


def symmetrised(mdp: FiniteMDP, action: MDPAction) -> FiniteMDP:
    """The nearest exactly invariant MDP: rewards and transitions averaged over the group.

    >>> from nearsym.theory.families import leaking_pair
    >>> symmetrised(*leaking_pair(leak=0.1, discount=0.9, reward_gap=0.5)).rewards[:, 0]
    array([0.75, 0.75, 0.  ])
    """
    seen = [pushed_forward(mdp, action, g) for g in range(action.group.order)]
    transitions = np.mean([p for p, _ in seen], axis=0)
    return FiniteMDP(transitions, np.mean([r for _, r in seen], axis=0), mdp.discount)


def bellman(mdp: FiniteMDP, values: Values, t: int | None = None) -> ActionValues:
    """Q(s, a) = R(s, a) + γ Σ_s' P(s' | s, a) V(s'), with the transitions of step t if given.

    >>> right = np.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    >>> walk = FiniteMDP(right, np.array([[0.0], [1.0]]), discount=0.5)
    >>> bellman(walk, np.array([0.0, 2.0]))[:, 0]
    array([1., 2.])
    """
    transitions = mdp.transitions if t is None else mdp.transitions[t]
    return mdp.rewards + mdp.discount * transitions @ values


class Optimal(NamedTuple):
    """Q* and V*, each within `tolerance` of the truth in the sup norm.

    >>> Optimal(np.array([[1.0, 2.0]]), np.array([2.0]), tolerance=1e-10).values
    array([2.])
    """

    q: ActionValues
    values: Values
    tolerance: float


def optimal_values(mdp: FiniteMDP, tolerance: float | None = None) -> Optimal:
    """Q* and V* by value iteration, to a stated sup-norm tolerance.

    V_{k+1} = max_a Q_k has ‖V_{k+1} − V*‖ ≤ γ/(1−γ)·‖V_{k+1} − V_k‖, which stops the iteration;
    Q computed from the last V is then within γ·tolerance. Rounding limits what can be promised to
    about 1e-15·max|R|/(1−γ)²: by default the tolerance is 1e-10 or that, whichever is larger, and
    a smaller one is refused.

    >>> right = np.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    >>> walk = FiniteMDP(right, np.array([[0.0], [1.0]]), discount=0.5)
    >>> optimal_values(walk).values.round(6)
    array([1., 2.])
    """
    gamma = mdp.discount
    if mdp.steps is not None or gamma == 1:
        raise UsageError(
            "Value iteration needs γ < 1 and transitions that do not depend on time; "
            "use finite_horizon_values for the rest."
        )
    rounding = (mdp.states + 8) * np.finfo(float).eps  # of one sum over the next states
    floor = float(rounding * np.abs(mdp.rewards).max() / (1 - gamma) ** 2)
    tolerance = max(1e-10, floor) if tolerance is None else tolerance
    if tolerance < floor:
        raise UsageError(
            f"Rounding keeps value iteration from promising {tolerance:.3g} for this MDP; "
            f"ask for a tolerance of {floor:.1e} or more."
        )
    values = np.zeros(mdp.states)
    error = np.inf
    while error > tolerance:
        following = bellman(mdp, values).max(axis=1)
        error = gamma * np.abs(following - values).max() / (1 - gamma)
        values = following
    return Optimal(bellman(mdp, values), values, tolerance)


def finite_horizon_values(
    mdp: FiniteMDP, horizon: int | None = None
) -> tuple[Float[np.ndarray, "horizon states actions"], Float[np.ndarray, "horizon+1 states"]]:
    """Q_t for t = 0 … T−1 and V_t for t = 0 … T, with V_T = 0: exact backward induction.

    `horizon` is T; with time-dependent transitions it is their length and may be left out.

    >>> right = np.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    >>> walk = FiniteMDP(right, np.array([[0.0], [1.0]]), discount=1.0)
    >>> finite_horizon_values(walk, horizon=3)[1][:, 1]
    array([3., 2., 1., 0.])
    """
    steps = mdp.steps
    horizon = steps if horizon is None else horizon
    if horizon is None or horizon < 1 or (steps is not None and horizon != steps):
        known = "a whole number ≥ 1" if steps is None else f"{steps}, as the transitions do"
        raise UsageError(f"The horizon must be {known}, got {horizon}.")
    q = np.zeros((horizon, *mdp.rewards.shape))
    values = np.zeros((horizon + 1, mdp.states))
    for t in reversed(range(horizon)):
        q[t] = bellman(mdp, values[t + 1], None if steps is None else t)
        values[t] = q[t].max(axis=1)
    return q, values


def _check_permutations(group: FiniteGroup, moves: np.ndarray, name: str) -> None:
    if moves.ndim != 2 or moves.shape[0] != group.order:
        raise UsageError(
            f"{name}: {group} needs one permutation for each of {group.order} elements, "
            f"got shape {moves.shape}."
        )
    everything = np.arange(moves.shape[1])
    if not (np.sort(moves, axis=1) == everything).all():
        raise UsageError(f"{name}: a row of the moves is no permutation of 0…{moves.shape[1] - 1}.")
    # moves[g][moves[h]] for all g, h at once; an action has it equal to moves[gh].
    wrong = (moves[:, moves] != moves[group.mul]).any(axis=2)
    if wrong.any():
        g, h = np.argwhere(wrong)[0]
        names = group.elements
        raise UsageError(
            f"{name}: the permutations are no action of {group}: moving by {names[h]} and then by "
            f"{names[g]} differs from {names[group.mul[g, h]]}."
        )
