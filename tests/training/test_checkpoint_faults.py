"""Checkpoints against failures while they are saved: errors, kills and power cuts everywhere."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from nearsym.training import atomic
from nearsym.training.atomic import DiskError
from nearsym.training.checkpoint import CheckpointStore


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Which syncs are made is noted and failed here; waiting for the real disk adds nothing."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


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
    "killed": Killed(),
}


def prepared(small_run, folder: Path, mapped: bool):
    # 42 steps and 5 episode starts: the last save ended inside a segment of three slots.
    run = small_run(folder, mapped).train_and_save(28, 42, best=28)
    run.train(60)
    return run


def assert_older_loads(small_run, folder: Path, mapped: bool) -> None:
    """The last but one checkpoint, too, is whole, and so is the replay that it refers to."""
    newest = max((folder / "checkpoints").glob("checkpoint-*.ckpt"))
    newest.rename(newest.with_suffix(".hidden"))
    assert small_run(folder, mapped).resume() in (28, 42)
    newest.with_suffix(".hidden").rename(newest)


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_a_failure_at_every_operation_of_a_save(small_run, failure, mapped, tmp_path, monkeypatch):
    """After any of them a checkpoint loads, is bit-exact, and the run goes on as if nothing was."""
    faults = Faults(monkeypatch)
    want = small_run.unbroken(tmp_path / "reference", 75)
    run = prepared(small_run, tmp_path / "count", mapped)
    faults.arm(None, None)
    run.save(best=True)
    operations = faults.count
    assert operations > 15
    for at in range(1, operations + 1):
        folder = tmp_path / f"at-{at}"
        faults.arm(None, None)
        run = prepared(small_run, folder, mapped)
        faults.arm(at, FAILURES[failure])
        with pytest.raises((DiskError, Killed)):
            run.save(best=True)
        faults.arm(None, None)
        if failure != "killed":  # somebody frees the disk, and the same process tries again
            shutil.copytree(folder, tmp_path / f"again-{at}")
            run.save()
            assert small_run(folder, mapped).resume() == 60
            folder = tmp_path / f"again-{at}"
        assert_older_loads(small_run, folder, mapped)
        again = small_run(folder, mapped)
        assert again.resume() in (42, 60)
        best = again.store.load("best")
        assert best[1] in (28, 60)
        small_run.assert_state(*best)
        again.train(75)
        assert again.sample() == want
        again.save()
        third = small_run(folder, mapped)
        assert third.resume() == 75
        assert third.sample() == want
        shutil.rmtree(tmp_path / f"at-{at}")
        shutil.rmtree(tmp_path / f"again-{at}", ignore_errors=True)


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


def test_a_power_cut_at_any_moment_of_a_save(small_run, mapped, tmp_path, monkeypatch):
    """Nothing is relied on that has not been synced, and nothing needed is deleted before."""
    want = small_run.unbroken(tmp_path / "reference", 75)
    run = prepared(small_run, tmp_path / "run", mapped)
    with monkeypatch.context() as patch:
        journal = Journal(patch, tmp_path / "run")
        run.save(best=True)
    seen = set()
    for moment, survivors in enumerate(journal.history):
        folder = tmp_path / f"moment-{moment}"
        for path, content in survivors.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        assert_older_loads(small_run, folder, mapped)
        again = small_run(folder, mapped)
        seen.add(again.resume())
        again.train(75)
        assert again.sample() == want
        small_run.assert_state(*again.store.load("best"))
        shutil.rmtree(folder)
    assert seen == {42, 60}


def test_leftovers_of_a_killed_save_are_swept_up(small_run, tmp_path, monkeypatch):
    store = CheckpointStore(tmp_path)
    store.save(small_run.state_at(1), 1)
    with monkeypatch.context() as patch:

        def killed(source, target):
            raise Killed

        patch.setattr(atomic, "rename", killed)
        with pytest.raises(Killed):
            store.save(small_run.state_at(2), 2)
    assert len(list(tmp_path.glob("*.part"))) == 1
    CheckpointStore(tmp_path).save(small_run.state_at(3), 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint-000000000001.ckpt", "checkpoint-000000000003.ckpt",
    ]  # fmt: skip


def test_a_run_folder_that_vanishes_is_not_made_anew(small_run, tmp_path):
    (tmp_path / "run").mkdir()
    run = small_run(tmp_path / "run", mapped=False)
    run.train(10)
    run.save()
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    run.train(20)
    with pytest.raises(DiskError, match=r"the folder is missing\. Put it back"):
        run.save()
    assert not (tmp_path / "run").exists()
    assert small_run(tmp_path / "elsewhere", mapped=False).resume() == 10


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.EACCES, "may not be written to. Change its permissions"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EDQUOT, "quota is used up"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_what_the_disk_says_is_put_in_words(small_run, code, message, tmp_path, monkeypatch):
    def refuse(path):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(atomic, "open_file", refuse)
    with pytest.raises(DiskError, match=message) as raised:
        CheckpointStore(tmp_path).save(small_run.state_at(1), 1)
    assert str(tmp_path) in str(raised.value)
    assert "what it has saved is intact" in str(raised.value)
