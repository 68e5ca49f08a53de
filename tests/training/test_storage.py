"""The segment log: what was committed comes back bit for bit, and only what is needed is kept."""

import errno
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.training import atomic
from nearsym.training.atomic import DiskError
from nearsym.training.storage import CorruptError, SegmentLog

RECORD = np.dtype([("value", "<i8"), ("noise", "u1", (5,))], align=True)
MODES = pytest.mark.parametrize("mapped", [False, True], ids=["memory", "mapped"])


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Whether the syncs are made is tested with the checkpoints; the real disk is slow."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def new_log(folder, mapped, length=4):
    return SegmentLog(RECORD, length=length, folder=folder if mapped else None)


def fill(log, count, keep=10):
    for _ in range(count):
        record = np.zeros(1, RECORD)
        record["value"], record["noise"] = log.size, log.size * 7 % 251
        log.append(record)
        log.drop(before=log.size - keep)


def values(log):
    rows = [log.segments[n] for n in sorted(log.segments)]
    first = min(log.segments) * log.length
    return np.concatenate(rows)["value"][: log.size - first].tolist()


def files(folder):
    return sorted(int(path.stem.removeprefix("segment-")) for path in folder.glob("*.bin"))


@MODES
@given(counts=st.lists(st.integers(0, 23), min_size=1, max_size=6), more=st.integers(0, 30))
def test_any_of_the_last_two_commits_comes_back(mapped, tmp_path_factory, counts, more):
    """However the window has moved on since, and whatever was written without a commit."""
    folder = tmp_path_factory.mktemp("log")
    log, commits = new_log(folder, mapped), []
    for count in counts:
        fill(log, count)
        commits.append((log.commit(folder), values(log) if log.segments else []))
        log.release(folder)
    fill(log, more)  # then the process dies
    for state, want in reversed(commits[-2:]):
        other = new_log(folder, mapped)
        other.restore(state, folder)
        assert other.size == state["size"]
        assert (values(other) if other.segments else []) == want


@MODES
def test_going_back_and_on_again_equals_never_having_stopped(mapped, tmp_path):
    """The previous checkpoint is used because the newest is bad; the log then repeats itself."""
    log = new_log(tmp_path, mapped)
    fill(log, 33)
    previous = log.commit(tmp_path)
    log.release(tmp_path)
    fill(log, 9)
    log.commit(tmp_path)
    log.release(tmp_path)
    for _ in range(2):  # twice: a kill during the resume
        other = new_log(tmp_path, mapped)
        other.restore(previous, tmp_path)
        fill(other, 5)
    fill(other, 15)
    state = other.commit(tmp_path)
    other.release(tmp_path)
    fill(log, 11)
    assert values(other) == values(log)
    again = new_log(tmp_path, mapped)
    again.restore(state, tmp_path)
    assert values(again) == values(log)
    again.restore(previous, tmp_path)  # still the last but one


@MODES
def test_only_what_is_new_is_written(mapped, tmp_path, monkeypatch):
    log, written = new_log(tmp_path, mapped, length=100), []
    write = atomic.write_at
    monkeypatch.setattr(
        atomic, "write_at", lambda fd, data, at: (written.append(len(data)), write(fd, data, at))
    )
    fill(log, 50, keep=1000)
    log.commit(tmp_path)
    assert sum(written) == 50 * RECORD.itemsize
    fill(log, 3, keep=1000)
    log.commit(tmp_path)
    assert sum(written) == 53 * RECORD.itemsize


@MODES
def test_disk_use_is_bounded(mapped, tmp_path):
    log = new_log(tmp_path, mapped)
    for _ in range(30):
        fill(log, 7)
        log.commit(tmp_path)
        log.release(tmp_path)
        assert len(files(tmp_path)) <= (10 + 2 * 7) // 4 + 2


def test_a_mapped_log_without_checkpoints_is_bounded_too(tmp_path):
    log = new_log(tmp_path, mapped=True)
    fill(log, 500)
    assert len(files(tmp_path)) <= 10 // 4 + 2


@MODES
def test_saving_twice_at_one_point_does_not_push_the_older_checkpoint_out(mapped, tmp_path):
    log = new_log(tmp_path, mapped)
    fill(log, 20)
    older = log.commit(tmp_path)
    log.release(tmp_path)
    fill(log, 20)
    for _ in range(3):
        log.commit(tmp_path)
        log.release(tmp_path)
    new_log(tmp_path, mapped).restore(older, tmp_path)


@MODES
def test_resuming_keeps_the_older_checkpoint_until_the_next_save(mapped, tmp_path):
    log, commits = new_log(tmp_path, mapped), []
    for _ in range(2):
        fill(log, 20)
        commits.append((log.commit(tmp_path), values(log)))
        log.release(tmp_path)
    again = new_log(tmp_path, mapped)
    again.restore(commits[1][0], tmp_path)
    fill(again, 40)  # the window leaves both checkpoints behind, and the process is killed
    for state, want in commits:
        again.restore(state, tmp_path)
        assert values(again) == want


def test_a_log_saved_from_memory_can_be_mapped_and_back(tmp_path):
    log = new_log(tmp_path, mapped=False)
    fill(log, 26)
    for mapped in (True, False):
        state, want = log.commit(tmp_path), values(log)
        log = new_log(tmp_path, mapped)
        log.restore(state, tmp_path)
        assert values(log) == want
        fill(log, 5)


@MODES
@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "empty"])
def test_damage_is_detected(mapped, damage, tmp_path):
    log = new_log(tmp_path, mapped)
    fill(log, 21)
    state = log.commit(tmp_path)
    path = tmp_path / f"segment-{files(tmp_path)[1]:06d}.bin"
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[17] ^= 4
        path.write_bytes(content)
    elif damage == "delete":
        path.unlink()
    else:
        path.write_bytes(content[:30] if damage == "truncate" else b"")
    with pytest.raises(CorruptError, match=r"does not match its checksum|should hold .* bytes"):
        new_log(tmp_path, mapped).restore(state, tmp_path)


def test_damage_behind_the_running_process_is_noticed_at_the_next_commit(tmp_path):
    log = new_log(tmp_path, mapped=False)
    fill(log, 2)
    log.commit(tmp_path)
    (tmp_path / "segment-000000.bin").unlink()
    fill(log, 1)
    with pytest.raises(DiskError, match="has lost records that were saved before"):
        log.commit(tmp_path)


@MODES
def test_a_vanished_folder_is_an_error_and_not_made_anew(mapped, tmp_path):
    folder = tmp_path / "replay"
    log = new_log(folder, mapped)
    fill(log, 3)
    log.commit(folder)
    folder.rename(tmp_path / "elsewhere")

    def go_on():
        fill(log, 3)
        log.commit(folder)

    with pytest.raises(DiskError, match="the folder is missing"):
        go_on()
    assert not folder.exists()


def test_a_full_disk_stops_a_mapped_log_at_the_allocation(tmp_path, monkeypatch):
    log = new_log(tmp_path, mapped=True)
    fill(log, 3)
    state, want = log.commit(tmp_path), values(log)

    def full(fd, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "allocate", full)
    with pytest.raises(DiskError, match=r"the disk is full\. Free some space, then resume"):
        fill(log, 5)
    assert log.size == 4  # what fitted is there; the record that did not has left no trace
    monkeypatch.undo()
    fill(log, 5)
    assert values(log) == list(range(9))
    log.restore(state, tmp_path)
    assert values(log) == want
