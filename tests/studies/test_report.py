"""The page about a study: complete, self-contained, and safe whatever its files say."""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from browser import Browser, find_chromium
from nearsym.errors import UsageError
from nearsym.studies import audited
from nearsym.studies.builtin import STUDIES, builtin_study
from nearsym.studies.claims.judge import CLAIMS
from nearsym.studies.files_for_papers import write_files
from nearsym.studies.findings import check_names, findings
from nearsym.studies.report import page as page_module
from nearsym.studies.report.page import build_page, read_all, read_sources, title_of, write_report
from nearsym.studies.results import write_results
from nearsym.studies.study import SCALES, Grid, Study
from study_results import made, near, runs

EVIL = "<img src=x onerror=alert(1)>\"'&</script><script>alert(2)</script>"


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch):
    monkeypatch.setattr(audited, "PAIRS", 100)


def study():
    """Runs that have something for every part of the page."""
    rng = np.random.default_rng(0)
    runs = []
    for tilt in (0, 30, 75):
        for model, level in (("none", 90), ("exact", 100 - tilt), ("approx", 95)):
            for seed, value in enumerate(near(level, by=4)):
                curve = np.linspace(1, value, 6) + rng.normal(0, 1, 6)
                weights = (
                    {"actor.body": [[[1.0, 1.0 - 0.01 * tilt]]] * 6} if model == "approx" else {}
                )
                about = {"task": "craft", "variant": f"tilt={tilt}", "relaxed": weights}
                about |= {
                    "elements": ["e", "mirror_x"],
                    "seconds": 60.0,
                    "versions": {"torch": "2"},
                }
                about |= {"evaluations": {"clean": [value, value + 1]}, "parameters": {"total": 9}}
                runs.append(made(model, seed, curve=curve.tolist(), **about))
    return runs


class Page(HTMLParser):
    """What a page holds: its elements, and the text of its cells."""

    VOID = ("meta", "img", "br", "link", "input", "hr")

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.cells = [], [], []
        self.feed(text)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "elements are closed in their order"

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1] += data


def test_the_page_is_whole():
    text, about = build_page(study(), "A study")
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"claims", "regret", "curves", "final", "weights", "time", "runs"} <= set(ids)
    links = [a["href"] for tag, a in page.elements if tag == "a"]
    assert all(link.removeprefix("#") in ids for link in links)
    assert about["runs"] == 45
    assert sum(tag == "figure" for tag, _ in page.elements) == about["charts"] > 5
    assert sum(tag == "table" for tag, _ in page.elements) == about["tables"]
    assert about["claims"] >= 3


def test_numbers_of_the_page_are_those_of_the_runs():
    runs = study()
    cells = Page(build_page(runs, "A study")[0]).cells
    ends = [np.mean(run.curve()[-3:]) for run in runs if run.model == "exact"][:5]
    assert any(cell.startswith(f"{np.mean(ends):.1f} ±") for cell in cells)


def test_nothing_is_loaded_and_nothing_else_runs():
    text, _ = build_page(study(), "A study")
    page = Page(text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    for _, attributes in page.elements:
        assert not {"src", "onclick", "onerror", "onload", "style"} & attributes.keys()
    (policy,) = [a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_equal_results_give_equal_pages():
    assert build_page(study(), "A study") == build_page(study()[::-1], "A study")


def nasty():
    """Every text of a result that somebody else may have chosen."""
    about = {"task": EVIL, "variant": EVIL, "obs": EVIL, "agent": EVIL, "preset": EVIL}
    about |= {"settings": {f"a.{EVIL}": EVIL}, "versions": {EVIL: EVIL}, "elements": [EVIL, "m"]}
    about |= {"evaluations": {"clean": [1.0, 2.0], f"noise={EVIL}": [1.0, 2.0]}}
    about |= {"parameters": {EVIL: 3}, "seconds": 5.0}
    relaxed = {"relaxed": {f"actor.{EVIL}": [[[1.0, 2.0]]] * 6}}
    return [
        made(model, seed, 50.0 + seed, **about, **(relaxed if model == "approx" else {}))
        for model in ("approx", EVIL)
        for seed in range(2)
    ]


def test_names_from_files_are_text():
    text, _ = build_page(nasty(), EVIL)
    page = Page(text)
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert sum(tag == "script" for tag, _ in page.elements) == 2
    assert EVIL not in text
    assert html.escape(EVIL) in text
    data = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text)[1]
    assert EVIL in json.dumps(json.loads(data), ensure_ascii=False).replace('\\"', '"')


def test_numbers_that_are_not_finite():
    runs = [made("none", seed, curve=[1.0, float("nan"), 3.0]) for seed in range(3)]
    text, _ = build_page(runs, "Broken")
    assert "NaN" not in re.search(r'id="charts">(.*?)</script>', text)[1]


def test_writing(tmp_path):
    found = write_report(study(), tmp_path / "new" / "page.html", title="A study")
    assert found["file"] == str(tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.html, got page\.pdf"):
        write_report(study(), tmp_path / "page.pdf")
    with pytest.raises(UsageError, match="needs at least one result"):
        write_report([], tmp_path / "page.html")


def test_sources_are_files_and_folders(tmp_path):
    runs = study()
    write_results(tmp_path / "a.jsonl", runs[:20])
    write_results(tmp_path / "b.jsonl", runs[10:])
    (tmp_path / "study.json").write_text("{}")
    assert len(read_sources([tmp_path])) == len(runs)  # each once
    assert len(read_all([tmp_path])) == len(runs) + 10
    assert len(read_sources([tmp_path / "a.jsonl"])) == 20
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"expected files named \*\.jsonl"):
        read_sources([tmp_path / "empty"])
    with pytest.raises(UsageError, match="cannot be read"):
        read_sources([tmp_path / "gone"])


def test_a_study_has_a_title(tmp_path):
    about = {"study": "curves", "title": "Learning curves", "scale": "laptop"}
    (tmp_path / "study.json").write_text(json.dumps(about))
    assert title_of([tmp_path]) == "Learning curves (laptop)"
    (tmp_path / "study.json").write_text("[1")
    assert title_of([tmp_path]) == tmp_path.name
    assert title_of(["a/b.jsonl", "c.jsonl"]) == "b, c"


def test_files_for_papers(tmp_path):
    written = write_files(study(), tmp_path)
    names = {path.name for path in written}
    assert {"end.md", "end.tex", "claims.md", "regret.md", "curves-laptop-state-sac.svg"} <= names
    assert all(path.is_file() for path in written)
    kept = read_sources([tmp_path / "results.jsonl"])
    assert len(kept) == 45
    assert all("epsilon" in run.details for run in kept)
    assert "95 \\% intervals by Student's t; 5 seeds" in (tmp_path / "end.tex").read_text()


def test_findings_of_a_built_in_study():
    found = findings(builtin_study("regret"), study()).as_json()
    assert set(found["tables"]) >= {"regret", "strength craft tilt", "end"}
    assert [claim["id"] for claim in found["claims"]] == ["N1", "N2", "N4"]
    claim = found["claims"][1]
    assert claim["verdict"] == "reproduced"
    assert {"id", "verdict", "numbers", "criterion", "scale", "paper"} <= claim.keys()
    json.dumps(found, allow_nan=False)


def own_study(**named):
    return Study(name="mine", grids=(Grid({"task": "craft"}),), **named)


def test_findings_of_ones_own_study():
    found = findings(own_study(), study()).as_json()
    assert {"runs", "end", "area", "parameters"} <= set(found["tables"])
    assert found["claims"] == []
    assert set(found["lines"]) == set(found["tables"])


def test_findings_of_a_study_that_names_what_it_wants():
    found = findings(own_study(tables=("end",), claims=("C25", "C6")), study())
    assert [table.name for table in found.tables] == ["end"]
    assert [each.claim.id for each in found.judged] == ["C6", "C25"]
    assert found.judged[1].verdict == "reproduced"


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("scale", SCALES)
def test_built_in_studies_name_what_exists(name, scale):
    check_names(builtin_study(name, scale))


@pytest.mark.parametrize("kind", ["tables", "figures", "claims"])
def test_names_that_do_not_exist(kind):
    with pytest.raises(UsageError, match=rf"Unknown {kind[:-1]} 'C1O'"):
        check_names(own_study(**{kind: ("C1O",)}))


def test_every_claim_belongs_to_a_study_that_judges_it():
    for claim in CLAIMS:
        assert claim.id in builtin_study(claim.study).claims


def test_sections_name_what_exists():
    from nearsym.studies.charts.all import CHARTS
    from nearsym.studies.tables.all import TABLES

    for _, charts, tables in page_module.SECTIONS.values():
        assert set(charts) <= set(CHARTS)
        assert set(tables) <= set(TABLES)
    shown = {name for _, _, tables in page_module.SECTIONS.values() for name in tables} | {"runs"}
    assert shown | {"tasks"} == set(TABLES)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if find_chromium() is None:
        pytest.skip("there is no Chromium here")
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens the page of some runs."""

    def open_page(runs, **how):
        browser.complaints.clear()
        write_report(runs, tmp_path / "page.html", title="A study")
        browser.open(tmp_path / "page.html", **how)
        return browser

    return open_page


ROWS = "[...document.querySelectorAll('#runs table tbody tr')].map(r => r.cells[{}].textContent)"


@pytest.mark.outside
def test_it_opens_in_a_browser_without_complaints(opened):
    page = opened(study())
    assert page.run("document.querySelectorAll('figure svg').length") > 5
    assert page.run("document.querySelectorAll('polyline.mean').length") > 5
    assert page.complaints == []


@pytest.mark.outside
def test_tables_sort(opened):
    page = opened(study())
    header = "#runs th:nth-child(2) button"
    before = page.run(ROWS.format(1))
    page.click(header)
    page.click(header)
    after = page.run(ROWS.format(1))
    assert after[0] == "tilt=75"
    assert sorted(after) == sorted(before)
    assert after == sorted(before, reverse=True)
    assert page.run("document.querySelector('#runs th:nth-child(2)').ariaSort") == "descending"
    number = "#regret table th.number button"
    page.click(number)
    values = page.run(
        "[...document.querySelector('#regret table').tBodies[0].rows]"
        ".map(r => Number(r.querySelector('td.number').dataset.value))"
    )
    assert values == sorted(values)
    assert page.complaints == []


@pytest.mark.outside
def test_a_legend_click_hides_a_line_everywhere(opened):
    page = opened(study())
    count = "document.querySelectorAll(\"g.line[data-name='exact']\").length"
    others = "document.querySelectorAll(\"g.line[data-name='approx']\").length"
    shown, beside = page.run(count), page.run(others)
    assert shown > 3
    page.click("#curves .legend button[data-name='exact']")
    assert (page.run(count), page.run(others)) == (0, beside)
    pressed = "document.querySelector(\"#curves .legend button[data-name='exact']\").ariaPressed"
    assert page.run(pressed) == "false"
    page.click("#curves .legend button[data-name='exact']")
    assert page.run(count) == shown


@pytest.mark.outside
def test_hovering_tells_the_numbers(opened):
    runs = study()
    page = opened(runs)
    page.run("document.querySelector('#curves figure').scrollIntoView({behavior: 'instant'})")
    box = page.run(
        "(() => { const b = document.querySelector('#curves figure svg').getBoundingClientRect();"
        "return [b.x, b.y, b.width, b.height] })()"
    )
    page.move(box[0] + box[2] - 20, box[1] + box[3] / 2)  # the last evaluation
    said = page.run("document.querySelector('#curves .tip').innerText")
    exact = [run.curve()[-1] for run in runs if run.model == "exact" and run.variant == "tilt=0"]
    assert "frames 600" in said
    assert f"exact: {np.mean(exact):.4g}"[:11] in said
    page.move(5, 5)
    assert page.run("document.querySelector('#curves .tip').hidden")


@pytest.mark.outside
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(opened, scheme):
    page = opened(study(), scheme=scheme)
    colour = page.run("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert (brightness > 600) == (scheme == "light")


@pytest.mark.outside
def test_on_a_phone_nothing_sticks_out(opened):
    page = opened(study(), width=390, height=800)
    assert page.run("document.documentElement.scrollWidth") == 390
    assert page.run("document.querySelector('figure svg').getBoundingClientRect().width") < 390
    size = page.run("getComputedStyle(document.querySelector('figure svg text')).fontSize")
    assert size == "12px"


@pytest.mark.outside
def test_it_prints(opened, tmp_path):
    page = opened(study(), scheme="dark")
    page.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.outside
def test_names_from_files_run_nothing(opened):
    page = opened(nasty())
    page.click("#curves .legend button")
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.complaints == []


@pytest.mark.outside
def test_a_chart_of_very_many_points(opened):
    page = opened(study())
    assert page.run("extent(Array(500000).fill(1))") == [0.5, 1.5]


STRANGE = [
    "javascript:alert(1)",
    "{{7*7}}${7*7}",
    "]]><script>window.ran = 1</script>",
    "</title><script>window.ran = 1</script>",
    "<!--<script>",
    "'-alert(1)-'",
    "__proto__",
    "constructor",
]


@pytest.mark.outside
@pytest.mark.parametrize("name", STRANGE)
def test_strange_names_everywhere_run_nothing(name, opened):
    weights = {name: [[[1.0, 1.1]]] * 6, f"actor.{name}": [[[1.0, 1.1]]] * 6}
    more = {"relaxed": weights, "elements": [name, "g"], "versions": {name: name}}
    some = runs({"approx": [3.0, 4.0], name: [1.0, 2.0]}, seeds=2, task=name, preset=name, **more)
    page = opened(some)
    page.click("#curves .legend button")
    page.click("th button")
    assert page.run("window.ran") is None
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelectorAll('a:not([href^=\"#\"])').length") == 0
    assert page.complaints == []


@pytest.mark.outside
def test_a_script_that_got_in_would_not_run(browser, tmp_path):
    """The page's own policy is a second wall; this also shows that complaints are heard."""
    text, _ = build_page(study(), "A study")
    evil = text.replace("</main>", "</main><script>window.ran = true</script>")
    (tmp_path / "evil.html").write_text(evil, encoding="utf-8")
    browser.complaints.clear()
    browser.open(tmp_path / "evil.html")
    assert browser.run("window.ran") is None
    assert any("Content Security Policy" in said for said in browser.complaints)
