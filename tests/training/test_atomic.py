"""The disk operations on systems that lack some of the calls, and folders that users name."""

import errno
import os
from pathlib import Path

import pytest

from nearsym.errors import UsageError
from nearsym.training import atomic


@pytest.fixture
def poor_system(monkeypatch):
    """A system such as Windows, as far as these operations can tell."""
    for name in ("posix_fallocate", "pwrite", "O_DIRECTORY"):
        monkeypatch.delattr(os, name)


def test_reserving_keeps_what_is_there(tmp_path, poor_system):
    with atomic.opened(tmp_path / "file") as fd:
        atomic.write_at(fd, b"abc", 0)
        atomic.allocate(fd, 10)
        assert os.fstat(fd).st_size == 10
        atomic.allocate(fd, 5)
        assert os.fstat(fd).st_size == 10
    assert (tmp_path / "file").read_bytes() == b"abc" + bytes(7)


def test_writing_at_a_place(tmp_path, poor_system):
    with atomic.opened(tmp_path / "file") as fd:
        atomic.write_at(fd, b"later", 5)
        atomic.write_at(fd, b"first", 0)
    assert (tmp_path / "file").read_bytes() == b"firstlater"


def test_replacing_a_file(tmp_path, poor_system):
    for content in (b"a longer one", b"short"):
        atomic.replace(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("mapped", [False, True])
def test_a_run_is_saved_and_resumed(tmp_path, poor_system, small_run, mapped):
    small_run(tmp_path / "run", mapped).train_and_save(20, 60)
    again = small_run(tmp_path / "run", mapped)
    assert again.resume() == 60
    again.train(70)
    assert again.sample() == small_run.unbroken(tmp_path / "other", 70)


def test_a_pipe_is_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(UsageError, match=r"is a pipe\. Name a file to write to"):
        atomic.replace(path, b"content")
    assert path.is_fifo()
    assert [found.name for found in tmp_path.iterdir()] == ["pipe"]


def test_a_place_that_cannot_be_made_names_the_parameter(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file/run cannot be made.*Choose another `out`\."):
        atomic.make_place(tmp_path / "file" / "run", "out")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (errno.EROFS, "the disk is read-only. Make it writable, then try again"),
        (errno.ELOOP, "Too many levels of symbolic links. Put that right, then try again"),
    ],
)
def test_errors_say_what_to_do(code, text):
    with (
        pytest.raises(atomic.DiskError, match=text),
        atomic.explain_errors("Saving", Path("run"), advice=atomic.TRY_AGAIN),
    ):
        raise OSError(code, os.strerror(code))
