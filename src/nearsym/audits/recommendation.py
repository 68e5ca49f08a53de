"""Which model an audit speaks for.

In the three sweeps of docs/evidence.md, from symmetric to broken, approx stays close to the best
model throughout, while exact is among the best at one end and the worst at the other. From which ε
on exact is worse than none differs between them; on cartpole its mean is lower already at ε = 0,
where fewer than 5 % of the samples fail. none is ahead in one symmetric world, cartpole, by 3 %,
which no audit can know.
"""

from collections.abc import Sequence
from typing import NamedTuple

from nearsym.audits.verdict import LITTLE, Strength, Verdict


class Recommendation(NamedTuple):
    """A model, or None if the declaration has to be corrected first, and why."""

    model: str | None
    reason: str


def recommended(verdict: Verdict, strengths: Sequence[Strength]) -> Recommendation:
    """The model for a world in which the elements fail like this.

    >>> recommended("exact", []).model
    'exact'
    """
    if verdict == "wrong":
        return Recommendation(None, "Correct the declaration before you choose a model.")
    failing = [s for s in strengths if not s.exact]
    if not failing:
        return Recommendation("exact", "Nothing is broken, so exact can learn all there is.")
    steps, rewards = max(s.step_error for s in failing), max(s.reward_error for s in failing)
    if max(steps, rewards) < LITTLE:
        return Recommendation("exact", "What is broken is too little to be worth learning.")
    worst = (
        f"{steps:.2g} of a mean step"
        if steps >= rewards
        else f"{rewards:.2g} of the reward's spread"
    )
    reason = (
        f"Where the symmetry fails it is off by {worst}. approx begins with it and can unlearn it "
        "there; exact cannot, and none begins without it."
    )
    return Recommendation("approx", reason)
