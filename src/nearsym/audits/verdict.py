"""From measurements to one word: exact, approximate, partial or wrong.

For an element g, with m the scaled mismatch of next states and the mean step as its unit:

    holds at a sample     m and the reward difference are rounding (random dynamics: never asked)
    exact                 it holds at every sample (random: no difference that the samples show)
    strongly broken       it fails at 5 % of the samples or more and, where it fails, m averages
                          more than ε steps (see `usual_epsilon`), or the reward differences
                          average more than ε of the rewards' mean deviation

and for the declaration as a whole, the first that applies:

    wrong         the environment contradicts it and obeys another one (see `mistakes`)
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
from nearsym.measures.stabilizers import Stabilizer, stabilizer

Verdict = Literal["exact", "approximate", "partial", "wrong"]

EPSILON = 0.5
"""Mismatch, in mean steps, above which an element counts as strongly broken."""
EPSILON_BESIDE_EXACT = 0.25
"""The same where the others are exact and this one fails everywhere: there is no doubt which."""
SOME = 0.05
"""Share of the samples at which a strongly broken element fails at least."""
EVERYWHERE = 0.99
NEXT_TO_NOTHING, LITTLE = 1e-4, 1e-2
"""Breaks, in mean steps, below which words say how small they are."""
SHOWN = 12
"""Wrong entries that the reason names; the audit's `mistakes` are all of them."""


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
    moved_wrongly: float = 1.0
    """Share of the samples at which next states differ, whatever the rewards do."""

    @property
    def level(self) -> float:
        """The error that is held against ε: above ε the element is strongly broken; 0 if it fails
        almost nowhere."""
        return max(self.step_error, self.reward_error) if self.broken_share >= SOME else 0.0


def usual_epsilon(group: FiniteGroup, strengths: Sequence[Strength]) -> float:
    """The ε of an audit that was not told one: ½ of a mean step, or ¼ where some elements besides e
    are exact, form a subgroup, and all others fail at 99 % of the samples or more."""
    exact = (0, *(g for g, s in enumerate(strengths, start=1) if s.exact))
    failing = [s.broken_share for s in strengths if not s.exact]
    divided = 1 < len(exact) < group.order and group.is_subgroup(exact)
    return EPSILON_BESIDE_EXACT if divided and min(failing) >= EVERYWHERE else EPSILON


def elements_up_to(epsilon: float, group: FiniteGroup, strengths: Sequence[Strength]) -> Stabilizer:
    """The elements that are not strongly broken: the ε-stabilizer by `Strength.level`."""
    names = group.elements[1:]
    return stabilizer({g: s.level for g, s in zip(names, strengths, strict=True)}, epsilon, group)


def decide(
    group: FiniteGroup,
    strengths: Sequence[Strength],
    mistakes: Sequence[Mistake],
    epsilon: float = EPSILON,
) -> tuple[Verdict, str]:
    """The verdict and one sentence of reason. `strengths` are those of all elements but e."""
    names = group.elements
    if mistakes:
        return "wrong", _contradictions(mistakes)
    if all(s.exact for s in strengths):
        return "exact", "Every element holds at every sample."
    held = elements_up_to(epsilon, group, strengths)
    strong = [g for g in names if g not in held.elements]
    if strong and len(held.elements) > 1 and held.is_group:
        kept, lost = ", ".join(held.elements), ", ".join(strong)
        failing = [s for g, s in zip(names[1:], strengths, strict=True) if g in strong]
        reason = f"Only the subgroup {{{kept}}} holds; strongly broken: {lost}."
        return "partial", reason + _only_rewards(failing)
    if len(strong) == group.order - 1 and min(s.broken_share for s in strengths) >= EVERYWHERE:
        reason = "No element but e holds: each is strongly broken nearly everywhere."
        return "partial", reason + _only_rewards(strengths)
    failing = [s for s in strengths if not s.exact]
    lost = ", ".join(names[g] for g, s in enumerate(strengths, start=1) if not s.exact)
    return "approximate", f"{_how_much(failing)}: {lost}." + _only_rewards(failing)


def _how_much(failing: Sequence[Strength]) -> str:
    """The size of a break in words."""
    worst = max(max(s.step_error, s.reward_error) for s in failing)
    if worst < NEXT_TO_NOTHING:
        return f"Next to nothing is off ({worst:.1g} of a mean step where any is)"
    share = max(s.broken_share for s in failing)
    if worst < LITTLE:
        return f"Broken slightly ({worst:.1g} of a mean step, up to {share:.0%} of the samples)"
    return f"Broken mildly or in places (up to {share:.0%} of the samples)"


def _only_rewards(failing: Sequence[Strength]) -> str:
    """Where next states all agree, the dynamics are not what is broken."""
    if any(s.moved_wrongly > 0 for s in failing):
        return ""
    return " Only the reward breaks it: next states agree at every sample."


def _contradictions(mistakes: Sequence[Mistake]) -> str:
    """Every wrong entry, and what it should become."""
    named = [f"{m.name} under {', '.join(m.elements)}" for m in mistakes]
    said = "; ".join(named[:SHOWN])
    if len(named) > SHOWN:
        said += f"; and {len(named) - SHOWN} more"
    reason = f"The declaration contradicts the environment: {said}."
    actions = [m for m in mistakes if m.should and m.part == "action"]
    if actions:
        should = {e: s for m in actions for e, s in zip(m.elements, m.should, strict=True)}
        instead = ", ".join(f"{image} under {element}" for element, image in should.items())
        reason += f" The action a should become {instead}."
    states = [m for m in mistakes if m.should and m.part == "state"]
    if states:
        each = (zip(m.elements, m.should, strict=True) for m in states[:SHOWN])
        instead = "; ".join(
            f"{m.name} to {', '.join(f'{image} under {element}' for element, image in images)}"
            for m, images in zip(states, each, strict=False)
        )
        reason += f" transform should map {instead}."
    return reason
