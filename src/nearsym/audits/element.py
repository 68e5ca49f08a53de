"""What is measured for one group element."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearsym.audits.discrepancy import Bracket, mean_step, reward_bracket, transition_bracket
from nearsym.audits.pairs import Pairs
from nearsym.audits.regions import Box, find_regions
from nearsym.audits.simulator import Simulator
from nearsym.audits.verdict import Strength
from nearsym.measures.intervals import Estimate

SINGLE = 1e-6
"""What counts as rounding of rewards that are computed in single precision, even in part."""


@dataclass(frozen=True)
class ElementAudit:
    """What was measured for one group element.

    >>> from nearsym.audits.environment import audit_environment
    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> (mirror,) = audit_environment(MirrorPendulum(wind=0.2), samples=100, longest=50).elements
    >>> mirror.name, mirror.strength.broken_share, round(mirror.eps_p.mean, 2)
    ('mirror_x', 1.0, 0.06)
    """

    name: str
    eps_r: Estimate
    eps_p: Estimate
    """Euclidean distance between g·s'(s, a) and s'(gs, ga), in the state's own units."""
    eps_p_relative: Estimate
    """The scaled distance, in mean steps: what verdicts go by."""
    strength: Strength
    regions: list[Box]
    importance: np.ndarray
    """How much each coordinate, then each action entry, tells about where it is broken."""
    mismatch: np.ndarray
    """The scaled distance at every sample, in mean steps."""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "eps_r": self.eps_r.as_json(),
            "eps_p": self.eps_p.as_json(),
            "eps_p_relative": self.eps_p_relative.as_json(),
            "broken_share": self.strength.broken_share,
            "exact": self.strength.exact,
            "regions": [box.as_json() for box in self.regions],
        }


def measure_element(
    g: int,
    simulator: Simulator,
    pairs: Pairs,
    scale: np.ndarray,
    action_names: list[str],
    rng: np.random.Generator,
) -> ElementAudit:
    """How far element g ≥ 1 is from moving steps as declared, and where."""
    coordinates = simulator.coordinates
    reward, raw = reward_bracket(pairs, g), transition_bracket(pairs, coordinates, g)
    scaled = transition_bracket(pairs, coordinates, g, scale)
    step = mean_step(pairs, coordinates, scale)
    step = 1.0 if step == 0 else step  # a state that never moves has no unit
    eps_r, eps_p = reward.estimate(pairs, rng), raw.estimate(pairs, rng)
    rounding = reward_rounding(simulator, pairs)
    if pairs.stochastic:
        exact = eps_p.mean_ci95[0] <= 0 and eps_r.mean_ci95[0] <= rounding
        off = np.full(pairs.samples, eps_p.mean_ci95[0] > 0)
        unequal = np.full(pairs.samples, not exact)
        broken = scaled.lower / max(float(scaled.lower.mean()), 1e-300)  # 1 on average
    else:
        off, unequal = scaled.lower > coordinates.rounding, reward.lower > rounding
        broken = (off | unequal).astype(float)
    strength = _strength(off, unequal, scaled.over(step), _in_deviations(reward, pairs, rounding))
    features = np.concatenate([pairs.x, pairs.actions], axis=1)
    names = [*coordinates.names, *action_names]
    broken = np.zeros(len(features)) if strength.exact else broken
    tree = find_regions(features, broken, names, noisy=pairs.stochastic)
    return ElementAudit(
        simulator.group.elements[g],
        eps_r,
        eps_p,
        scaled.over(step).estimate(pairs, rng),
        strength,
        tree.boxes,
        tree.importance,
        scaled.lower / step,
    )


def reward_rounding(simulator: Simulator, pairs: Pairs) -> float:
    """What counts as rounding of the reward: more where actions or rewards are in single precision,
    which a reward in double precision does not undo."""
    dtype = getattr(simulator.env.action_space, "dtype", None)
    single = dtype is not None and np.dtype(dtype).itemsize < 8 and np.dtype(dtype).kind == "f"
    single |= bool((pairs.reward == pairs.reward.astype(np.float32)).all())
    unit = max(simulator.coordinates.rounding, SINGLE if single else 0.0)
    return unit * max(1.0, float(np.abs(pairs.reward).max()))


def _strength(off: np.ndarray, unequal: np.ndarray, steps: Bracket, reward: float) -> Strength:
    failing = steps.lower[off]
    return Strength(
        exact=not (off | unequal).any(),
        broken_share=float((off | unequal).mean()),
        step_error=float(failing.mean()) if failing.size else 0.0,
        reward_error=reward,
        moved_wrongly=float(off.mean()),
    )


def _in_deviations(reward: Bracket, pairs: Pairs, rounding: float) -> float:
    """The mean difference of rewards, in mean deviations of the reward."""
    deviation = float(np.abs(pairs.reward - pairs.reward.mean()).mean())
    return float(reward.lower.mean()) / deviation if deviation > rounding else 0.0
