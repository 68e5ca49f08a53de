"""Which run is begun when, and how often: with an executor and a clock that are made up here."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.runs.configure import configure
from nearsym.runs.train import never
from nearsym.studies import schedule as scheduling
from nearsym.studies.job import Ended, Job
from nearsym.studies.pool import Place
from nearsym.studies.schedule import NO_LIFE, Entry, Schedule
from nearsym.studies.study import Evaluation

CONFIG = configure("craft", preset="smoke", threads=1)


def entries(*names, pool=Path("nowhere")):
    """One entry for each name; `a@900` and `a@600` are one run at two lengths."""
    found = []
    for name in names:
        run, _, frames = name.partition("@")
        place = Place(pool, run, int(frames or 600))
        found.append(Entry(Job(name, CONFIG, Evaluation(), place)))
    return found


@dataclass
class Pretended:
    """Ends runs as it was told to, one at each look; then well."""

    endings: dict[str, list[Ended]] = field(default_factory=dict)
    room: int = 2
    order: list[str] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)
    stopped: bool = False
    now: float = 0.0

    def size(self):
        return self.room

    def free(self):
        return self.room - len(self.running)

    def start(self, job):
        assert self.free() > 0
        assert job.place.name not in [other.place.name for other in self.running]
        self.order.append(job.name)
        self.running.append(job)

    def wait(self, seconds):
        self.now += 1.0
        if not self.running:
            return []
        job = self.running.pop(0)
        if self.stopped:
            return [(job, Ended("stopped"))]
        waiting = self.endings.get(job.name, [])
        return [(job, waiting.pop(0) if waiting else Ended("done"))]

    def ask_to_stop(self):
        self.stopped = True


def run(found, executor, stop_requested=never, **more):
    schedule = Schedule(found, clock=lambda: executor.now, **more)
    schedule.run(executor, stop_requested)
    return schedule


def test_in_order_and_once():
    executor = Pretended()
    schedule = run(entries(*"abcde"), executor)
    assert executor.order == [*"abcde"]
    assert schedule.count("done") == 5


def test_what_is_done_is_not_started():
    executor, found = Pretended(), entries(*"abc")
    found[1].state = "done"
    run(found, executor)
    assert executor.order == ["a", "c"]


def test_a_run_that_dies_is_begun_again_up_to_a_limit():
    died = [Ended("died", "killed")] * 4
    executor = Pretended({"a": died[:3], "b": died})
    schedule = run(entries(*"ab"), executor)
    assert [entry.state for entry in schedule.entries] == ["done", "failed"]
    assert executor.order.count("a") == executor.order.count("b") == 4
    assert "It died 4 times in a row without a new checkpoint, at last: killed." in (
        schedule.entries[1].reason
    )


def test_deaths_with_progress_between_them_do_not_count(monkeypatch):
    frames = iter(range(100))
    monkeypatch.setattr(scheduling, "saved_frames", lambda folder: next(frames))
    executor = Pretended({"a": [Ended("died", "killed")] * 20})
    assert run(entries("a"), executor).count("done") == 1
    assert executor.order == ["a"] * 21


@pytest.mark.parametrize("kind", ["failed", "disk"])
def test_a_run_that_fails_is_not_repeated_and_the_others_go_on(kind):
    executor = Pretended({"a": [Ended(kind, "no")]})
    schedule = run(entries(*"abc"), executor)
    assert [entry.state for entry in schedule.entries] == ["failed", "done", "done"]
    assert schedule.entries[0].reason == "no"
    assert not schedule.halted


def test_a_disk_that_refuses_everything_ends_the_study():
    full = Ended("disk", "The disk is full.")
    executor = Pretended({name: [full] for name in "abcdefgh"}, room=1)
    schedule = run(entries(*"abcdefgh"), executor)
    assert executor.order == [*"abc"]
    assert schedule.halted == "The disk is full."
    assert schedule.count("waiting") == 5


def test_a_run_that_somebody_else_works_on_waits_while_others_are_made():
    busy = [Ended("busy", "Taken.", str(n)) for n in range(3)]
    executor = Pretended({"a": busy}, room=1)
    schedule = run(entries(*"abcd"), executor)
    assert schedule.count("done") == 4
    assert executor.order[:2] == ["a", "b"]
    assert executor.order.count("a") == 4


def test_a_lock_without_life_is_not_waited_for_without_end():
    executor = Pretended({"a": [Ended("busy", "Taken.", "same")] * 10_000}, room=1)
    schedule = run(entries("a"), executor)
    assert schedule.entries[0].state == "failed"
    assert "It has shown no sign of life for 10 minutes: end it, or delete nowhere/locks/a" in (
        schedule.entries[0].reason
    )
    assert executor.now >= NO_LIFE


def test_a_lock_with_life_is_waited_for():
    executor = Pretended({"a": [Ended("busy", "Taken.", str(n)) for n in range(1000)]}, room=1)
    assert run(entries("a"), executor).count("done") == 1
    assert executor.now > NO_LIFE


def test_stopping_lets_runs_end_and_starts_none():
    executor = Pretended()
    schedule = run(entries(*"abcde"), executor, lambda: executor.now >= 1)
    assert executor.order == [*"ab"]
    assert schedule.count("done") == 1
    assert schedule.count("waiting") == 4
    assert not executor.running


def test_a_worker_that_was_told_to_end_by_somebody_else_is_followed():
    executor = Pretended({"a": [Ended("stopped", "Stopped and saved.")]})
    assert run(entries("a"), executor).count("done") == 1


ENDINGS = st.lists(
    st.sampled_from(["died", "busy", "stopped", "done", "failed"]).map(Ended), max_size=5
)
NAMES = st.lists(
    st.sampled_from(["a@600", "a@900", "b@600", "c@600", "c@700", "c@800"]), unique=True
)


@given(
    names=NAMES, endings=st.dictionaries(st.sampled_from("abc"), ENDINGS), room=st.integers(1, 4)
)
def test_every_run_ends_and_no_folder_has_two_writers(names, endings, room):
    """The executor asserts the latter."""
    names = sorted(names)
    executor = Pretended({n: [*endings.get(n[0], [])] for n in names}, room=room)
    schedule = run(entries(*names), executor)
    assert {entry.state for entry in schedule.entries} <= {"done", "failed"}
    firsts = [executor.order.index(name) for name in names]
    for run_name in "abc":  # shorter ones first
        own = [first for first, n in zip(firsts, names, strict=True) if n[0] == run_name]
        assert own == sorted(own)


def test_looks_are_taken_while_it_runs():
    seen = []
    executor, found = Pretended(), entries(*"ab")
    schedule = Schedule(found, clock=lambda: executor.now)
    schedule.run(executor, never, [lambda: seen.append(schedule.count("done"))])
    assert seen == [1, 2]
    assert replace(found[0]).lock == Path("nowhere/locks/a")
