"""The page of evidence shows what the kept results say."""

import re

import pytest

from nearsym.studies.claims.judge import judge
from nearsym.studies.tables.verdicts import counted
from study_results import made

NUMBER = re.compile(r"([-−]?\d[\d,]*(?:\.\d+)?)\s±\s(\d[\d,]*(?:\.\d+)?)")
"""A number with its interval, as tables and pages write it."""


@pytest.mark.longer
@pytest.mark.parametrize("name", ["PAGE", "TRADES"])
def test_its_tables_are_those_of_the_results(script, name):
    path = getattr(script, name)
    page = path.read_text("utf-8")
    assert script.BLOCK.search(page)
    every = script.kept_results()
    assert script.filled(page, script.of_page(path, every), every) == page


def test_reported_seeds_are_others_than_those_of_the_presets(script):
    assert min(run.seed for run in script.kept_results()) >= 100


def test_rounding_keeps_five_digits(script):
    assert script._short({"a": [1.23456789, 2]}) == {"a": [1.2346, 2]}


def test_portfolios_are_kept_without_their_days(script):
    null = {"random orders": {"final_value": [1.23456789], "band": [[1.0, 2.0]]}}
    metrics = [{"name": "uniform"}]
    details = {"metrics": metrics, "value": [[1.0, 2.0]], "dates": ["d"], "null": null}
    kept = script._rounded(made("none", 100, details=details)).details
    assert kept == {"metrics": metrics, "null": {"random orders": {"final_value": [1.2346]}}}


def test_returns_over_holding_are_kept_and_survive_being_kept_again(script):
    details = {"value": [[1.0, 1.1, 1.21]], "baselines": {"uniform": [1.0, 1.0, 1.00123456]}}
    once = script._rounded(made("none", 100, details=details))
    assert once.details == {"excess": [0.1, 0.0988]}
    assert script._rounded(once) == once
    planted = made("none", 100, task="trading", variant="momentum=0.3", details=details)
    assert script._rounded(planted).details == {}


def numbers(text):
    return [
        tuple(part.replace("−", "-").replace(",", "") for part in found)
        for found in NUMBER.findall(text)
    ]


def agree(said, measured, turned=False):
    """Whether a number of a page is one of a table, perhaps with fewer digits. A difference may be
    `turned` round: where a − b is −5, b lies 5 above a."""
    pairs = zip(said, measured, strict=True)
    rounded = [(float(s), round(float(m), len(s.partition(".")[2]))) for s, m in pairs]
    (value, known), (half, width) = rounded
    return half == width and (value == known or (turned and value == -known))


@pytest.mark.parametrize("name", ["README.md", "docs/evidence.md"])
def test_numbers_with_intervals_are_those_of_a_table(script, name):
    pages = [path.read_text("utf-8") for path in (script.PAGE, script.TRADES)]
    blocks = [block for page in pages for block in script.BLOCK.finditer(page)]
    tables = [(pair, "differences" in block[2]) for block in blocks for pair in numbers(block[0])]
    said = numbers(script.BLOCK.sub("", (script.DOCS.parent / name).read_text("utf-8")))
    assert said
    assert not [pair for pair in said if not any(agree(pair, *known) for known in tables)]


@pytest.mark.longer
@pytest.mark.parametrize("name", ["README.md", "docs/evidence.md"])
def test_verdicts_on_the_papers_claims_are_counted_right(script, name):
    found = [one for one in judge(script.kept_results()) if one.claim.id.startswith("C")]
    page = (script.DOCS.parent / name).read_text("utf-8")
    assert counted(found) in page


def test_a_number_that_no_table_has_is_found():
    (said,) = numbers("approx ends at −1,234.5\n± 6")
    assert said == ("-1234.5", "6")
    assert agree(said, ("-1234.46", "6.4"))
    assert not agree(said, ("-1234.46", "6.6"))
    assert not agree(said, ("1234.5", "6"))
    assert agree(said, ("1234.5", "6"), turned=True)
