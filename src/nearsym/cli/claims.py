"""`nearsym study claims`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from nearsym.cli.options import Positional
from nearsym.errors import UsageError

KEPT = "docs/results"
"""The project's own results, in a checkout."""


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Judge the paper's claims, and four of ours, by results; never trains.

    nearsym study claims
    nearsym study claims --from studies/curves-laptop --claim C5

    A verdict is reproduced, refuted, undecided or not run, and is about the
    scale it names: preset, observations and agent.
    """

    study: Positional[Literal["claims"]]
    """the word claims"""
    from_: Annotated[str, tyro.conf.arg(name="from")] = KEPT
    """a folder with results, files named *.jsonl, or one such file"""
    claim: str | None = None
    """judge this claim alone, such as C5"""


def run(args: Claims) -> dict[str, Any]:
    """`{"claims": [{"id", "verdict", "scale", "numbers", …}], "judged", "results"}`."""
    from nearsym.studies.claims.judge import judge
    from nearsym.studies.findings import claims_as_json
    from nearsym.studies.report.page import read_sources

    if args.from_ == KEPT and not Path(KEPT).exists():
        raise UsageError(
            f"There is no {KEPT} here: it is a folder of the project's own checkout. Name a folder "
            "or file of results with --from."
        )
    results = read_sources([args.from_])
    judged = judge(results, None if args.claim is None else [args.claim])
    claims = claims_as_json(judged)
    counted = {each.claim.id for each in judged if each.verdict != "not run"}
    return {"claims": claims, "judged": len(counted), "results": len(results)}


def show(result: dict[str, Any]) -> None:
    """A table for people."""
    show_each(result["claims"])
    ids = {claim["id"] for claim in result["claims"]}
    print(f"{result['judged']} of {len(ids)} claims judged by {result['results']} runs.")


def show_each(claims: list[dict[str, Any]]) -> None:
    """The verdicts, and what decided them."""
    for claim in claims:
        scale = f" ({claim['scale']})" if claim["scale"] else ""
        print(f"{claim['id']:4} {claim['verdict']:11}{scale} {claim['claim']}")
        print(f"     {claim['said']}")
