"""The work of one run: trained, played, kept; and what there is of it in the pool."""

import json
import shutil

import pytest

from nearsym.runs.run import Run
from nearsym.runs.train import never
from nearsym.studies.execute import jobs_of
from nearsym.studies.hold import Hold
from nearsym.studies.job import Ended, work
from nearsym.studies.plan import plan
from nearsym.studies.pool import last_row, place_of, saved_frames
from nearsym.studies.results import read_results
from nearsym.studies.study import Evaluation


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """The pool after one run of approx, made in this process."""
    return tmp_path_factory.mktemp("once")


@pytest.fixture
def jobs(study, tmp_path):
    """`jobs(model="approx", …)`: the work of a study whose pool lies in an empty folder."""

    def make(out=tmp_path, **axes):
        wanted = study(**axes)
        return jobs_of(wanted, plan(wanted), out)

    return make


@pytest.fixture
def job(jobs, once):
    """A run of approx that is done; the first test that asks for it makes it."""
    (made,) = jobs(once, model="approx", seed=0)
    assert work(made, never) == Ended("done")
    return made


def result(job):
    (found,) = read_results(job.place.result_file(job.evaluation))
    return found


def test_what_is_kept_is_what_the_run_s_files_say(job):
    run, found = Run(job.place.folder), result(job)
    assert found.frames == run.curve().frames.tolist() == [300, 600]
    assert found.returns == run.curve().returns.tolist()
    weights = {layer: w.tolist() for layer, w in run.relaxed_weights().items()}
    assert found.relaxed == weights
    assert weights
    assert found.evaluations == {"clean": run.evaluate(episodes=2)["returns"]}
    assert found.parameters == run.summary["parameters"]
    assert found.seconds == run.summary["processor_seconds"]
    assert (found.task, found.variant, found.obs, found.model) == ("craft", None, "state", "approx")
    assert found.settings == {"training.eval_every": 300, "training.checkpoint_every": 150}
    assert found.elements[:2] == ["e", "rot90"]
    assert found.versions["torch"]
    assert job.place.name.endswith(found.key)


def test_what_is_done_is_not_done_again(job):
    path = job.place.result_file(job.evaluation)
    before = {p: p.stat().st_mtime_ns for p in path.parent.rglob("*")}
    assert work(job, never) == Ended("done")
    assert {p: p.stat().st_mtime_ns for p in path.parent.rglob("*")} == before


def test_another_evaluation_of_a_trained_run_only_plays(job, jobs, once):
    (other,) = jobs(once, model="approx", seed=0, evaluation=Evaluation(episodes=1))
    log = (job.place.folder / "metrics.jsonl").read_bytes()
    assert other.place.state(other.evaluation) == "trained"
    assert work(other, never) == Ended("done")
    assert (job.place.folder / "metrics.jsonl").read_bytes() == log
    assert result(other).evaluations["clean"] == result(job).evaluations["clean"][:1]


@pytest.mark.longer
def test_a_run_grows_and_what_was_kept_of_it_stays(jobs, tmp_path):
    axes = {"model": "none", "seed": 0, "training__checkpoint_every": 600}
    short, long = jobs(**axes, frames=[600, 900])
    assert work(short, never) == Ended("done")
    assert [one.place.state(one.evaluation) for one in (short, long)] == ["done", "begun"]
    before = result(short)
    assert work(long, never) == Ended("done")
    assert result(short) == before
    assert result(long).frames == [300, 600, 900]
    assert result(long).returns[:2] == before.returns
    assert short.place.folder.name == f"{long.place.folder.name}-600"  # if it were made now
    short.place.result_file(short.evaluation).unlink()
    assert short.place.state(short.evaluation) == "new"
    assert work(short, never) == Ended("done")
    assert result(short).returns == before.returns
    assert result(short).evaluations == before.evaluations
    (whole,) = jobs(tmp_path / "whole", **axes, frames=900)
    assert work(whole, never) == Ended("done")
    assert result(whole).returns == result(long).returns


def test_a_run_stops_on_request_and_goes_on(jobs, job):
    (again,) = jobs(model="approx", seed=0)
    asked = []

    def stop():
        asked.append(True)
        return len(asked) > 450

    ended = work(again, stop)
    assert ended.kind == "stopped"
    assert "Stopped and saved at frame 3" in ended.text  # it asks in evaluations too
    assert again.place.state(again.evaluation) == "begun"
    assert saved_frames(again.place.folder) > again.place.stands_at() == 300
    assert work(again, never) == Ended("done")
    assert result(again).returns == result(job).returns
    assert result(again).evaluations == result(job).evaluations


def test_an_environment_of_ones_own_goes_on_too(jobs):
    (own,) = jobs(task="Pendulum-v1", model="none", seed=0)
    asked = []
    assert work(own, lambda: asked.append(True) or len(asked) > 100).kind == "stopped"
    assert work(own, never) == Ended("done")
    assert len(result(own).evaluations["clean"]) == 2


def test_it_stops_between_episodes_too(jobs, job, tmp_path):
    shutil.copytree(job.place.pool, tmp_path / "pool")
    (other,) = jobs(model="approx", seed=0, evaluation=Evaluation(episodes=3))
    assert work(other, lambda: True).kind == "stopped"
    assert other.place.result_file(other.evaluation) is None


def test_somebody_else_works_on_it(jobs):
    (taken,) = jobs(model="approx", seed=0)
    with Hold(taken.place.lock_folder):
        ended = work(taken, never)
    assert (ended.kind, "Another process" in ended.text) == ("busy", True)
    assert not taken.place.folder.exists()


def test_a_run_that_is_trained_by_hand_is_waited_for(jobs, tmp_path, monkeypatch):
    from nearsym.training.runlock import RunLock

    (taken,) = jobs(model="approx", seed=0)
    taken.place.folder.mkdir(parents=True)
    with RunLock(taken.place.folder):
        assert work(taken, never).kind == "busy"


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (MemoryError(), "died", "out of memory"),
        (ZeroDivisionError("what?"), "failed", "ZeroDivisionError: what?"),
    ],
)
def test_whatever_happens_is_told(jobs, monkeypatch, capsys, error, kind, text):
    monkeypatch.setattr("nearsym.studies.job.start_run", raising(error))
    (made,) = jobs(model="approx", seed=0)
    assert work(made, never) == Ended(kind, text)
    assert ("Traceback" in capsys.readouterr().err) == (kind == "failed")


def test_damaged_folders_are_named(job, jobs, tmp_path):
    shutil.copytree(job.place.pool, tmp_path / "pool")
    (broken,) = jobs(model="approx", seed=0)
    broken.place.result_file(broken.evaluation).unlink()
    (broken.place.folder / "config.json").write_text("{")
    ended = work(broken, never)
    assert ended.kind == "failed"
    assert "config.json is damaged" in ended.text


def test_places_by_what_decides_the_numbers(study, tmp_path):
    runs = plan(study(model=["none", "exact"], frames=[600, 900], training__batch_size=[8, 9]))
    runs += plan(study(training__checkpoint_every=400, training__batch_size=8))
    places = [place_of(run.config, tmp_path) for run in runs]
    assert len({place.name for place in places}) == 2 * 2 * 2
    assert all(run.key in place.name for run, place in zip(runs, places, strict=True))
    assert places[0].name.startswith("craft-state-none-smoke-seed0-")


def test_the_last_row_of_a_log(tmp_path, monkeypatch):
    monkeypatch.setattr("nearsym.studies.pool.TAIL", 64)
    assert last_row(tmp_path) is None
    rows = [{"frames": n} | ({"eval/x": n} if n == 3 else {}) for n in range(5)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "metrics.jsonl").write_text(text + '{"frames": 5')
    assert last_row(tmp_path) == {"frames": 4}
    assert last_row(tmp_path, "eval/x") == {"frames": 3, "eval/x": 3}
    assert last_row(tmp_path, "eval/y") is None
