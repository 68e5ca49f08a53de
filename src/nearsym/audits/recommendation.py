"""Which model an audit speaks for.

In the sweep of docs/evidence.md the audit's ε orders worlds as what exact wins over none does, and
approx stays close to the best model throughout. No world there speaks for none.
"""

from typing import NamedTuple

from nearsym.audits.verdict import LITTLE, Verdict


class Recommendation(NamedTuple):
    """A model, or None if the declaration has to be corrected first, and why."""

    model: str | None
    reason: str


def recommended(verdict: Verdict, smallest_epsilon: float) -> Recommendation:
    """The model for a world in which all of the group is kept up to ε, in mean steps.

    >>> recommended("exact", 0.0).model, recommended("partial", 1.5).model
    ('exact', 'approx')
    """
    if verdict == "wrong":
        return Recommendation(None, "Correct the declaration before you choose a model.")
    if verdict == "exact":
        return Recommendation("exact", "Nothing is broken, so it loses nothing.")
    if smallest_epsilon < LITTLE:
        return Recommendation("exact", "What is broken is too little to be worth learning.")
    reason = (
        f"The symmetry is broken by {smallest_epsilon:.2g} of a mean step. approx begins with it "
        "and can unlearn it where it fails; exact cannot, and none begins without it."
    )
    return Recommendation("approx", reason)
