"""What a study says: its tables and its claims, as plain data."""

from collections.abc import Iterable
from typing import Any, Protocol

from nearsym.studies.claims.judge import claim_ids, claims_of, judge
from nearsym.studies.results import RunResult
from nearsym.studies.tables.all import OF_STUDIES, tables_of


class Named(Protocol):
    """What a study says of itself."""

    @property
    def name(self) -> str: ...

    @property
    def tables(self) -> tuple[str, ...]: ...

    @property
    def claims(self) -> tuple[str, ...]: ...


def outcome(
    study: str | Named,
    results: Iterable[RunResult],
    *,
    tables: Iterable[str] | None = None,
    claims: Iterable[str] | None = None,
) -> dict[str, Any]:
    """`{"tables": {name: rows}, "claims": [{"id", "verdict", "numbers", …}]}`.

    A built-in `study`, by name or as a value, has its own tables and claims; any other has every
    table that its results have something for, and no claims. `tables` and `claims` choose others.

    >>> found = outcome("rpp-tau", [])
    >>> found["tables"], [(claim["id"], claim["verdict"]) for claim in found["claims"]]
    ({}, [('C19', 'not run')])
    """
    runs = list(results)
    own_tables, own_claims = _of(study)
    wanted = own_tables if tables is None else tables
    ids = own_claims if claims is None else list(claims)
    found = {table.name: table.as_json() for table in tables_of(runs, wanted)}
    judged = judge(runs, [name for name in claim_ids() if name in ids]) if ids else []
    return {"tables": found, "claims": [each.as_json() for each in judged]}


def _of(study: str | Named) -> tuple[Iterable[str] | None, list[str]]:
    """Tables and claims; a study that names none has the usual ones."""
    name = study if isinstance(study, str) else study.name
    tables, claims = OF_STUDIES.get(name), claims_of(name)
    if isinstance(study, str):
        return tables, claims
    return study.tables or tables, list(study.claims) or claims
