"""Checkpoints: what was saved loads, whatever happens to the process, the disk or the files."""

import errno
import hashlib
import io
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.training import atomic
from nearsym.training.atomic import DiskError
from nearsym.training.checkpoint import FORMAT, CheckpointStore, CheckpointWarning
from nearsym.training.replay import Replay

MODES = pytest.mark.parametrize("mapped", [False, True], ids=["memory", "mapped"])
SPEC = {"obs_shape": (3,), "obs_dtype": np.float32, "action_size": 1}


def state_at(frames: int) -> dict:
    rng = np.random.default_rng(frames)
    return {
        "weights": {"layer.weight": torch.from_numpy(rng.normal(size=(4, 3)))},
        "env": {"qpos": rng.normal(size=5), "label": "é", "count": np.int64(frames)},
        "list": [1, 2.5, None, True, (3, "x"), b"raw"],
    }


def assert_state(got: dict, frames: int) -> None:
    want = state_at(frames)
    assert torch.equal(got["weights"]["layer.weight"], want["weights"]["layer.weight"])
    assert np.array_equal(got["env"]["qpos"], want["env"]["qpos"])
    assert (got["env"]["label"], got["env"]["count"]) == ("é", frames)
    assert got["list"] == want["list"]


class Run:
    """A small run: a replay that wraps, a store, and steps whose content follows from their number.

    One frame per step, so that the frame count is the number of steps.
    """

    def __init__(self, folder: Path, mapped: bool):
        replay_folder = folder / "checkpoints" / "replay"
        (folder / "checkpoints").mkdir(exist_ok=True)
        self.replay = Replay(
            capacity=20, folder=replay_folder if mapped else None, segment_bytes=64, **SPEC
        )
        self.store = CheckpointStore(folder / "checkpoints", replay=self.replay)
        self.frames = 0

    def train(self, until: int) -> None:
        while self.frames < until:
            rng = np.random.default_rng(self.frames)
            if self.frames % 9 == 0:
                self.replay.start(rng.normal(size=3).astype(np.float32))
            self.replay.add(rng.uniform(size=1), 1.0, 1.0, rng.normal(size=3).astype(np.float32))
            self.frames += 1

    def save(self, best: bool = False) -> None:
        self.store.save(state_at(self.frames), self.frames, best=best)

    def resume(self) -> int:
        state, self.frames = self.store.load_latest()
        assert_state(state, self.frames)
        return self.frames

    def sample(self) -> list[bytes]:
        batch = self.replay.sample(200, np.random.default_rng(0))
        return [tensor.numpy().tobytes() for tensor in batch]


def reference(folder: Path, frames: int) -> list[bytes]:
    """What a run that never stopped would sample."""
    folder.mkdir()
    run = Run(folder, mapped=False)
    run.train(frames)
    return run.sample()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").glob("*.ckpt*"))


@MODES
def test_a_resumed_run_samples_the_same(mapped, tmp_path):
    run = Run(tmp_path, mapped)
    for frames in (7, 30, 55):
        run.train(frames)
        run.save()
    run.train(60)  # never saved
    again = Run(tmp_path, mapped)
    assert again.resume() == 55
    again.train(70)
    assert again.sample() == reference(tmp_path / "other", 70)


def test_the_last_two_and_the_best_are_kept(tmp_path):
    run = Run(tmp_path, mapped=False)
    for frames in (10, 20, 30, 40):
        run.train(frames)
        run.save(best=frames == 20)
    assert files(tmp_path) == [
        "best.ckpt", "checkpoint-000000000030.ckpt", "checkpoint-000000000040.ckpt",
    ]  # fmt: skip
    store = CheckpointStore(tmp_path / "checkpoints")
    for which, want in (("best", 20), ("last", 40)):
        state, frames = store.load(which)
        assert frames == want
        assert_state(state, want)


# ---------------------------------------------------------------------- damaged and hostile files


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def header_only(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: len(FORMAT) + 20])


def foreign(path: Path) -> None:
    torch.save({"weights": torch.zeros(3)}, path)


def other_state(path: Path) -> None:
    write_signed(path, torch_bytes({"weights": torch.zeros(3)}))


def older_under_this_name(path: Path) -> None:
    older = min(path.parent.glob("checkpoint-*.ckpt"))
    shutil.copy(older, path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def torch_bytes(content) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def write_signed(path: Path, body: bytes) -> None:
    """A file with a true checksum: what somebody with bad intent would make."""
    path.write_bytes(FORMAT + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


@MODES
@pytest.mark.parametrize(
    "damage",
    [truncate, empty, header_only, foreign, other_state, older_under_this_name, a_folder],
    ids=lambda damage: damage.__name__,
)
def test_a_bad_newest_checkpoint_gives_way_to_the_previous(damage, mapped, tmp_path):
    run = Run(tmp_path, mapped)
    for frames in (30, 55):
        run.train(frames)
        run.save()
    damage(tmp_path / "checkpoints" / "checkpoint-000000000055.ckpt")
    again = Run(tmp_path, mapped)
    with pytest.warns(CheckpointWarning, match="000055.ckpt .* Using the checkpoint before it"):
        assert again.resume() == 30
    again.train(70)
    assert again.sample() == reference(tmp_path / "other", 70)


def test_every_flipped_bit_is_detected(tmp_path):
    """One bit in each of many places, the header and the end among them."""
    store = CheckpointStore(tmp_path)
    store.save(state_at(1), 1)
    path = tmp_path / "checkpoint-000000000001.ckpt"
    whole = path.read_bytes()
    places = {*range(100), *range(0, len(whole), 97), len(whole) - 1}
    for place in sorted(places):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        with pytest.raises(UsageError, match=r"No checkpoint in .* can be used"):
            store.load("last")
    path.write_bytes(whole)
    assert_state(store.load("last")[0], 1)


class Boom:
    """Unpickling this calls `os.mkdir`: harmless here, anything elsewhere."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("container", ["pickle", "torch"])
def test_nothing_executable_ever_runs(container, protocol, tmp_path):
    store = CheckpointStore(tmp_path)
    store.save(state_at(1), 1)
    store.save(state_at(2), 2, best=True)
    content = {"frames": 2, "state": {"x": Boom(tmp_path / "ran")}, "replay": None}
    body = io.BytesIO()
    if container == "pickle":
        body.write(pickle.dumps(content, protocol=protocol))
    else:
        torch.save(content, body, pickle_protocol=protocol)
    for name in ("checkpoint-000000000002.ckpt", "best.ckpt"):
        write_signed(tmp_path / name, body.getvalue())
    with pytest.warns(CheckpointWarning, match=r"000002\.ckpt .*Using the checkpoint before it"):
        state, frames = store.load_latest()
    assert frames == 1
    assert_state(state, 1)
    with pytest.raises(UsageError, match="Use --checkpoint last"):
        store.load("best")
    assert not (tmp_path / "ran").exists()


def test_the_refusal_says_that_nothing_ran(tmp_path):
    body = torch_bytes({"frames": 2, "state": {"x": Boom(tmp_path / "ran")}, "replay": None})
    write_signed(tmp_path / "checkpoint-000000000002.ckpt", body)
    with pytest.raises(UsageError, match="more than tensors and plain data; it was refused and"):
        CheckpointStore(tmp_path).load_latest()
    assert not (tmp_path / "ran").exists()


@MODES
def test_a_bad_file_never_pushes_a_good_one_out(mapped, tmp_path):
    run = Run(tmp_path, mapped)
    for frames in (30, 55):
        run.train(frames)
        run.save()
    truncate(tmp_path / "checkpoints" / "checkpoint-000000000055.ckpt")
    again = Run(tmp_path, mapped)
    with pytest.warns(CheckpointWarning):
        again.resume()
    again.train(40)
    again.save()  # older than the bad one
    assert files(tmp_path) == ["checkpoint-000000000030.ckpt", "checkpoint-000000000040.ckpt"]
    truncate(tmp_path / "checkpoints" / "checkpoint-000000000040.ckpt")
    with pytest.warns(CheckpointWarning):
        assert Run(tmp_path, mapped).resume() == 30


@MODES
def test_a_damaged_replay_gives_way_to_the_previous_checkpoint(mapped, tmp_path):
    run = Run(tmp_path, mapped)
    for frames in (30, 55):
        run.train(frames)
        run.save()
    segment = max((tmp_path / "checkpoints" / "replay").glob("*.bin"))
    content = bytearray(segment.read_bytes())
    content[5] ^= 1
    segment.write_bytes(content)
    again = Run(tmp_path, mapped)
    with pytest.warns(CheckpointWarning, match="does not match its checksum"):
        assert again.resume() == 30
    again.train(70)
    assert again.sample() == reference(tmp_path / "other", 70)


def test_none_left_is_a_clear_error(tmp_path):
    with pytest.raises(UsageError, match=r"There is no folder .*nowhere\. Name the folder of"):
        CheckpointStore(tmp_path / "nowhere").load_latest()
    store = CheckpointStore(tmp_path)
    with pytest.raises(UsageError, match=r"holds no checkpoint: .* again without --resume"):
        store.load_latest()
    with pytest.raises(UsageError, match=r"no best checkpoint yet.*Use --checkpoint last"):
        store.load("best")
    with pytest.raises(UsageError, match=r"Unknown checkpoint 'bset'\. Did you mean 'best'"):
        store.load("bset")


def test_only_plain_data_is_taken(tmp_path):
    store = CheckpointStore(tmp_path)
    for bad, where in (
        ({"agent": {"f": len}}, r"state\['agent'\]\['f'\] is a builtin_function"),
        ({"a": [np.array([object()])]}, r"state\['a'\]\[0\] is object"),
        ({1.5: 0}, "keys are strings or ints"),
    ):
        with pytest.raises(TypeError, match=where):
            store.save(bad, 1)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- failures while saving


class Killed(BaseException):
    """The process ends at this operation; nothing after it happens."""


class Faults:
    """Counts the primitives of `atomic` and lets the k-th one fail, half done if it is a write."""

    def __init__(self, monkeypatch):
        self.count, self.at, self.error = 0, None, None
        for name in atomic.PRIMITIVES:
            monkeypatch.setattr(atomic, name, self.wrap(name, getattr(atomic, name)))

    def arm(self, at: int | None, error: BaseException | None) -> None:
        self.count, self.at, self.error = 0, at, error

    def wrap(self, name, primitive):
        def run(*args):
            self.count += 1
            if self.at is None or self.count < self.at:
                return primitive(*args)
            if self.count == self.at and name == "write_at":
                fd, data, offset = args
                primitive(fd, data[: len(data) // 2], offset)
            if self.count == self.at or isinstance(self.error, Killed):
                raise self.error
            return primitive(*args)

        return run


FAILURES = {
    "full": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "broken": OSError(errno.EIO, os.strerror(errno.EIO)),
    "killed": Killed(),
}


def prepared(folder: Path, mapped: bool) -> Run:
    folder.mkdir()
    run = Run(folder, mapped)
    for frames in (28, 41):
        run.train(frames)
        run.save(best=frames == 28)
    run.train(60)
    return run


@MODES
@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_a_failure_at_every_operation_of_a_save(failure, mapped, tmp_path, monkeypatch):
    """After any of them a checkpoint loads, is bit-exact, and the run goes on as if nothing was."""
    faults = Faults(monkeypatch)
    want = reference(tmp_path / "reference", 75)
    run = prepared(tmp_path / "count", mapped)
    faults.arm(None, None)
    run.save(best=True)
    operations = faults.count
    assert operations > 15
    for at in range(1, operations + 1):
        folder = tmp_path / f"at-{at}"
        faults.arm(None, None)
        run = prepared(folder, mapped)
        faults.arm(at, FAILURES[failure])
        with pytest.raises((DiskError, Killed)):
            run.save(best=True)
        faults.arm(None, None)
        if failure != "killed":  # somebody frees the disk, and the same process tries again
            shutil.copytree(folder, tmp_path / f"again-{at}")
            run.save()
            assert Run(folder, mapped).resume() == 60
            folder = tmp_path / f"again-{at}"
        again = Run(folder, mapped)
        assert again.resume() in (41, 60)
        best = again.store.load("best")
        assert best[1] in (28, 60)
        assert_state(*best)
        again.train(75)
        assert again.sample() == want
        again.save()
        third = Run(folder, mapped)
        assert third.resume() == 75
        assert third.sample() == want


class Journal:
    """The disk as a power cut leaves it: bytes count once synced, names once their folder is.

    It notes each primitive after it ran. `survivors` then gives what a cut leaves in the worst
    case: only what was synced, and every deletion done at once, before any sync.
    """

    def __init__(self, monkeypatch, folder: Path):
        self.folder = folder
        self.contents: dict[int, bytes] = {}  # inode -> synced bytes
        self.names: dict[Path, int] = {}  # synced names -> inode
        for path in folder.rglob("*"):
            if path.is_file():
                self.contents[path.stat().st_ino] = path.read_bytes()
                self.names[path] = path.stat().st_ino
        self.history = [self.survivors()]
        for name in ("sync", "sync_folder", "remove"):
            monkeypatch.setattr(atomic, name, self.wrap(name, getattr(atomic, name)))

    def wrap(self, name, primitive):
        def run(target):
            primitive(target)
            if name == "sync":
                size = os.fstat(target).st_size
                self.contents[os.fstat(target).st_ino] = os.pread(target, size, 0)
            elif name == "remove":
                self.names.pop(target, None)
            else:
                known = {path: n for path, n in self.names.items() if path.parent != target}
                here = {path: path.stat().st_ino for path in target.iterdir() if path.is_file()}
                self.names = known | here
            self.history.append(self.survivors())

        return run

    def survivors(self) -> dict[Path, bytes]:
        return {
            path.relative_to(self.folder): self.contents.get(inode, b"")
            for path, inode in self.names.items()
        }


@MODES
def test_a_power_cut_at_any_moment_of_a_save(mapped, tmp_path, monkeypatch):
    """Nothing is relied on that has not been synced, and nothing needed is deleted before."""
    want = reference(tmp_path / "reference", 75)
    run = prepared(tmp_path / "run", mapped)
    with monkeypatch.context() as patch:
        journal = Journal(patch, tmp_path / "run")
        run.save(best=True)
    seen = set()
    for moment, survivors in enumerate(journal.history):
        folder = tmp_path / f"moment-{moment}"
        for path, content in survivors.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        again = Run(folder, mapped)
        seen.add(again.resume())
        again.train(75)
        assert again.sample() == want
        assert_state(*again.store.load("best"))
    assert seen == {41, 60}


def test_leftovers_of_a_killed_save_are_swept_up(tmp_path, monkeypatch):
    store = CheckpointStore(tmp_path)
    store.save(state_at(1), 1)
    with monkeypatch.context() as patch:

        def killed(source, target):
            raise Killed

        patch.setattr(atomic, "rename", killed)
        with pytest.raises(Killed):
            store.save(state_at(2), 2)
    assert len(list(tmp_path.glob("*.part"))) == 1
    CheckpointStore(tmp_path).save(state_at(3), 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint-000000000001.ckpt", "checkpoint-000000000003.ckpt",
    ]  # fmt: skip


def test_a_run_folder_that_vanishes_is_not_made_anew(tmp_path):
    (tmp_path / "run").mkdir()
    run = Run(tmp_path / "run", mapped=False)
    run.train(10)
    run.save()
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    run.train(20)
    with pytest.raises(DiskError, match=r"the folder has gone\. Put it back"):
        run.save()
    assert not (tmp_path / "run").exists()
    assert Run(tmp_path / "elsewhere", mapped=False).resume() == 10


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.EACCES, "may not be written to. Change its permissions"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EDQUOT, "quota is used up"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_what_the_disk_says_is_put_in_words(code, message, tmp_path, monkeypatch):
    def refuse(path):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(atomic, "open_file", refuse)
    with pytest.raises(DiskError, match=message) as raised:
        CheckpointStore(tmp_path).save(state_at(1), 1)
    assert str(tmp_path) in str(raised.value)
    assert "the last checkpoint is intact" in str(raised.value)
