"""What people see while a study runs, and how long it will take."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from nearsym.runs.configure import configure
from nearsym.studies.display import LINE_EVERY, Lines, LiveTable, running, watcher_for
from nearsym.studies.job import Job
from nearsym.studies.pool import place_of
from nearsym.studies.rates import OF_MODELS, RECORDED, Rates, kind_of, measured_rates
from nearsym.studies.schedule import Entry, Schedule
from nearsym.studies.study import Evaluation


def config(model="approx", preset="laptop", **more):
    return configure("craft", model=model, preset=preset, threads=1, **more)


@pytest.fixture
def schedule(tmp_path):
    """Four runs of 4000 frames: done, running at frame 1000, failed, waiting."""
    entries = []
    for seed, state in enumerate(("done", "running", "failed", "waiting")):
        made = config(seed=seed)
        job = Job(f"craft, seed {seed}", made, Evaluation(), place_of(made, tmp_path))
        entries.append(Entry(job, state=state))
    entries[2].reason = "critic/loss is not finite"
    folder = entries[1].job.place.folder
    folder.mkdir()
    rows = [{"frames": 750, "eval/return_mean": 12.25}, {"frames": 1000, "train/return": 3.0}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Schedule(entries)


def test_where_a_run_stands(schedule):
    now = running(schedule.entries[1])
    assert (now.frames, now.total, now.last_return, now.share) == (1000, 4000, 12.25, 0.25)
    fresh = running(schedule.entries[3])
    assert (fresh.frames, fresh.last_return) == (0, None)


def test_lines_where_there_is_no_terminal(schedule):
    file = io.StringIO()
    lines = watcher_for("regret (laptop)", file)
    assert isinstance(lines, Lines)
    lines.open(schedule, 2)
    lines.look()
    seconds = 4000 / RECORDED["laptop", "sac", "craft"]
    left = f"{seconds:.0f} s"  # the longest run that is left, or half of all that is
    assert file.getvalue() == (f"regret (laptop): 1 of 4 runs done, 1 failed, about {left} left\n")
    for entry, state in ((schedule.entries[1], "done"), (schedule.entries[3], "failed")):
        entry.state = state
    schedule.entries[3].reason = "no luck"
    lines.look()
    lines.look()
    said = file.getvalue().splitlines()[1:]
    assert said == ["done    craft, seed 1", "failed  craft, seed 3: no luck"]
    lines._last -= LINE_EVERY
    lines.look()
    assert file.getvalue().splitlines()[-1] == "regret (laptop): 2 of 4 runs done, 2 failed"


def test_a_live_table_on_a_terminal(schedule):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=90, color_system=None)
    table = LiveTable("regret (laptop)", console)
    table.open(schedule, 2)
    table.look()
    drawn = len(file.getvalue())
    table.look()  # too soon to draw again
    assert len(file.getvalue()) == drawn
    table.close()
    said = file.getvalue()
    assert "regret (laptop): 1 of 4 runs done, 1 failed, about" in said
    assert "craft, seed 1" in said
    assert "1,000 (25%)" in said
    assert "12.2" in said
    assert "craft, seed 2: critic/loss is not finite" in said


def test_a_table_that_was_never_opened_closes():
    LiveTable("x", Console(file=io.StringIO())).close()


def finished(pool: Path, made, seconds):
    folder = place_of(made, pool).folder
    folder.mkdir(parents=True)
    from nearsym.runs.config import to_plain

    (folder / "config.json").write_text(json.dumps({"config": to_plain(made)}))
    summary = {"frames": made.training.frames, "seconds": seconds}
    (folder / "summary.json").write_text(json.dumps(summary))


def test_rates_are_measured_on_finished_runs(tmp_path):
    finished(tmp_path, config(seed=0), 40)
    finished(tmp_path, config(seed=1), 80)
    rates = measured_rates(tmp_path)
    assert rates.rate(config(seed=5, variant="tilt=3")) == (pytest.approx(4000 / 60), True)
    none = rates.rate(config("none"))
    assert none == (pytest.approx(4000 / 60 / OF_MODELS["sac"]["none"]), True)
    assert not rates.rate(config(preset="smoke")).measured


def test_damaged_runs_tell_nothing(tmp_path):
    finished(tmp_path, config(seed=0), 40)
    for folder in tmp_path.iterdir():
        (folder / "config.json").write_text("{")
    assert not measured_rates(tmp_path).measured


def test_recorded_rates_for_every_preset_and_model():
    for preset in ("smoke", "laptop", "paper"):
        rates = [Rates({}).rate(config(model, preset)) for model in ("none", "approx", "rpp")]
        assert [rate.measured for rate in rates] == [False] * 3
        fast, usual, slow = (rate.frames_per_second for rate in rates)
        assert fast > usual > slow > 0
    kind = kind_of(
        {"preset": "own", "agent": "x", "task": {"kind": "y"}, "device": "cpu"}
        | {"network": {"model": "none"}}
    )
    assert kind == ("own", "x", "y", "None", "cpu", "none")
