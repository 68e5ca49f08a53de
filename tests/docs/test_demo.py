"""The demo: what it prints and draws, what it deletes, how it ends, what it is to show."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo"
TINY = ("--frames", "700", "--seeds", "1", "--workers", "1")


def demo(out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), "--out", str(out), *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.longer
def test_it_audits_trains_tells_and_draws(tmp_path):
    finished = demo(tmp_path / "demo", *TINY)
    assert finished.returncode == 0, finished.stderr
    assert "rotations hold exactly, mirrors are off by" in finished.stdout
    rows = [line.split() for line in finished.stdout.splitlines()]
    (first,) = (i for i, row in enumerate(rows) if row[:1] == ["model"])
    assert [row[0] for row in rows[first + 1 : first + 4]] == ["none", "exact", "approx"]
    assert all(len(row) == 4 for row in rows[first + 1 : first + 4])
    assert (tmp_path / "demo" / "demo.png").stat().st_size > 10_000
    scores = json.loads((tmp_path / "demo" / "demo.json").read_text())["scores"]
    assert {len(score["last"]) for score in scores.values()} == {1}


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--frames", "500"), "a whole number from 600 on, got '500'"),
        (("--seeds", "0"), "a whole number from 1 on, got '0'"),
        (("--workers", "two"), "a whole number from 1 on, got 'two'"),
    ],
)
def test_it_refuses_in_one_line(tmp_path, monkeypatch, capsys, flags, text):
    monkeypatch.setattr("sys.argv", ["demo", "--out", str(tmp_path / "demo"), *flags])
    monkeypatch.syspath_prepend(DEMO)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(DEMO / "__main__.py"), run_name="__main__")
    assert ended.value.code == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "demo").exists()


def test_it_deletes_only_its_own_runs(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(DEMO)
    for name in ("none-seed0", "approx-seed12", "mine-seed0", "exact-seed-notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
    (tmp_path / "none-seed1").mkdir()
    (tmp_path / "demo.png").touch()
    clear = runpy.run_path(str(DEMO / "training.py"))["clear"]
    assert clear(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"mine-seed0", "exact-seed-notes", "none-seed1"}
    assert not clear(tmp_path)


def test_labels_do_not_cover_each_other(monkeypatch):
    monkeypatch.syspath_prepend(DEMO)
    apart = runpy.run_path(str(DEMO / "picture.py"))["apart"]
    placed = apart({"none": 10.0, "exact": 3.0, "approx": 10.5}, 2.0)
    assert placed == {"exact": 3.0, "none": 10.0, "approx": 12.0}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_it(tmp_path, number):
    command = [sys.executable, str(DEMO), "--out", str(tmp_path), "--workers", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(tmp_path.glob("*/metrics.jsonl")):
        assert process.poll() is None
        time.sleep(0.2)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: the children get it too
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=60)  # the pipes close when the last child has ended
    assert "Traceback" not in err
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "no process is left running" in out


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_approx_ends_above_exact_and_learns_sooner_than_none(tmp_path):
    finished = demo(tmp_path, "--seeds", "10")
    assert finished.returncode == 0, finished.stderr
    scores = json.loads((tmp_path / "demo.json").read_text())["scores"]
    above = np.array(scores["approx"]["last"]) > np.array(scores["exact"]["last"])
    assert above.sum() >= 9
    assert np.mean(scores["approx"]["area"]) > np.mean(scores["none"]["area"])
