"""Links of README and docs lead somewhere, and the index has every page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([\w./-]*)(?:#([\w-]+))?\)")
CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LONG = 120
"""Lines from which on a page needs a summary: two screens."""


def prose(page: Path) -> str:
    """A page without its code and formulas."""
    return CODE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page):
    for file, anchor in LINK.findall(prose(page)):
        target = page.parent / file if file else page
        assert target.exists(), file
        if anchor:
            assert anchor in anchors(target), f"{file}#{anchor}"


def test_a_wrong_anchor_would_be_noticed():
    assert "what-was-run" in anchors(ROOT / "docs" / "evidence.md")
    assert "results" not in anchors(ROOT / "docs" / "agents.md")


def test_the_index_has_every_page():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    linked = {file for file, _ in LINK.findall(index)}
    assert {p.name for p in (ROOT / "docs").glob("*.md")} - linked == {"README.md"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda p: p.stem)
def test_long_pages_begin_with_a_summary(page):
    lines = page.read_text("utf-8").splitlines()
    assert len(lines) < LONG or any("Summary" in line for line in lines[:12])


def test_every_picture_is_shown():
    shown = " ".join(page.read_text("utf-8") for page in PAGES)
    assert [p.name for p in (ROOT / "docs" / "images").iterdir() if p.name not in shown] == []
