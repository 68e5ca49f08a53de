"""The page of evidence shows what the kept results say."""

import importlib.util
from pathlib import Path

import pytest

from study_results import made

ROOT = Path(__file__).parents[2]


def script():
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "scripts" / "evidence.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["PAGE", "TRADES"])
def test_its_tables_are_those_of_the_results(name):
    evidence = script()
    path = getattr(evidence, name)
    page = path.read_text("utf-8")
    assert evidence.BLOCK.search(page)
    every = evidence.kept_results()
    assert evidence.filled(page, evidence.of_page(path, every), every) == page


def test_reported_seeds_are_others_than_those_of_the_presets():
    assert min(run.seed for run in script().kept_results()) >= 100


def test_rounding_keeps_five_digits():
    assert script()._short({"a": [1.23456789, 2]}) == {"a": [1.2346, 2]}


def test_portfolios_are_kept_without_their_days():
    evidence = script()
    null = {"random orders": {"final_value": [1.23456789], "band": [[1.0, 2.0]]}}
    details = {
        "metrics": [{"name": "uniform"}],
        "value": [[1.0, 2.0]],
        "dates": ["d"],
        "null": null,
    }
    kept = evidence._rounded(made("none", 100, details=details)).details
    assert kept == {
        "metrics": [{"name": "uniform"}],
        "null": {"random orders": {"final_value": [1.2346]}},
    }
