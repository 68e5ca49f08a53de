"""Claims that need no runs: they are decided by computation, here and now."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nearsym.groups.catalog import cyclic, dihedral
from nearsym.theory.bounds import alpha, gap_bound, horizon_bound
from nearsym.theory.families import leaking_pair, random_action, random_mdp
from nearsym.theory.mdp import FiniteMDP, MDPAction
from nearsym.theory.metrics import TotalVariation

PROBLEMS = 40
"""Random MDPs on which a bound is tried."""
STEPS = 100
"""Training steps of the relaxed network."""
EQUAL = 1e-6
"""The largest spread of weights that count as equal."""
DIGITS = 12
"""Decimals of a spread: beyond them are rounding errors, which differ between processors."""


class Computed(NamedTuple):
    """What a computation says of a claim."""

    id: str
    statement: str
    criterion: str
    paper: str
    compute: Callable[[], tuple[bool, dict[str, Any]]]
    """Whether it holds, and the numbers."""


def weights_stay_equal() -> tuple[bool, dict[str, Any]]:
    """Train a relaxed network on an invariant target, on batches that are closed under D4 and on
    such that are not; the spread of its relaxed weights at the end."""
    spreads = {
        name: _trained_spread(closed) for name, closed in (("closed", True), ("sampled", False))
    }
    return spreads["closed"] <= EQUAL, {f"spread, {name} batches": s for name, s in spreads.items()}


def _trained_spread(closed: bool) -> float:
    import torch
    from torch import nn

    from nearsym.layers.lift import LiftLinear, ProjectLinear
    from nearsym.layers.linear import GroupLinear
    from nearsym.measures.relaxation import relaxation_summary

    group = dihedral(4)
    points, generator = group.vector(), torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = [
            LiftLinear(points, 1, 8, relaxed=True),
            nn.SiLU(),
            GroupLinear(group, 8, 8, relaxed=True),
            nn.SiLU(),
            ProjectLinear(group.trivial(), 8, relaxed=True),
        ]
        network = nn.Sequential(*layers).double()
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    for _ in range(STEPS):
        batch = 2 * torch.rand(16, 2, generator=generator, dtype=torch.float64) - 1
        if closed:
            batch = torch.cat([points.act(g, batch) for g in range(group.order)])
        target = torch.cos(3 * batch).prod(dim=-1, keepdim=True)
        loss = (network(batch) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    spreads = [summary["spread"] for summary in relaxation_summary(network).values()]
    return round(max(spreads), DIGITS)


def theorem_1() -> tuple[bool, dict[str, Any]]:
    """The bound on random MDPs, and on the pair of states where the printed value of ρ fails."""
    problems = [_problem(seed) for seed in range(PROBLEMS)]
    found = [gap_bound(mdp, action, TotalVariation()) for mdp, action in problems]
    holds = all((f.gap_q <= f.alpha + 2 * f.tolerance + 1e-7).all() for f in found)
    mdp, action = leaking_pair(leak=0.001, discount=0.99)
    pair = gap_bound(mdp, action, TotalVariation())
    printed = alpha(0.0, pair.invariance.transition, float(np.ptp(mdp.rewards)), 0.99)
    return holds, {
        "random MDPs": PROBLEMS,
        "largest gap / α": max(float(f.gap_q.max() / max(f.alpha.max(), 1e-300)) for f in found),
        "counterexample: true gap": float(pair.gap_v.max()),
        "counterexample: α with ρ = ½ (max V* − min V*)": float(pair.alpha.max()),
        "counterexample: α with the ρ printed for total variation": float(printed),
    }


def finite_horizon() -> tuple[bool, dict[str, Any]]:
    """The recursion from α_T = 0 on random MDPs whose transitions depend on time."""
    problems = [_problem(seed, steps=4) for seed in range(PROBLEMS)]
    found = [horizon_bound(mdp, action, TotalVariation()) for mdp, action in problems]
    holds = all((f.gap_q <= f.alpha + 1e-7).all() for f in found)
    pair = leaking_pair(leak=0.0, discount=1.0, reward_gap=0.5)
    three = horizon_bound(*pair, TotalVariation(), horizon=3)
    return holds, {
        "random MDPs": PROBLEMS,
        "three steps, reward gap 0.5: true gap": float(three.gap_v[0].max()),
        "three steps, reward gap 0.5: α from α_T = 0": float(three.alpha[0].max()),
        "three steps, reward gap 0.5: α from α_{T+1} = 0": float(three.alpha[0].max()) + 0.5,
    }


def _problem(seed: int, steps: int | None = None) -> tuple[FiniteMDP, MDPAction]:
    rng = np.random.default_rng(seed)
    action = random_action((cyclic(2), cyclic(3), dihedral(2))[seed % 3], rng)
    broken = (1e-3, 0.1, 1.0)[seed // 3 % 3]
    discount = 1.0 if steps is not None else 0.9
    return random_mdp(action, rng, discount=discount, broken=broken, steps=steps), action


COMPUTED = [
    Computed(
        "C1",
        "Relaxed weights that start equal stay equal when the data are exactly symmetric.",
        "A relaxed network trained on batches that are closed under the group: spread of its "
        f"weights at most {EQUAL:g}. The drift on sampled batches is reported.",
        "Text, after Proposition 3.1 of Wang et al. 2024.",
        weights_stay_equal,
    ),
    Computed(
        "C25",
        "Theorem 1, with ρ corrected: |Q*(s, a) − Q*(gs, ga)| ≤ α = (ε_R + γ ρ(V*) ε_P) / (1 − γ).",
        "The bound holds with ρ = ½ (max V* − min V*) on random MDPs. The value that the text "
        "prints for total variation, |R_max − R_min|, is tried on a counterexample and reported.",
        "Theorem 1; the text gives ρ = |R_max − R_min| for total variation.",
        theorem_1,
    ),
    Computed(
        "C26",
        "The finite-horizon recursion, with its start corrected, bounds the gaps of Q_t and V_t.",
        "It holds from α_T = 0 on random MDPs with transitions that depend on time; the paper's "
        "start, α_{T+1} = 0 with V_T = 0, counts ε_R once too often.",
        "Appendix B.",
        finite_horizon,
    ),
]
