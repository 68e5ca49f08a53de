"""A small run that the checkpoint tests save, damage, kill and resume."""

from pathlib import Path

import numpy as np
import pytest
import torch

from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.replay import Replay

SPEC = {"obs_shape": (3,), "obs_dtype": np.float32, "action_size": 1}


@pytest.fixture(params=[False, True], ids=["memory", "mapped"])
def mapped(request):
    """Where the replay lives."""
    return request.param


class Run:
    """A replay that wraps, a store, and steps whose content follows from their number.

    One frame per step, so that the frame count is the number of steps.
    """

    def __init__(self, folder: Path, mapped: bool):
        folder.mkdir(exist_ok=True)
        self.folder = folder / "checkpoints"
        self.folder.mkdir(exist_ok=True)
        self.replay = Replay(
            capacity=40,
            folder=self.folder / "replay" if mapped else None,
            segment_bytes=100,
            **SPEC,
        )
        self.store = CheckpointStore(self.folder, replay=self.replay)
        self.frames = 0

    def train(self, until: int) -> None:
        while self.frames < until:
            rng = np.random.default_rng(self.frames)
            if self.frames % 9 == 0:
                self.replay.start(rng.normal(size=3).astype(np.float32))
            self.replay.add(rng.uniform(size=1), 1.0, 1.0, rng.normal(size=3).astype(np.float32))
            self.frames += 1

    def save(self, best: bool = False) -> None:
        self.store.save(self.state_at(self.frames), self.frames, best=best)

    def train_and_save(self, *frames: int, best: int | None = None) -> "Run":
        for until in frames:
            self.train(until)
            self.save(best=until == best)
        return self

    def resume(self) -> int:
        """Load the newest state that can be loaded, see that it is exact, and say which it was."""
        state, self.frames = self.store.load_latest()
        self.assert_state(state, self.frames)
        return self.frames

    def sample(self) -> list[bytes]:
        batch = self.replay.sample(200, np.random.default_rng(0))
        return [tensor.numpy().tobytes() for tensor in batch]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*.ckpt*"))

    @classmethod
    def unbroken(cls, folder: Path, frames: int) -> list[bytes]:
        """What a run that never stopped samples."""
        run = cls(folder, mapped=False)
        run.train(frames)
        return run.sample()

    @staticmethod
    def state_at(frames: int) -> dict:
        rng = np.random.default_rng(frames)
        return {
            "weights": {"layer.weight": torch.from_numpy(rng.normal(size=(4, 3)))},
            "env": {"qpos": rng.normal(size=5), "label": "é", "count": np.int64(frames)},
            "list": [1, 2.5, None, True, (3, "x"), b"raw"],
        }

    @classmethod
    def assert_state(cls, got: dict, frames: int) -> None:
        want = cls.state_at(frames)
        assert torch.equal(got["weights"]["layer.weight"], want["weights"]["layer.weight"])
        assert np.array_equal(got["env"]["qpos"], want["env"]["qpos"])
        assert (got["env"]["label"], got["env"]["count"]) == ("é", frames)
        assert got["list"] == want["list"]


@pytest.fixture
def small_run():
    """The class of the small run: `small_run(folder, mapped)`."""
    return Run
