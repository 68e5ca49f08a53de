"""Results of strangers: well-formed JSON whose names and numbers are anything."""

import json
import os
import re
import xml.dom.minidom
from dataclasses import asdict

import pytest
from rich.console import Console

from nearsym.errors import UsageError
from nearsym.studies.charts.chart import Chart, Line
from nearsym.studies.display import LiveTable
from nearsym.studies.figures import LONGEST_NAME, draw_charts, file_name, save, write_figures
from nearsym.studies.files_for_papers import write_files
from nearsym.studies.portfolio_check import FIGURES as CHECKED
from nearsym.studies.report.page import build_page, title_of
from nearsym.studies.results import read_results
from nearsym.studies.schedule import Schedule
from nearsym.studies.tables.table import Table
from nearsym.studies.tables.trading import FIGURES
from study_results import made, near, runs

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    r"\input{/etc/passwd}\write18{id}",
    r"$\input{x}$",
    "a|b [x](javascript:alert(1)) &lt;i&gt; $x$",
    "<svg onload=alert(1)>--><!--",
    "[link=http://x]y[/link][/bold]",
    "[5pt]x",
    "*x",
    "_x",
    "{{7*7}}",
    "../../x",
    "é" * 500,
]
STEERING = ["\x1b[2J", "a\u2028b", "a\nb", "\u202eexe.x", "\u2066x", "a\x00b", "x" * 10**6]


def written(path, *results, **more):
    lines = [json.dumps(asdict(result) | more) for result in results]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("text", STEERING, ids=lambda text: repr(text[:8]))
@pytest.mark.parametrize("name", ["task", "variant", "model", "preset"])
def test_names_that_steer_what_shows_them_are_refused(name, text, tmp_path):
    path = written(tmp_path / "a.jsonl", made(), **{name: text})
    with pytest.raises(UsageError, match=rf"a.jsonl, line 1 .*`{name}` must be a text") as error:
        read_results(path)
    assert len(str(error.value)) < 400 + len(str(path))
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("settings", {"a.\x1b[2J": 1}),
        ("settings", {"a.b": ["\u202e"]}),
        ("settings", {"a.b": {"\x07": 1}}),
        ("settings", {"a.b": json.loads("[" * 500 + "]" * 500)}),
        ("details", {"more": json.loads("[" * 500 + "]" * 500)}),
        ("elements", ["\x1b"]),
        ("versions", {"torch": "\x1b"}),
        ("evaluations", {"\n": [1.0]}),
        ("parameters", {"\n": 1}),
    ],
)
def test_names_in_the_depths_are_refused_too(name, value, tmp_path):
    path = written(tmp_path / "a.jsonl", made(), **{name: value})
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        read_results(path)


def test_half_of_a_character_is_refused(tmp_path):
    path = written(tmp_path / "a.jsonl", made(), details={"more": "\ud800"})
    with pytest.raises(UsageError, match="half of a character"):
        read_results(path)


def test_lines_end_where_json_lines_end(tmp_path):
    """U+2028 ends a line for Python, and is a letter in JSON."""
    path = tmp_path / "a.jsonl"
    content = asdict(made()) | {"details": {"more": "a\u2028b\x85c"}}
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")
    (found,) = read_results(path)
    assert found.details["more"] == "a\u2028b\x85c"


WEIGHTS = [[[1.0, 1.1]]] * 6


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"relaxed": {"a": WEIGHTS}, "elements": ["e"]}, "layer 'a' are not of its `elements`"),
        ({"relaxed": {"a": [[[]]] * 6}}, "layer 'a' are not of its `elements`"),
        ({"frames": [0], "returns": [[1.0]]}, "`frames` do not rise"),
        ({"details": {"weights": [[1.0, 2.0]], "tickers": ["a"]}}, "`weights` are not those"),
        ({"details": {"value": [[1.0, 2.0]], "dates": ["2001-01-01"]}}, "`value` are not of its 1"),
        ({"details": {"value": [[1.0]], "dates": ["soon"]}}, "`dates` are no days"),
        ({"details": {"value": [[0.0]], "dates": ["2001-01-01"]}}, "worth nothing"),
        ({"details": {"metrics": [{"name": "x"}] * 3}}, "portfolio 'x' has no 'final_value'"),
    ],
)
def test_results_that_contradict_themselves_are_refused(more, said, tmp_path):
    path = written(tmp_path / "a.jsonl", made(), **more)
    with pytest.raises(UsageError, match=re.escape(said)):
        read_results(path)


def test_what_is_checked_of_portfolios_is_what_is_tabulated():
    assert set(CHECKED) == set(FIGURES)


def test_trading_without_weights_of_days_is_judged():
    some = runs({"approx": near(5.0), "none": near(3.0)}, task="trading", obs=None)
    strange = [made(seed=9, task="trading", obs=None, relaxed={"x": WEIGHTS})]
    page, _ = build_page(some + strange, "A study")
    assert "<main>" in page


def test_equal_runs_bring_no_warning():
    build_page(runs({"none": 3.1, "exact": 3.2, "approx": 3.3}, seeds=3), "A study")


@pytest.mark.parametrize("title", [["x"], {"a": 1}, "\x1b[2J", "x" * 10**6, "\ud800", 5])
def test_a_title_that_is_none_gives_way_to_the_folder(title, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    content = {"title": title, "study": "x", "scale": "laptop"}
    (folder / "study.json").write_text(json.dumps(content))
    assert title_of([folder]) == "mine"


@pytest.mark.parametrize("name", NASTY)
def test_tables_hold_names_as_text(name):
    row = {"model": name, "x": name}
    table = Table("x", "About.", ("model", "x"), (row, row))
    latex = table.latex()
    assert not re.search(r"\\(input|write18)\b|(\\\\|rule)\s*[\[*]", latex)
    markdown = table.markdown().replace("\\\\", "")
    assert not re.search(r"(?<!\\)[\[<&$`]", markdown)


@pytest.mark.parametrize("name", NASTY)
def test_figures_draw_names_as_they_are(name, tmp_path):
    line = Line(name, (0.0, 1.0), (1.0, 2.0))
    chart = Chart("x", name, name, name, (line,), name, ticks=(name, name))
    save(draw_charts([chart]), tmp_path / "a.svg")
    picture = xml.dom.minidom.parse(str(tmp_path / "a.svg"))
    assert not picture.getElementsByTagName("script") + picture.getElementsByTagName("image")


def test_files_for_papers_of_nasty_names(tmp_path):
    some = runs({"approx": near(5.0), NASTY[3]: near(3.0)}, seeds=2, task="é" * 900)
    found = write_files(some, tmp_path / "files")
    assert all(path.parent == tmp_path / "files" and path.exists() for path in found)


def test_names_of_files_are_short_and_differ():
    names = [file_name("é" * 900 + end) for end in "ab"]
    assert len(set(names)) == 2
    assert all(len(name.encode()) < LONGEST_NAME + 10 for name in names)


def test_figures_are_not_written_through_links_or_to_pipes(tmp_path):
    some = runs({"approx": near(5.0)}, seeds=2)
    place, outside = tmp_path / "files", tmp_path / "outside"
    (drawn,) = write_figures(some, place, ["curves"])
    outside.write_text("mine")
    drawn.unlink()
    drawn.symlink_to(outside)
    write_figures(some, place, ["curves"])
    assert outside.read_text() == "mine"
    assert not drawn.is_symlink()
    drawn.unlink()
    os.mkfifo(drawn)
    with pytest.raises(UsageError, match="is a pipe"):
        write_figures(some, place, ["curves"])


class _Entry:
    state = "failed"

    def __init__(self, name, reason):
        self.job, self.reason = type("Job", (), {"name": name}), reason


def test_a_live_table_reads_no_markup_and_passes_on_no_sequence():
    file = open(os.devnull, "w")  # noqa: SIM115
    console = Console(file=file, record=True, width=200)
    table = LiveTable("[link=http://x]study[/link]", console)
    entries = [_Entry("a [/bold] \x1b[2J", "[red]no[/red] [link=http://x]y[/link]")]
    table._schedule = Schedule(entries)
    table._clock = None
    console.print(table.table())
    file.close()
    said = console.export_text()
    assert "[link=http://x]study[/link]" in said
    assert "[/bold] \\x1b[2J" in said
    assert "[red]no[/red]" in said
