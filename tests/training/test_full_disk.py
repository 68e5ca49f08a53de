"""A disk that is full: a small tmpfs, or a budget of bytes where none can be mounted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BUDGET = 24_000_000

RUN = """
import errno, json, os, sys
from pathlib import Path
import numpy as np
from nearsym.training.atomic import DiskError
from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.replay import Replay

folder, mapped, budget = Path(sys.argv[1]), sys.argv[2] == "mapped", int(sys.argv[3])

def limited(call, size_of):
    def run(*args):
        global budget
        budget -= size_of(*args)
        if budget < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*args)
    return run

if budget:
    os.posix_fallocate = limited(os.posix_fallocate, lambda fd, start, size: size)
    os.pwrite = limited(os.pwrite, lambda fd, data, at: 0 if mapped else len(data))
(folder / "checkpoints").mkdir(exist_ok=True)

def new():
    replay = Replay(
        capacity=6400, obs_shape=(64, 64, 9), obs_dtype=np.uint8, frame_stack=3, action_size=1,
        folder=folder / "checkpoints" / "replay" if mapped else None,
    )
    return replay, CheckpointStore(folder / "checkpoints", replay=replay)

replay, store = new()
obs, saved, frames, message = np.zeros((64, 64, 9), np.uint8), 0, 0, ""
replay.start(obs)
try:
    for frames in range(1, 5000):
        replay.add(np.zeros(1), float(frames), 1.0, obs)
        if frames % 100 == 0:
            store.save({"frames": frames}, frames)
            saved = frames
except DiskError as error:
    message = str(error)
budget = 10**9  # somebody frees some space
replay, store = new()
state, loaded = store.load_latest()
print(json.dumps({"message": message, "saved": saved, "loaded": loaded, "length": len(replay)}))
"""


@pytest.fixture
def tmpfs(tmp_path):
    """A disk of 24 MB, and no budget; or any disk, and a budget that stands in for it."""
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(tmp_path)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:  # no mount command
        mounted = False
    yield tmp_path, 0 if mounted else BUDGET
    if mounted:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def assert_clear_end(folder: Path, mapped: bool, budget: int) -> None:
    """In a process of its own: a SIGBUS would be that one's end, and show in its exit code."""
    command = [
        sys.executable,
        "-c",
        RUN,
        str(folder),
        "mapped" if mapped else "memory",
        str(budget),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert "the disk is full. Free some space, then resume the run" in result["message"]
    assert "what it has saved is intact" in result["message"]
    assert result["saved"] > 0
    assert result["loaded"] == result["length"] == result["saved"]


def test_a_small_disk_ends_with_a_message_and_an_intact_checkpoint(tmpfs, mapped):
    folder, budget = tmpfs
    assert_clear_end(folder, mapped, budget)


def test_so_does_a_budget_of_bytes(tmp_path, mapped):
    assert_clear_end(tmp_path, mapped, BUDGET)
