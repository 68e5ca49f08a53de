"""The page of evidence shows what the kept results say."""

import pytest

from study_results import made


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
