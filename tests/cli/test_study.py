"""`nearsym study`: what it prints, what it refuses."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nearsym.studies.execute import StudyOutcome
from study_results import near, runs

TINY = """
[grid]
task = "craft"
model = ["none", "exact"]
frames = 600
"""


@pytest.fixture
def tiny(command, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    return lambda *words: command("study", "tiny.toml", "--scale", "smoke", *words)


def test_a_dry_run_lists_runs_and_costs_and_writes_nothing(tiny, tmp_path):
    found = tiny("--dry-run", "--json").json
    assert found["runs"] == {"total": 4, "done": 0, "failed": 0}
    assert found["core_hours_left"] > 0
    assert [run["name"] for run in found["expected"]][:2] == [
        "craft, none, seed 0",
        "craft, exact, seed 0",
    ]
    assert {run["state"] for run in found["expected"]} == {"new"}
    said = tiny("--dry-run", "--seeds", 1)
    assert said.code == 0
    assert "new      craft, none, seed 0: 600 frames, 1 s (a recorded rate)\n" in said.out
    assert "0 of 2 runs are done; the rest takes about" in said.out
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


def test_a_part_of_a_study(command):
    words = ("--only", "task=cartpole-swingup model=none,exact variant=original")
    found = command("study", "curves", *words, "--dry-run", "--json").json
    names = [run["name"] for run in found["expected"]]
    assert names[:2] == [f"cartpole-swingup, original, {m}, seed 100" for m in ("none", "exact")]
    assert len(names) == 6


def test_a_dry_run_of_a_study_that_needs_no_training_builds_nothing(command, tmp_path, monkeypatch):
    monkeypatch.setattr("nearsym.studies.plan.build_agent", None)
    said = command("study", "parameters", "--scale", "paper", "--dry-run")
    assert said.code == 0
    assert said.out == (
        "parameters (paper): 28 agents are built to count their parameters, none is trained. "
        "Nothing was run.\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.longer
def test_a_study_that_needs_no_training(command, tmp_path):
    found = command("study", "tasks", "--scale", "smoke", "--json").json
    assert {"study", "scale", "runs", "tables", "claims", "core_hours", "out"} <= set(found)
    assert found["runs"] == {"total": 15, "done": 15, "failed": 0}
    assert found["core_hours"] == 0
    assert found["out"] == str(tmp_path / "studies" / "tasks-smoke")
    lines = (tmp_path / "studies" / "tasks-smoke" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 15
    assert "15 of 15 runs done, 0.0 core-hours" in command("study", "tasks", "--scale", "smoke").out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("curvs",), "Unknown study 'curvs'. Did you mean 'curves'?"),
        (("curves", "--scale", "big"), "Unknown value of --scale 'big'"),
        (("curves", "--seeds", "0"), "--seeds must be at least 1, got 0."),
        (("curves", "--workers", "0"), "--workers must be at least 1, got 0."),
        (("curves", "--gpus", "0.5"), "--gpus needs --cluster"),
        (("curves", "--only", "model"), "--only takes words AXIS=VALUE,VALUE without other spaces"),
        (("curves", "--only", ""), "as in 'task=cartpole-swingup model=none,exact'; got ''."),
        (("curves", "--only", "model=none, exact"), "without other spaces, each axis once"),
        (("curves", "--only", "model=none model=exact"), "each axis once"),
        (("curves", "--only", "model=nune"), "Unknown value of model 'nune'. Did you mean 'none'?"),
        (("own.toml",), "Cannot read own.toml"),
        (("own.py", "--trust-task"), "Cannot read own.py"),
        (("tiny.toml", "--device", "cuda:9"), "sees no cuda:9 device: use --device cpu."),
        ((), "STUDY is missing"),
    ],
)
def test_refusals(command, tmp_path, words, text):
    (tmp_path / "tiny.toml").write_text(TINY)
    result = command("study", *words)
    assert (result.code, result.out) == (2, "")
    assert text in result.err
    assert result.err.count("\n") == 1


def test_trust_is_asked_for_as_a_flag(command, tmp_path):
    (tmp_path / "own.toml").write_text("[grid]\ntask = 'payload:make'")
    assert "would import payload:make: if you trust it, add --trust-task." in (
        command("study", "own.toml").err
    )
    (tmp_path / "own.py").write_text("")
    assert "runs it: if you trust it, add --trust-task." in command("study", "own.py").err


def test_failures_are_listed_and_the_exit_code_is_1(tiny, tmp_path, monkeypatch):
    def pretended(study, **options):
        failures = {"craft, none, seed 0": "It diverged: `seeds`."}
        return StudyOutcome(study, tmp_path / "x", 2, [], failures, "The disk is full.")

    monkeypatch.setattr("nearsym.studies.execute.run_study", pretended)
    found = tiny("--json")
    assert found.code == 1
    assert found.json["runs"] == {"total": 2, "done": 0, "failed": 1}
    assert found.json["failures"] == [
        {"run": "craft, none, seed 0", "reason": "It diverged: `seeds`."}
    ]
    said = tiny()
    assert "failed  craft, none, seed 0: It diverged: --seeds.\n" in said.out
    assert "No more runs were begun: The disk is full." in said.out


def test_help_names_every_study(capsys):
    from nearsym.cli.main import run
    from nearsym.studies.builtin import STUDIES

    with pytest.raises(SystemExit):
        run(["study", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert all(f" {name}," in text or f" {name}." in text for name in STUDIES)


@pytest.fixture
def done(tmp_path, monkeypatch):
    """As if every study were done, with a few results."""
    made = runs({"none": near(50), "exact": near(60)})
    monkeypatch.setattr(
        "nearsym.studies.execute.run_study",
        lambda study, **options: StudyOutcome(study, tmp_path / "found", len(made), made, {}),
    )
    return tmp_path / "found" / "files"


def test_tables_and_verdicts_are_printed_and_written_with_figures(command, done):
    said = command("study", "curves", "--scale", "smoke")
    assert said.code == 0
    assert "\nend\ntask " in f"\n{said.out}"
    assert "\nMean return of the last three evaluations. Laptop, state, sac. 95 % " in said.out
    assert "\nC6   not run     Originals: approx is not worse than exact.\n" in said.out
    assert said.out.splitlines()[-1].startswith("As one page: nearsym report ")
    written = {path.name for path in done.iterdir()}
    assert {"end.md", "end.tex", "claims.md", "curves-laptop-state-sac.svg"} <= written
    assert f"{len(written)} tables and figures were written to {done}\n" in said.out
    found = command("study", "curves", "--scale", "smoke", "--json").json
    assert {Path(name).name for name in found["files"]} == written
    assert found["tables"]["end"][0]["exact"]["seeds"] == len(near(60))


def test_a_long_table_is_left_to_its_file(command, done, monkeypatch):
    monkeypatch.setattr("nearsym.cli.study.MOST_LINES", 2)
    assert "\nend\n(3 lines: see its file)\n" in f"\n{command('study', 'curves').out}"


def test_tables_without_matplotlib(command, done, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = command("study", "curves")
    assert said.code == 0
    assert 'pip install "nearsym[plots]"' in said.err
    assert {path.suffix for path in done.iterdir()} == {".md", ".tex"}


def test_names_are_checked_before_anything_is_run(command, tmp_path):
    (tmp_path / "own.toml").write_text(f'tables = ["ned"]\n{TINY}')
    said = command("study", "own.toml")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "Unknown table 'ned'. Did you mean 'end'?" in said.err
    assert not (tmp_path / "studies").exists()


def test_files_do_not_go_where_a_link_points(command, done, tmp_path):
    done.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    done.symlink_to(tmp_path / "elsewhere")
    said = command("study", "curves")
    assert "Not all tables and figures were written: " in said.err
    assert not list((tmp_path / "elsewhere").iterdir())
    assert said.out.startswith("end\n")  # what was found is told all the same


def test_a_study_without_results_has_no_report(tiny, tmp_path, monkeypatch):
    nothing = StudyOutcome(None, tmp_path / "x", 2, [], {"craft, none, seed 0": "It diverged."})
    monkeypatch.setattr(
        "nearsym.studies.execute.run_study", lambda study, **_: replace(nothing, study=study)
    )
    assert "nearsym report" not in tiny().out
