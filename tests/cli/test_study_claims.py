"""The commands `nearsym study claims` and `nearsym report`."""

import json

import pytest

from nearsym.cli.main import run
from nearsym.studies.results import write_results
from study_results import made


@pytest.fixture
def results(tmp_path):
    """A folder with results of acrobot, where approx is far ahead."""
    runs = [
        made(model, seed, level + seed, task="acrobot-swingup", variant=variant)
        for variant in ("repeat_action", "reflect_action")
        for model, level in (("approx", 500), ("exact", 100), ("rpp", 90))
        for seed in range(5)
    ]
    write_results(tmp_path / "results.jsonl", runs)
    return tmp_path


def test_claims_for_programs(results, capsys):
    assert run(["study", "claims", "--from", str(results), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert len(claims) == 30
    assert claims["C3"]["verdict"] == "reproduced"
    assert claims["C4"]["verdict"] == "not run"
    assert claims["C3"]["numbers"]["comparisons"][0]["seeds"] == 5
    assert found["results"] == 30
    assert found["judged"] == sum(claim["verdict"] != "not run" for claim in claims.values())


def test_claims_for_people(results, capsys):
    assert run(["study", "claims", "--from", str(results), "--claim", "C3"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("C3   reproduced  (laptop, state, sac) Acrobot")
    assert "4 comparisons: 4 yes" in said
    assert said.endswith("1 of 1 claims judged by 30 runs.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--claim", "C99"], "Unknown claim 'C99'"),
        (["--from", "nowhere"], "nowhere cannot be read"),
        (["--form", "x"], "Unknown option of study '--form'. Did you mean '--from'?"),
    ],
)
def test_claims_that_cannot_be_judged(results, capsys, words, said, monkeypatch):
    monkeypatch.chdir(results)
    given = [] if "--from" in words else ["--from", str(results)]
    assert run(["study", "claims", *given, *words]) == 2
    assert said in capsys.readouterr().err


def test_results_of_the_docs_are_the_default(results, capsys, monkeypatch):
    monkeypatch.chdir(results)
    assert run(["study", "claims"]) == 2
    assert "There is no docs/results here" in capsys.readouterr().err
    (results / "docs").mkdir()
    (results / "docs" / "results").mkdir()
    (results / "results.jsonl").rename(results / "docs" / "results" / "acrobot.jsonl")
    assert run(["study", "claims", "--claim", "C3"]) == 0


def test_a_report(results, capsys):
    page = results / "page.html"
    assert run(["report", str(results), "--out", str(page), "--title", "Mine"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("30 runs: ")
    assert said.endswith(f"Look at {page}\n")
    assert "<title>Mine</title>" in page.read_text("utf-8")


@pytest.mark.longer
def test_a_report_of_several_files_with_files_for_papers(results, capsys):
    files = [str(results / "results.jsonl")] * 2
    options = ["--out", str(results / "a.html"), "--files", str(results / "paper"), "--json"]
    assert run(["report", *files, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 30
    assert str(results / "paper" / "end.tex") in found["files"]


def test_reports_that_cannot_be_written(results, capsys):
    assert run(["report", str(results), "--out", "page.pdf"]) == 2
    assert "A report ends in .html, got page.pdf." in capsys.readouterr().err
    assert run(["report", "--out", "page.html"]) == 2
    assert "STUDY is missing" in capsys.readouterr().err
    (results / "results.jsonl").write_text("{}\n")
    assert run(["report", str(results), "--out", "page.html"]) == 2
    assert "line 1 is not the result of a run" in capsys.readouterr().err
