"""The run lock: one process at a time, and a dead one never holds it."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from nearsym.errors import UsageError
from nearsym.training.atomic import DiskError
from nearsym.training.runlock import RunLock

HOLDER = """
import sys, time
from pathlib import Path
from nearsym.training.runlock import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""

FORKING = """
import os, sys, time
from pathlib import Path
from nearsym.training.runlock import RunLock
lock = RunLock(Path(sys.argv[1]))
if not os.fork():
    print(os.getpid(), flush=True)  # the child itself: it has let go by then
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_until_the_first_is_dead(holder, tmp_path):
    with pytest.raises(UsageError, match=rf"Another process \(pid {holder.pid}\) is writing to"):
        RunLock(tmp_path)
    holder.send_signal(signal.SIGKILL)  # no chance to tidy up
    holder.wait()
    assert (tmp_path / "lock").read_text() == f"{holder.pid}\n"
    with RunLock(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_one_process_cannot_hold_it_twice(tmp_path):
    with (
        RunLock(tmp_path),
        pytest.raises(UsageError, match=r"or choose another `out`"),
    ):
        RunLock(tmp_path)
    RunLock(tmp_path).release()


def test_a_forked_child_does_not_keep_it(tmp_path):
    """A worker that outlives the run must not lock the folder for ever."""
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            with pytest.raises(UsageError, match="Another process"):
                RunLock(tmp_path)
            process.kill()
            process.wait()
            RunLock(tmp_path).release()
            os.kill(child, 0)  # it is still alive
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_child_does_not_give_the_parents_lock_away(tmp_path):
    with RunLock(tmp_path):
        child = multiprocessing.get_context("fork").Process(target=int)
        child.start()
        child.join()
        with pytest.raises(UsageError, match="Another process"):
            RunLock(tmp_path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DiskError, match=r"Locking the run failed in .*: the folder is missing"):
        RunLock(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match="a part of that path is a file"):
        RunLock(tmp_path / "file")


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(fd, operation):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(DiskError, match=r"Locking the run failed in .*: Function not implemented"):
        RunLock(tmp_path)


def test_a_lock_that_is_forgotten_is_released(tmp_path):
    RunLock(tmp_path)
    with RunLock(tmp_path):
        pass
