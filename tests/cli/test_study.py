"""`nearsym study`: what it prints, what it refuses."""

import json
import sys
import types

import pytest

from nearsym.studies.execute import StudyOutcome

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


def test_tables_and_claims_come_from_the_outcome(command, monkeypatch):
    module = types.ModuleType("nearsym.studies.outcome")
    module.__spec__ = types.SimpleNamespace()
    module.outcome = lambda study, results: {"tables": {"x": [len(results)]}, "claims": [1]}
    monkeypatch.setitem(sys.modules, "nearsym.studies.outcome", module)
    found = command("study", "tasks", "--scale", "smoke", "--json").json
    assert (found["tables"], found["claims"]) == ({"x": [15]}, [1])
    assert json.dumps(found)
