"""A replay brought back from a checkpoint is the replay that was saved, and its memory is flat."""

import errno
import os
import resource
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.training import atomic
from nearsym.training.atomic import DiskError
from nearsym.training.replay import Replay


def new_replay(folder: Path, mapped: bool, **change) -> Replay:
    settings = {
        "capacity": 48,
        "obs_shape": (6, 5, 9),
        "obs_dtype": np.uint8,
        "frame_stack": 3,
        "action_size": 2,
        "segment_bytes": 250,
    }
    return Replay(folder=folder if mapped else None, **(settings | change))


class Player:
    """Feeds episodes of random frames; a copy of it goes on exactly where it stood."""

    def __init__(self, lengths: list[int], size: tuple[int, int] = (6, 5)):
        self.lengths, self.size, self.step = lengths, size, 0
        self.episode, self.age, self.frames = 0, 0, []

    def copy(self) -> "Player":
        other = Player(self.lengths, self.size)
        other.__dict__ |= self.__dict__ | {"frames": list(self.frames)}
        return other

    def feed(self, replay: Replay, steps: int) -> None:
        for _ in range(steps):
            rng = np.random.default_rng(self.step)
            frame = rng.integers(0, 256, (*self.size, 3), np.uint8)
            self.frames = [*self.frames[1:], frame] if self.age else [frame] * 3
            obs = np.concatenate(self.frames, axis=-1)
            ends = self.age == self.lengths[self.episode % len(self.lengths)]
            if self.age == 0:
                replay.start(obs)
            else:
                discount = 0.0 if ends and self.episode % 2 else 1.0
                replay.add(rng.uniform(size=2), rng.normal(), discount, obs)
            self.age = 0 if ends else self.age + 1
            self.episode += ends
            self.step += 1


def drawn(replay: Replay, rng: np.random.Generator) -> list[bytes]:
    return [tensor.numpy().tobytes() for _ in range(3) for tensor in replay.sample(20, rng)]


@pytest.mark.parametrize("mapped", [False, True], ids=["memory", "mapped"])
@given(
    lengths=st.lists(st.integers(1, 25), min_size=1, max_size=5),
    before=st.integers(2, 150),
    lost=st.integers(0, 60),
    after=st.integers(0, 80),
)
def test_sample_sequences_are_identical(mapped, tmp_path_factory, lengths, before, lost, after):
    """Saved, run on without saving, killed, restored, run on: the draws of an unbroken run."""
    folder = tmp_path_factory.mktemp("replay")
    player, replay = Player(lengths), new_replay(folder, mapped)
    player.feed(replay, before)
    state, stood = replay.commit(folder), player.copy()
    replay.release(folder)
    player.feed(replay, lost)
    restored = new_replay(folder, mapped)
    restored.restore(state, folder)
    unbroken, again = new_replay(folder, mapped=False), Player(lengths)
    again.feed(unbroken, before)
    assert len(restored) == len(unbroken)
    assert drawn(restored, np.random.default_rng(1)) == drawn(unbroken, np.random.default_rng(1))
    stood.feed(restored, after)
    again.feed(unbroken, after)
    assert drawn(restored, np.random.default_rng(2)) == drawn(unbroken, np.random.default_rng(2))


def test_a_step_that_the_disk_refuses_leaves_no_trace(tmp_path, monkeypatch):
    player, replay = Player([7]), new_replay(tmp_path, mapped=True)
    player.feed(replay, 60)
    before = player.copy()

    def full(fd, data, offset):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write_at", full)
        with pytest.raises(DiskError, match="the disk is full"):
            player.feed(replay, 1)
    before.feed(replay, 10)
    unbroken = new_replay(tmp_path, mapped=False)
    Player([7]).feed(unbroken, 70)
    assert drawn(replay, np.random.default_rng(1)) == drawn(unbroken, np.random.default_rng(1))


def test_other_settings_are_refused(mapped, tmp_path):
    replay = new_replay(tmp_path, mapped)
    Player([9]).feed(replay, 20)
    state = replay.commit(tmp_path)
    with pytest.raises(UsageError, match="Resume with the settings of the run"):
        new_replay(tmp_path, mapped, nstep=1).restore(state, tmp_path)


def test_a_replay_in_memory_needs_a_folder_to_be_saved():
    with pytest.raises(UsageError, match="needs the folder that its segments are saved in"):
        new_replay(Path(), mapped=False).commit()


def test_memory_is_flat(mapped, tmp_path):
    """Once full, a replay takes no more however long it goes on, checkpoints included."""
    player = Player([100], size=(16, 16))
    replay = new_replay(tmp_path, mapped, capacity=500, obs_shape=(16, 16, 9), segment_bytes=2**16)

    def run_to(steps: int) -> int:
        while player.step < steps:
            player.feed(replay, 500)
            replay.commit(tmp_path)
            replay.release(tmp_path)
            replay.sample(32, np.random.default_rng(0))
        return _resident()

    filled, much_later = run_to(2000), run_to(8000)
    stored_since = 6000 * replay.layout.itemsize
    assert much_later - filled < stored_since / 4


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
