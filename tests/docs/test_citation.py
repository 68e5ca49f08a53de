"""CITATION.cff names this software and its present version."""

import re
from pathlib import Path

import nearsym

CITATION = (Path(__file__).parents[2] / "CITATION.cff").read_text("utf-8")


def entry(name: str) -> str:
    """The value of an entry of the outermost level."""
    (found,) = re.findall(rf"^{name}: (.*)$", CITATION, re.MULTILINE)
    return found.strip('"')


def test_version_and_titles():
    assert entry("cff-version") == "1.2.0"
    assert nearsym.__version__.startswith(entry("version"))
    assert entry("title").startswith("nearsym")
    assert "title: Approximate Equivariance in Reinforcement Learning" in CITATION
