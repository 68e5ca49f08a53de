"""From measurements to one word: exact, approximate, partial or wrong.

For an element g, with m the scaled mismatch of next states and the mean step as its unit:

    holds at a sample     m and the reward difference are rounding (random dynamics: never asked)
    exact                 it holds at every sample (random: no difference that the samples show)
    strongly broken       where it fails, m averages ε steps or more (ε = ½ unless told otherwise)
                          and it fails at 5 % of the samples or more; or the reward differences
                          average ε of the rewards' mean deviation

and for the declaration as a whole, the first that applies:

    wrong         one sign contradicts the environment (see `mistakes`)
    exact         every element is exact
    partial       the elements that are not strongly broken form a subgroup other than {e}, and the
                  rest is strongly broken; or all of G but e is, at 99 % of the samples or more
    approximate   everything else: broken mildly, or in a part of the states
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nearsym.audits.mistakes import Mistake
from nearsym.groups.group import FiniteGroup

Verdict = Literal["exact", "approximate", "partial", "wrong"]

EPSILON = 0.5
"""Mismatch, in mean steps, from which on an element counts as strongly broken."""
SOME = 0.05
"""Share of the samples at which a strongly broken element fails at least."""
EVERYWHERE = 0.99


@dataclass(frozen=True)
class Strength:
    """How one element fails."""

    exact: bool
    broken_share: float
    """Share of the samples at which it fails."""
    step_error: float
    """Mean mismatch where it fails, in mean steps."""
    reward_error: float
    """Mean reward difference over all samples, in mean deviations of the reward."""

    @property
    def level(self) -> float:
        """The largest ε at which it counts as strongly broken; 0 if it fails almost nowhere."""
        return max(self.step_error, self.reward_error) if self.broken_share >= SOME else 0.0

    def strong(self, epsilon: float) -> bool:
        """Whether it is strongly broken."""
        return self.level >= epsilon


def decide(
    group: FiniteGroup,
    strengths: Sequence[Strength],
    mistakes: Sequence[Mistake],
    epsilon: float = EPSILON,
) -> tuple[Verdict, str]:
    """The verdict and one sentence of reason. `strengths` are those of all elements but e."""
    names = group.elements
    if mistakes:
        said = "; ".join(f"{m.name} under {', '.join(m.elements)}" for m in mistakes)
        return "wrong", f"The declared sign contradicts the environment: {said}."
    if all(s.exact for s in strengths):
        return "exact", "Every element holds at every sample."
    strong = {g for g, s in enumerate(strengths, start=1) if s.strong(epsilon)}
    holding = tuple(g for g in range(group.order) if g not in strong)
    if strong and len(holding) > 1 and group.subgroup(holding) == holding:
        kept = ", ".join(names[g] for g in holding)
        lost = ", ".join(names[g] for g in sorted(strong))
        return "partial", f"Only the subgroup {{{kept}}} holds; strongly broken: {lost}."
    if len(strong) == group.order - 1 and min(s.broken_share for s in strengths) >= EVERYWHERE:
        return "partial", "No element but e holds: each is strongly broken nearly everywhere."
    lost = ", ".join(names[g] for g, s in enumerate(strengths, start=1) if not s.exact)
    share = max(s.broken_share for s in strengths)
    return "approximate", f"Broken mildly or in places (up to {share:.0%} of the samples): {lost}."
