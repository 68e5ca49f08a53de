"""All claims, judged."""

import re
from collections.abc import Iterable, Sequence

from nearsym.errors import unknown_name
from nearsym.studies.claims import control, ours, portfolios, weights
from nearsym.studies.claims.claim import Claim, Judgement, decide
from nearsym.studies.claims.computed import COMPUTED, Computed
from nearsym.studies.claims.evidence import Evidence
from nearsym.studies.results import RunResult
from nearsym.studies.selection import Scale, scale_of, unique

CLAIMS: list[Claim] = control.CLAIMS + weights.CLAIMS + portfolios.CLAIMS + ours.CLAIMS
"""Those that need runs."""
_ORDER = ("paper", "laptop", "smoke")


def claim_ids() -> list[str]:
    """C1 to C26, then N1 to N4.

    >>> claim_ids()[:2], len(claim_ids())
    (['C1', 'C2'], 30)
    """
    return sorted([claim.id for claim in CLAIMS] + [claim.id for claim in COMPUTED], key=_number)


def judge(
    results: Iterable[RunResult], ids: Sequence[str] | None = None, *, compute: bool = True
) -> list[Judgement]:
    """A verdict on each claim for each scale at which it was run; *not run* where it never was.

    `ids` chooses claims; those that are decided by computation take a few seconds and are left out
    with `compute=False`.
    """
    wanted = claim_ids() if ids is None else list(ids)
    for name in wanted:
        if name not in claim_ids():
            raise unknown_name("claim", name, claim_ids())
    runs = unique(results)
    # All claims of a family are asked, also those that nobody wants to see: a verdict must not
    # depend on which of them is looked at.
    families = {claim.family for claim in CLAIMS if claim.id in wanted}
    found = [judged for family in sorted(families) for judged in _judge_family(family, runs)]
    found += [_computed(claim, runs) for claim in COMPUTED if compute and claim.id in wanted]
    return sorted(
        (judged for judged in found if judged.claim.id in wanted), key=lambda j: _number(j.claim.id)
    )


def _judge_family(family: str, runs: list[RunResult]) -> list[Judgement]:
    claims = [claim for claim in CLAIMS if claim.family == family]
    found: list[Judgement] = []
    for scale in sorted({scale_of(run) for run in runs}, key=_nearness):
        asked = [(claim, _asked(claim, runs, scale)) for claim in claims]
        found += decide([(claim, evidence) for claim, evidence in asked if evidence.questions])
    seen = {judged.claim.id for judged in found}
    return found + [_not_run(claim) for claim in claims if claim.id not in seen]


def _asked(claim: Claim, runs: list[RunResult], scale: Scale) -> Evidence:
    evidence = Evidence.of(runs, scale)
    if not claim.pixels_only or scale.obs == "pixels":
        claim.ask(evidence)
    return evidence


def _not_run(claim: Claim) -> Judgement:
    return Judgement(claim, "not run", "", more={"needs": claim.needs})


def _computed(claim: Computed, runs: list[RunResult]) -> Judgement:
    holds, numbers = claim.compute()
    if claim.id == "C1":
        numbers |= weights.drift_in_originals(runs)
    about = Claim(
        claim.id,
        claim.statement,
        "computed",
        claim.criterion,
        claim.paper,
        lambda evidence: None,
        "computed",
    )
    return Judgement(about, "reproduced" if holds else "refuted", "computed", more=numbers)


def _nearness(scale: Scale) -> tuple[int, str]:
    """The paper's scale first."""
    place = _ORDER.index(scale.preset) if scale.preset in _ORDER else len(_ORDER)
    return place, str(scale)


def _number(name: str) -> tuple[str, int]:
    letter, digits = re.fullmatch(r"([A-Z])(\d+)", name).groups()  # type: ignore[union-attr]
    return letter, int(digits)
