"""Whole studies in processes of this machine: from nothing to results, whatever is killed."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nearsym.audits.pendulum import MirrorPendulum
from nearsym.errors import UsageError
from nearsym.runs.build import resolve_precision
from nearsym.runs.config import PRECISIONS
from nearsym.runs.folder import ChangedWarning
from nearsym.studies import execute
from nearsym.studies.execute import run_study
from nearsym.studies.kept import about
from nearsym.studies.plan import plan
from nearsym.studies.pool import saved_frames
from nearsym.studies.preview import preview
from nearsym.studies.results import RunResult, read_results
from nearsym.studies.selection import by_arm, unique
from nearsym.studies.study import Evaluation, Grid, Study
from nearsym.training.loop import Interrupted
from nearsym.training.runlock import RunLock


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture
def whole(study, place):
    """The folder of a study that nothing has disturbed."""
    return run_study(study(), out=place, workers=1)


def trained(pool):
    """When each run of a pool was last trained."""
    return {p.parent.name: p.stat().st_mtime_ns for p in pool.glob("*/metrics.jsonl")}


def test_from_nothing_to_results(whole, study, place):
    assert (whole.total, len(whole.results), whole.failures) == (4, 4, {})
    assert whole.folder == place / "mine-smoke"
    assert read_results(whole.folder / "results.jsonl") == sorted(
        whole.results, key=lambda run: (run.model, run.seed)
    )
    about = json.loads((whole.folder / "study.json").read_text())
    assert about["study"] == "mine"
    assert about["evaluation"] == {"episodes": 2, "noise": None}
    assert [run["key"] for run in about["runs"]] == [run.key for run in whole.results]
    assert whole.core_hours == pytest.approx(sum(r.seconds for r in whole.results) / 3600)
    assert not list((place / "pool").glob("**/*.part"))
    versions = whole.results[0].versions  # times are compared where these are equal
    assert versions["processor"]
    assert (versions["precision"], versions["device"]) == (resolve_precision("auto", "cpu"), "cpu")


def test_results_of_other_code_are_kept_and_said_to_be(tmp_path):
    grid = Grid({"task": MirrorPendulum, "preset": "smoke"})
    grid = grid.with_axis("network.hidden", 8).with_axis("frames", 700)
    pendulum = Study(name="own", scale="smoke", grids=(grid,))
    (first,) = run_study(pendulum, out=tmp_path, workers=1).results
    (path,) = (tmp_path / "pool").glob("*/result-*.jsonl")
    path.write_text(path.read_text().replace(first.versions["environment"], "0" * 16))
    with pytest.warns(ChangedWarning, match=r"MirrorPendulum has changed since runs of this"):
        (again,) = run_study(pendulum, out=tmp_path, workers=1).results
    assert again.returns == first.returns


def test_what_is_finished_is_never_repeated(whole, study, place):
    before, started = trained(place / "pool"), time.monotonic()
    again = run_study(study(), out=place)
    assert time.monotonic() - started < 10
    assert again.results == whole.results
    assert trained(place / "pool") == before
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("times", [0, 2])
def test_a_file_that_should_hold_one_result(whole, study, place, times):
    path = min((place / "pool").glob("*/result-*"))
    text = path.read_text()
    path.write_text(times * text)
    again = run_study(study(), out=place)
    path.write_text(text)
    (reason,) = again.failures.values()
    assert f"should hold one result and holds {times}. Delete it" in reason
    assert len(again.results) == 3


def test_studies_share_runs(whole, study, place):
    before = trained(place / "pool")
    other = study(name="other", model="exact", evaluation=Evaluation())
    found = run_study(other, out=place, cluster="nowhere")  # nothing is left to be made
    assert [run.evaluations for run in found.results] == [{}, {}]
    assert {run.key for run in found.results} <= {run.key for run in whole.results}
    assert trained(place / "pool") == before


def test_known_results_are_taken_as_they_are(whole, study, tmp_path):
    marked = [replace(run, seconds=1e6) for run in whole.results]
    found = run_study(study(), out=tmp_path, known=marked, cluster="nowhere")  # nothing to make
    assert found.results == marked
    written = read_results(found.folder / "results.jsonl")
    assert written == sorted(marked, key=lambda run: (run.model, run.seed))
    assert [run.state for run in preview(study(), out=tmp_path, known=marked)] == ["done"] * 4


@pytest.mark.parametrize(
    ("of_study", "of_result"),
    [
        ({"frames": 900}, {}),  # longer than what is known
        ({"frames": 500}, {}),  # shorter: its best checkpoint may have been another
        ({"evaluation": Evaluation(episodes=3)}, {}),
        ({"network__hidden": 24}, {}),
        ({}, {"evaluations": {}}),
        ({}, {"frames": [], "returns": []}),
        ({}, {"key": "0" * 16}),
    ],
)
def test_results_of_something_else_are_not_taken(whole, study, tmp_path, of_study, of_result):
    known = [replace(run, **of_result) for run in whole.results]
    expected = preview(study(**of_study), out=tmp_path, known=known)
    assert [run.state for run in expected] == ["new"] * 4


def test_results_of_a_machine_that_computes_in_another_precision_are_taken(study, tmp_path):
    """Which one a run has is the processor's choice, unless a study names it."""
    made = [
        RunResult(**about(run.config), frames=[600], returns=[[1.0]], evaluations={"clean": [1, 1]})
        for run in plan(study(precision=other_than_here()))
    ]
    for named, state in (({}, "done"), ({"precision": resolve_precision("auto", "cpu")}, "new")):
        expected = preview(study(**named), out=tmp_path, known=made)
        assert [run.state for run in expected] == [state] * 4


def other_than_here():
    (other,) = set(PRECISIONS) - {resolve_precision("auto", "cpu")}
    return other


def test_runs_for_which_auto_differs_do_not_tell_it(study):
    """Markets are learned in float32, other tasks perhaps not: nobody compares that."""
    several = study(task=["craft", "trading"], model="none", preset="smoke")
    assert execute._compared(several) == ()
    assert execute._compared(study(precision=["fp32", "bf16"])) == ("precision",)


def test_a_study_of_precisions_tells_them_apart(study, tmp_path):
    compared = study(model="approx", precision=list(PRECISIONS), seed=0)
    found = run_study(compared, out=tmp_path, workers=1)
    assert {run.settings["precision"] for run in found.results} == set(PRECISIONS)
    assert set(by_arm(unique(found.results))) == {f"approx, precision {p}" for p in PRECISIONS}
    assert read_results(found.folder / "results.jsonl") == found.results
    again = run_study(compared, out=tmp_path / "other", known=found.results)
    assert again.results == found.results
    fp32 = study(model="approx", precision="fp32", seed=0)
    for known in ({}, {"known": found.results, "out": tmp_path / "third"}):
        (alone,) = run_study(fp32, **{"out": tmp_path} | known).results
        assert "precision" not in alone.settings
    assert unique([*found.results, alone]) == unique([alone, *found.results])
    assert len(unique([*found.results, alone])) == 2


def test_no_worker_outlives_a_study(whole):
    assert multiprocessing.active_children() == []


@pytest.mark.longer
def test_killed_workers_change_nothing(study, whole, tmp_path, numbers):
    """Each is killed once it has saved something, so that there is something to go on from."""
    killed = []

    def kill():
        while len(killed) < 2:
            time.sleep(0.05)
            begun = [*tmp_path.glob("pool/*/checkpoints/checkpoint-*")]
            children = multiprocessing.active_children()
            if len(begun) > len(killed) and children:
                os.kill(children[0].pid, signal.SIGKILL)
                killed.append(begun[0])
                time.sleep(2)

    thread = threading.Thread(target=kill)
    thread.start()
    found = run_study(study(), out=tmp_path, workers=1)
    thread.join()
    assert not found.failures
    assert numbers(found.folder / "results.jsonl") == numbers(whole.folder / "results.jsonl")
    assert all(count_of_frames(folder) for folder in tmp_path.glob("pool/craft*"))


def count_of_frames(folder):
    """Whether a log has each of its evaluations once."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    played = [row["frames"] for row in rows if "eval/returns" in row]
    return played == sorted(set(played)) == [300, 600]


@pytest.mark.longer
def test_a_vanished_folder_is_a_sentence_and_leaves_the_rest_intact(
    study, whole, tmp_path, numbers
):
    def vanish():
        while not (begun := [*tmp_path.glob("pool/*/checkpoints/checkpoint-*")]):
            time.sleep(0.01)
        shutil.rmtree(begun[0].parents[1], ignore_errors=True)

    thread = threading.Thread(target=vanish)
    thread.start()
    found = run_study(study(), out=tmp_path, workers=1)
    thread.join()
    assert list(found.failures) == ["craft, none, seed 0"]
    assert json.loads((found.folder / "study.json").read_text())["failures"] == found.failures
    assert "the folder is missing. Put it back" in found.failures["craft, none, seed 0"]
    assert len(read_results(found.folder / "results.jsonl")) == 3
    again = run_study(study(), out=tmp_path, workers=1)
    assert numbers(again.folder / "results.jsonl") == numbers(whole.folder / "results.jsonl")


def test_the_same_study_twice_at_the_same_time_is_refused(whole, study, place):
    with (
        RunLock(whole.folder),
        pytest.raises(UsageError, match=r"Another process .* is writing to .*mine-smoke"),
    ):
        run_study(study(), out=place)


def test_wrong_numbers_of_workers(study, tmp_path):
    with pytest.raises(UsageError, match="`workers` must be at least 1, got 0"):
        run_study(study(), out=tmp_path, workers=0)
    with pytest.raises(UsageError, match="`workers` must be at most 10,000, got 1000000"):
        run_study(study(), out=tmp_path, workers=10**6)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_for_a_study_that_is_refused(study, tmp_path):
    with pytest.raises(UsageError, match=r"The run \[craft, sit, seed 0\] cannot work"):
        run_study(study(model=["none", "sit"]), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_made(study, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="Choose another `out`"):
        run_study(study(), out=tmp_path / "file" / "out")


@pytest.mark.longer
def test_stopping_saves_what_runs(study, tmp_path):
    def asked():
        return bool(list(tmp_path.glob("pool/*/checkpoints/checkpoint-*")))

    with pytest.raises(Interrupted, match=r"Stopped: \d of 4 runs are done, the others are saved"):
        run_study(study(), out=tmp_path, workers=1, stop_requested=asked)
    assert multiprocessing.active_children() == []
    assert (tmp_path / "mine-smoke" / "results.jsonl").exists()
    assert saved_frames(next(tmp_path.glob("pool/craft*"))) >= 150


FILE = """
name = "mine"
seeds = 2
evaluation = { episodes = 2 }

[grid]
task = "craft"
model = ["none", "exact"]
frames = 600
training = { eval_every = 300, checkpoint_every = 150 }
"""


def driver(folder):
    """`nearsym study` in a process of its own, as the leader of a group."""
    (folder / "mine.toml").write_text(FILE)
    words = ["study", "mine.toml", "--scale", "smoke", "--workers", "1", "--out", "out", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "nearsym", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(folder, pattern, count, process):
    while len(list(folder.glob(pattern))) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.mark.longer
def test_the_driver_is_killed_and_interrupted(whole, tmp_path, numbers):
    checkpoints = "out/pool/*/checkpoints/checkpoint-*"
    killed = driver(tmp_path)
    wait_for(tmp_path, checkpoints, 1, killed)
    killed.kill()
    killed.communicate(timeout=60)  # the pipes close when the last worker has ended

    interrupted = driver(tmp_path)
    wait_for(tmp_path, checkpoints, 3, interrupted)
    os.killpg(interrupted.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    out, err = interrupted.communicate(timeout=60)
    assert (interrupted.returncode, out) == (1, "")
    assert "nearsym: Stopped: " in err
    assert "Traceback" not in err

    last = driver(tmp_path)
    out, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    found = json.loads(out)
    assert found["runs"] == {"total": 4, "done": 4, "failed": 0}
    assert numbers(Path(found["out"]) / "results.jsonl") == numbers(whole.folder / "results.jsonl")


ROBOT = """
import gymnasium
from nearsym.groups import Symmetry, dihedral

mirror = dihedral(1)


class Own(gymnasium.Wrapper):
    symmetry = Symmetry(
        observation=mirror.diagonal({"mirror_x": [1, -1, -1]}, "state"), action=mirror.sign()
    )

    def __init__(self):
        super().__init__(gymnasium.make("Pendulum-v1"))
"""


@pytest.mark.longer
def test_an_environment_of_ones_own(tmp_path):
    (tmp_path / "own_robot.py").write_text(ROBOT)
    axes = "task = 'own_robot:Own'\nmodel = 'exact'\nframes = 600\ntraining.eval_every = 300"
    (tmp_path / "own.toml").write_text(f"evaluation.episodes = 1\n[grid]\n{axes}\n")
    words = ["study", "own.toml", "--scale", "smoke", "--seeds", "1", "--workers", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "nearsym", *words, "--trust-task", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (run,) = read_results(tmp_path / "studies" / "own-smoke" / "results.jsonl")
    assert (run.task, run.elements) == ("own_robot:Own", ["e", "mirror_x"])
    assert len(run.frames) == 2
    assert len(run.evaluations["clean"]) == 1
