"""A claim, the questions it asks of results, and how their answers make a verdict.

A *question* is whether a number lies in a region: a difference above 0, or inside a margin. Its
95 % interval lies inside the region, outside of it, or across a border.

A claim is **reproduced** if all its numbers lie inside, **refuted** if one lies outside, and else
**undecided**. While runs are missing a number may lie outside, but a claim is not reproduced before
the rest was run. In p-values: a claim that holds everywhere needs no correction for its many
questions, the largest p-value counts; one failure among k questions counts k times its p-value
(Bonferroni); the claims of one family are corrected together (Holm). With fewer than `LEAST_SEEDS`
seeds a question decides nothing, unless the number lies further from the border than the seeds of
either side lie apart.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nearsym.studies.statistics import LEAST_SEEDS, Measured, holm, tails

if TYPE_CHECKING:
    from nearsym.studies.claims.evidence import Evidence

Verdict = Literal["reproduced", "refuted", "undecided", "not run"]
LEVEL = 0.05


@dataclass(frozen=True)
class Question:
    """Does a number lie above `low` and below `high`?"""

    where: str
    what: str
    measured: Measured
    low: float = 0.0
    high: float = math.inf
    spread: float = math.inf
    """The largest range over seeds of what was compared."""
    way: str = ""
    """Where a claim can hold in several ways, the one that this is about."""

    @property
    def decisive(self) -> bool:
        """Whether there are seeds enough to decide by it."""
        borders = [border for border in (self.low, self.high) if math.isfinite(border)]
        gap = min(abs(self.measured.value - border) for border in borders)
        return self.measured.seeds >= LEAST_SEEDS or (self.measured.seeds > 1 and gap > self.spread)

    @property
    def inside(self) -> float:
        """The p-value of the number being inside: below 0.05 if its 95 % interval is."""
        if not self.decisive:
            return 1.0
        return min(
            1.0, 2 * max(tails(self.measured, self.low)[0], tails(self.measured, self.high)[1])
        )

    @property
    def outside(self) -> float:
        """The p-value of the number being outside."""
        if not self.decisive:
            return 1.0
        return min(
            1.0, 2 * min(tails(self.measured, self.low)[1], tails(self.measured, self.high)[0])
        )

    @property
    def answer(self) -> str:
        """By itself, without any correction."""
        if self.inside < LEVEL:
            return "yes"
        return "no" if self.outside < LEVEL else "open"

    def as_json(self) -> dict[str, Any]:
        """Plain data; an end without a border is None."""
        ends = [border if math.isfinite(border) else None for border in (self.low, self.high)]
        found = {"where": self.where, "what": self.what, **self.measured.as_json(), "region": ends}
        return found | {"answer": self.answer} | ({"way": self.way} if self.way else {})


class Chances(NamedTuple):
    """The p-values of the two decisive verdicts."""

    reproduced: float
    refuted: float


def chances(questions: Sequence[Question], complete: bool) -> Chances:
    """Those of a claim from its questions. It holds if it holds in one of its ways.

    >>> chances([], complete=True)
    Chances(reproduced=1.0, refuted=1.0)
    """
    ways: dict[str, list[Question]] = {}
    for question in questions:
        ways.setdefault(question.way, []).append(question)
    if not ways:
        return Chances(1.0, 1.0)
    held = len(ways) * min(max(q.inside for q in way) for way in ways.values())
    failed = max(len(way) * min(q.outside for q in way) for way in ways.values())
    return Chances(min(1.0, held) if complete else 1.0, min(1.0, failed))


@dataclass(frozen=True)
class Claim:
    """A statement, and the criterion by which results decide it."""

    id: str
    statement: str
    study: str
    """The study whose runs it needs."""
    criterion: str
    """Written before the runs that it judges; docs/claims.md names the exceptions."""
    paper: str
    """What the paper says, with its numbers."""
    ask: "Callable[[Evidence], None]"
    """Puts its questions to the runs of one scale."""
    family: str
    """Claims that are corrected together."""
    pixels_only: bool = False
    needs: str = ""
    """What to run where nothing was."""


@dataclass(frozen=True)
class Judgement:
    """What results say of a claim at one scale."""

    claim: Claim
    verdict: Verdict
    scale: str
    """Preset, observations and agent; `computed` where no run is needed."""
    questions: tuple[Question, ...] = ()
    p: float | None = None
    """Of the verdict's side, corrected for its family."""
    missing: tuple[str, ...] = ()
    """What the criterion asks for and was not run."""
    more: dict[str, Any] = field(default_factory=dict)
    """Numbers that are told and decide nothing."""

    @property
    def seeds(self) -> int | None:
        """The smallest number of seeds that a question rests on."""
        return min((q.measured.seeds for q in self.questions), default=None)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.claim.id,
            "verdict": self.verdict,
            "scale": self.scale,
            "claim": self.claim.statement,
            "criterion": self.claim.criterion,
            "study": self.claim.study,
            "paper": self.claim.paper,
            "numbers": {
                "seeds": self.seeds,
                "p": self.p,
                "comparisons": [question.as_json() for question in self.questions],
                "missing": list(self.missing),
                **self.more,
            },
        }


def decide(family: Sequence[tuple[Claim, "Evidence"]]) -> list[Judgement]:
    """The verdicts of claims that are corrected together."""
    found = [chances(e.questions, complete=not e.missing) for _, e in family]
    corrected = holm([min(pair) for pair in found])
    return [
        Judgement(
            claim,
            _verdict(pair, p),
            str(e.scale),
            tuple(e.questions),
            p,
            tuple(dict.fromkeys(e.missing)),
            e.more,
        )
        for (claim, e), pair, p in zip(family, found, corrected, strict=True)
    ]


def _verdict(pair: Chances, corrected: float) -> Verdict:
    if corrected >= LEVEL:
        return "undecided"
    return "reproduced" if pair.reproduced < pair.refuted else "refuted"
