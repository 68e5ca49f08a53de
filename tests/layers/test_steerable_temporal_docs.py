"""The examples of the two documentation pages run and print what the pages say."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["steerable.md", "temporal.md"])
def test_examples(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0
