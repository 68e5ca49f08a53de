"""MDPs whose answers are known: random ones, and families where the bound is tight."""

import numpy as np

from nearsym.groups.catalog import cyclic
from nearsym.groups.group import FiniteGroup
from nearsym.theory.mdp import FiniteMDP, MDPAction, symmetrised


def random_moves(group: FiniteGroup, orbits: int, rng: np.random.Generator) -> np.ndarray:
    """A random permutation action: `orbits` orbits, each G/K for a random subgroup K, shuffled.

    Every action of a group on finitely many points has this form.

    >>> moves = random_moves(cyclic(3), 2, np.random.default_rng(0))
    >>> np.sort(moves, axis=1).tolist() == [list(range(moves.shape[1]))] * 3
    True
    """
    pieces, start = [], 0
    for _ in range(orbits):
        generators = rng.choice(group.order, size=rng.integers(0, 3))
        subgroup = group.subgroup([int(g) for g in generators])
        moves = _coset_moves(group, subgroup)
        pieces.append(moves + start)
        start += moves.shape[1]
    moves = np.concatenate(pieces, axis=1)
    shuffle = rng.permutation(start)  # new name of each old point
    renamed = np.empty_like(moves)
    renamed[:, shuffle] = shuffle[moves]
    return renamed


def random_action(
    group: FiniteGroup, rng: np.random.Generator, *, state_orbits: int = 2, action_orbits: int = 1
) -> MDPAction:
    """A random group action on states and actions.

    >>> random_action(cyclic(2), np.random.default_rng(0)).states.shape[0]
    2
    """
    states = random_moves(group, state_orbits, rng)
    return MDPAction(group, states, random_moves(group, action_orbits, rng))


def random_mdp(
    action: MDPAction,
    rng: np.random.Generator,
    *,
    discount: float,
    broken: float = 1.0,
    concentration: float = 0.3,
    steps: int | None = None,
) -> FiniteMDP:
    """A random MDP, `broken` of the way from its symmetrised self (0) to no symmetry at all (1).

    Transitions are Dirichlet with the given concentration (small: nearly deterministic), rewards
    normal; `steps` asks for time-dependent transitions.

    >>> rng = np.random.default_rng(0)
    >>> mdp = random_mdp(random_action(cyclic(2), rng), rng, discount=0.9)
    >>> bool(np.allclose(mdp.transitions.sum(-1), 1.0))
    True
    """
    n, m = action.states.shape[1], action.actions.shape[1]
    shape = (n, m) if steps is None else (steps, n, m)
    raw = rng.gamma(concentration, size=(*shape, n)) + 1e-12
    transitions = raw / raw.sum(-1, keepdims=True)
    free = FiniteMDP(transitions, rng.normal(size=(n, m)), discount)
    even = symmetrised(free, action)
    return FiniteMDP(
        broken * free.transitions + (1 - broken) * even.transitions,
        broken * free.rewards + (1 - broken) * even.rewards,
        discount,
    )


def leaking_pair(
    *, leak: float, discount: float, reward_gap: float = 0.0
) -> tuple[FiniteMDP, MDPAction]:
    """States x, gx and an absorbing b without reward; x stays for ever, gx leaks to b.

    Reward 1 on x and 1 − reward_gap on gx. Under total variation ε_R = reward_gap, ε_P = 2·leak.
    Without a reward gap the gap of V* is γ·leak / ((1−γ)(1−γ+γ·leak)) and α = γ·leak/(1−γ)²: their
    ratio (1−γ)/(1−γ+γ·leak) tends to 1 as the leak vanishes, so Theorem 1 cannot be improved.
    Without a leak the gap is reward_gap/(1−γ), which is α itself.

    >>> mdp, action = leaking_pair(leak=0.1, discount=0.9)
    >>> mdp.transitions[1, 0]
    array([0. , 0.9, 0.1])
    """
    transitions = np.array([[[1.0, 0, 0]], [[0, 1 - leak, leak]], [[0, 0, 1.0]]])
    mdp = FiniteMDP(transitions, np.array([[1.0], [1.0 - reward_gap], [0.0]]), discount)
    return mdp, MDPAction(cyclic(2), np.array([[0, 1, 2], [1, 0, 2]]), np.array([[0], [0]]))


def _coset_moves(group: FiniteGroup, subgroup: tuple[int, ...]) -> np.ndarray:
    """moves[g, i]: where g takes the i-th left coset hK."""
    cosets = sorted(
        {tuple(sorted(int(group.mul[h, k]) for k in subgroup)) for h in range(group.order)}
    )
    place = np.empty(group.order, dtype=np.int64)
    for i, coset in enumerate(cosets):
        place[list(coset)] = i
    return place[group.mul[:, [coset[0] for coset in cosets]]]
