"""What a study says: its tables and its claims."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from nearsym.errors import unknown_name
from nearsym.studies.claims.claim import Judgement
from nearsym.studies.claims.judge import claim_ids, judge
from nearsym.studies.figures import FIGURES
from nearsym.studies.results import RunResult
from nearsym.studies.study import Study
from nearsym.studies.tables.all import TABLES, tables_of
from nearsym.studies.tables.table import Table
from nearsym.studies.tables.verdicts import numbers


@dataclass(frozen=True)
class Findings:
    """Tables, and verdicts on claims."""

    tables: list[Table]
    judged: list[Judgement]

    def as_json(self) -> dict[str, Any]:
        """`{"tables": {name: rows}, "claims": [{"id", "verdict", "numbers", …}], "lines": {name:
        lines}}`; the last are the tables for people."""
        return {
            "tables": {table.name: table.as_json() for table in self.tables},
            "claims": claims_as_json(self.judged),
            "lines": {table.name: table.lines() for table in self.tables},
        }


def claims_as_json(judged: Iterable[Judgement]) -> list[dict[str, Any]]:
    """Plain data, and what decided each as a sentence."""
    return [each.as_json() | {"said": numbers(each)} for each in judged]


def findings(study: Study, results: Iterable[RunResult]) -> Findings:
    """The tables and claims that a study names; one that names no tables has every table that its
    results have something for.

    >>> from nearsym.studies.builtin import builtin_study
    >>> found = findings(builtin_study("rpp-tau"), [])
    >>> found.tables, [(each.claim.id, each.verdict) for each in found.judged]
    ([], [('C19', 'not run')])
    """
    runs = list(results)
    ids = [name for name in claim_ids() if name in study.claims]
    judged = judge(runs, ids) if ids else []
    return Findings(tables_of(runs, study.tables or None), judged)


def check_names(study: Study) -> None:
    """Refuse names of tables, figures and claims that do not exist, before anything is run."""
    known: dict[str, Collection[str]] = {
        "tables": TABLES,
        "figures": FIGURES,
        "claims": claim_ids(),
    }
    for kind, names in known.items():
        for name in getattr(study, kind):
            if name not in names:
                raise unknown_name(kind.removesuffix("s"), name, names)
