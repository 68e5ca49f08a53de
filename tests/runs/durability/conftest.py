"""Runs in processes of their own: made, stopped in every way, resumed, compared."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nearsym.runs.config import to_plain
from nearsym.runs.presets import preset_config
from nearsym.tasks.registry import find_task
from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.log import read_metrics

KINDS = {
    "pixels, drqv2, memory": ("ball_in_cup-catch", "pixels", "drqv2", "memory"),
    "pixels, drqv2, disk": ("cartpole-swingup", "pixels", "drqv2", "disk"),
    "state, sac, memory": ("reacher-hard", "state", "sac", "memory"),
    "state, sac, disk": ("cartpole-swingup", "state", "sac", "disk"),
    "state, drqv2, disk": ("acrobot-swingup", "state", "drqv2", "disk"),
    "craft, drqv2, disk": ("craft", "pixels", "drqv2", "disk"),
    "robot, sac, memory": ("inverted_double_pendulum", None, "sac", "memory"),
    "trading, sac, memory": ("trading", None, "sac", "memory"),
}
MODELS = {"craft, drqv2, disk": "rpp", "robot, sac, memory": "exact"}
"""All others are approximate, which has the most to keep."""


def config_of(kind: str) -> dict[str, Any]:
    """180 steps, twice the replay and, but for trading, more than an episode, with a checkpoint
    every 12."""
    task, obs, agent, replay = KINDS[kind]
    options = {} if obs is None else {"obs": obs}
    options |= {"noise": 0.02} if obs == "pixels" else {}
    model = MODELS.get(kind, "approx")
    config = preset_config("smoke", find_task(task, **options), agent, model)
    repeat = config.task.frames_per_step
    training = replace(
        config.training,
        frames=180 * repeat,
        seed_frames=20 * repeat,
        update_every=3,
        eval_every=90 * repeat,
        checkpoint_every=12 * repeat,
        replay_capacity=90,
        replay=replay,
    )
    return to_plain(replace(config, training=training))


@dataclass(frozen=True)
class Left:
    """What a stage left: exit code (−9: killed), both streams, calls of functions in the loop."""

    code: int
    out: str
    err: str
    calls: int | None

    def last_line(self) -> str:
        return self.err.strip().splitlines()[-1]


class Runs:
    """A place for runs of one kind."""

    def __init__(self, place: Path, kind: str):
        self.place = place
        self.config = config_of(kind)
        task, obs, *_ = KINDS[kind]
        self.without_display = [] if kind.startswith("pixels") else [task, *([obs] if obs else [])]

    def folder(self, name: str) -> Path:
        return self.place / name

    def start(self, name: str = "run", **stage: Any) -> dict[str, Any]:
        """The stage of a driver that starts a run."""
        return self.resume(name, **stage) | {"config": self.config}

    def resume(self, name: str = "run", **stage: Any) -> dict[str, Any]:
        """The stage of a driver that goes on with one."""
        folder = str(self.folder(name))
        return {"folder": folder, "run": folder} | stage

    def start_by_command(self, name: str = "run", **stage: Any) -> dict[str, Any]:
        """The stage of a driver that has the command start a run."""
        settings = self.place / "settings.json"
        settings.write_text(json.dumps(self.config))
        words = ["train", "--config", str(settings), "--out", str(self.folder(name))]
        return self.resume(name, **stage) | {"command": words}

    def resume_by_command(self, name: str = "run", **stage: Any) -> dict[str, Any]:
        """The stage of a driver that has the command go on with one."""
        words = ["train", "--resume", str(self.folder(name))]
        return self.resume(name, **stage) | {"command": words}

    def command(self, *stages: dict[str, Any]) -> list[str]:
        """What makes a driver work through some stages."""
        driver = Path(__file__).with_name("driver.py")
        return [sys.executable, str(driver), json.dumps(stages), *self.without_display]

    def drive(self, *stages: dict[str, Any]) -> list[Left]:
        """Let the stages happen one after the other; none may end in a traceback."""
        done = subprocess.run(
            self.command(*stages),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        found = [Left(**left) for left in json.loads(done.stdout)]
        for left in found:
            assert "Traceback" not in left.err, left.err
        return found

    def outcome(self, name: str = "run") -> "Outcome":
        return Outcome.of(self.folder(name))


@dataclass(frozen=True)
class Outcome:
    """All that must not depend on how often a run was stopped."""

    metrics: list[dict[str, Any]]
    state: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> "Outcome":
        rows = read_metrics(folder / "metrics.jsonl")
        metrics = [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]
        state, _ = CheckpointStore(folder / "checkpoints").load("last")
        del state["loop"]["seconds"], state["loop"]["processor_seconds"]
        del state["log"]  # a number of bytes, of times too
        return cls(metrics, state)

    def assert_equal(self, other: "Outcome") -> None:
        assert self.metrics == other.metrics
        assert_same(self.state, other.state)


def assert_same(a: Any, b: Any, where: str = "state") -> None:
    """Bit for bit: weights, optimisers, random states, environment, position in the loop."""
    assert type(a) is type(b), where
    if isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        assert a.numpy().tobytes() == b.numpy().tobytes(), where
    elif isinstance(a, np.ndarray):
        assert a.tobytes() == b.tobytes(), where
    else:
        assert a == b or (a != a and b != b), where


@pytest.fixture(scope="session")
def _places():
    """Folders that other users may enter, unlike pytest's own: a test works as one of them."""
    place = Path(tempfile.mkdtemp(prefix="nearsym-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="session")
def whole(_places):
    """`whole(kind)`: the outcome of a run that was never stopped, and the calls it made."""
    known: dict[str, tuple[Outcome, int]] = {}

    def look_up(kind: str) -> tuple[Outcome, int]:
        if kind not in known:
            runs = Runs(_places, kind)
            (left,) = runs.drive(runs.start(kind))
            assert left.code == 0, left.err
            assert left.calls is not None
            known[kind] = runs.outcome(kind), left.calls
        return known[kind]

    return look_up


@pytest.fixture
def runs(_places):
    """`runs(kind)`: a new, empty place for runs of a kind."""

    def make(kind: str) -> Runs:
        place = Path(tempfile.mkdtemp(dir=_places))
        place.chmod(0o755)
        return Runs(place, kind)

    return make
