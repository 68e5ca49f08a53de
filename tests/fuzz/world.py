"""Where cases live: runs and a study to work on, things that nobody may touch, and what keeps a
command from taking long or leaving the machine."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from fuzz.oracle import Failure, fingerprint
from nearsym.errors import UsageError
from nearsym.runs.configure import configure
from nearsym.runs.start import start_run
from nearsym.studies.execute import run_study
from nearsym.studies.files import read_study
from nearsym.studies.job import work
from nearsym.training.loop import Interrupted

STEPS = 30  # after which training is asked to stop
TRAINING = {"frames": 200, "seed_frames": 60, "eval_every": 120, "checkpoint_every": 40}
RUNS = {
    "finished": ({}, 10**9),
    "stopped": ({}, 270),
    "on disk": ({"replay": "disk"}, 270),
}
"""What is special in the settings of a run, and after how many steps it is stopped."""
STUDY = """
name = "mine"
seeds = 1
evaluation = { episodes = 1 }

[grid]
task = "craft"
model = ["none", "approx"]
frames = 120
training = { eval_every = 60, checkpoint_every = 40, seed_frames = 60 }
network = { hidden = 8 }
"""


class StopAt:
    """A request to stop that comes after so many questions."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self):
        self.left -= 1
        return self.left < 0


class OneAtATime:
    """Makes the runs of a study here and now, in place of processes that take seconds to start."""

    def __init__(self, count, log, steps=STEPS):
        self.ended, self.steps = [], steps

    def size(self):
        return 1

    def free(self):
        return 1 - len(self.ended)

    def start(self, job):
        self.ended.append((job, work(job, StopAt(self.steps))))

    def wait(self, seconds):
        ended, self.ended = self.ended, []
        return ended

    def ask_to_stop(self):
        pass

    def close(self):
        pass


def make_runs(place):
    """Three small runs: finished, stopped on its way, stopped with its replay on disk."""
    for name, (more, steps) in RUNS.items():
        config = configure(
            "craft", preset="smoke", training=TRAINING | more, network={"hidden": 8}, threads=1
        )
        try:
            start_run(config, place / name, stop_requested=StopAt(steps))
        except Interrupted:
            assert name != "finished"


def make_study(place):
    """A study of two runs, the last of which is not finished."""
    (place / "mine.toml").write_text(STUDY)
    study = read_study(place / "mine.toml", scale="smoke")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nearsym.studies.execute.LocalWorkers", partial(OneAtATime, steps=10**9))
        run_study(study, out=place / "out", workers=1)
    *_, last = sorted(place.glob("out/pool/craft*"))
    for path in (*last.glob("result-*"), last / "summary.json"):
        path.unlink()


class Signals:
    """In place of real signals."""

    def __enter__(self):
        return StopAt(STEPS)

    def __exit__(self, *_):
        return False


def no_network(*_, **__):
    raise UsageError("There is no network in these tests.")


class World:
    """The places of cases."""

    def __init__(self, made: Path, place: Path, monkeypatch, capsys):
        self.made, self.place = made, place
        self.monkeypatch, self.capsys = monkeypatch, capsys
        self.number = 0

    def new(self, name: str) -> tuple[Path, Path, Path]:
        """A run or a study to work on, a place that nobody may touch, one for what is written."""
        self.number += 1
        here = self.place / str(self.number)
        shutil.copytree(self.made / name, here / "mine")
        witness, out = here / "witness", here / "out"
        shutil.copytree(self.made / "finished", witness / "other")
        (witness / "file").write_text("precious")
        out.mkdir()
        self.monkeypatch.chdir(out)
        return here / "mine", witness, out

    def forget(self, mine: Path) -> None:
        """Cases are many, and disks are not endless."""
        self.monkeypatch.chdir(self.place)
        shutil.rmtree(mine.parent)


def assert_untouched(witness: Path, before: dict[str, str]) -> None:
    """Nothing was changed, removed or added there."""
    if fingerprint(witness) != before:
        raise Failure("something outside was touched")
