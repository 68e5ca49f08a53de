"""docs/claims.md says of every claim what the code says."""

import re
from pathlib import Path

import pytest

from nearsym.studies.claims.computed import COMPUTED
from nearsym.studies.claims.judge import CLAIMS, claim_ids

PAGE = (Path(__file__).parents[2] / "docs" / "claims.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([CN]\d+) \| (.*?) \| ([\w-]+) \| (.*) \|$", PAGE, re.MULTILINE)
KNOWN = {claim.id: claim for claim in [*CLAIMS, *COMPUTED]}


def test_every_claim_has_a_row():
    assert [row[0] for row in ROWS] == claim_ids()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_rows_say_what_the_code_says(row):
    name, statement, study, criterion = (re.sub(r"\\(.)", r"\1", cell) for cell in row)
    claim = KNOWN[name]
    assert (statement, criterion) == (claim.statement, claim.criterion)
    assert study == getattr(claim, "study", "computed")
