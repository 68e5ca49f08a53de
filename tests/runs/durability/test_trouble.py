"""Disks that fill, folders that vanish, clocks that jump: a clear message, and nothing is lost."""

import os
import shutil
import subprocess

import pytest

LOOP = "nearsym.training.loop.Trainer.run"
KINDS = ["state, sac, memory", "pixels, drqv2, disk"]


def at(act, calls):
    return {"act": act, "function": LOOP, "after": calls}


@pytest.fixture
def small_disk(runs):
    """`small_disk(kind)`: a place on a disk of 16 MB, and what fills it; elsewhere a stand-in."""
    mounted = []

    def make(kind):
        place = runs(kind)
        command = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "tmpfs", str(place.place)]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError:  # no mount command
            return place, "no space"
        if done.returncode != 0:
            return place, "no space"
        mounted.append(place.place)
        return place, "fill"

    yield make
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def assert_stops_and_goes_on(place, whole, kind, act, reason):
    """Trouble strikes twice, at a third and two thirds of the run, and is put right each time."""
    moment = at(act, whole(kind)[1] // 3)
    stages = [place.start(moment=moment), place.resume(moment=moment), place.resume()]
    *troubled, last = place.drive(*stages)
    for left in troubled:
        assert left.code == 1, left.err
        assert f"failed in {place.folder('run')}" in left.last_line()
        assert f": {reason}, then resume the run" in left.last_line()
        assert left.last_line().endswith("what it has saved is intact.")
    assert last.code == 0, last.err
    place.outcome().assert_equal(whole(kind)[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk(kind, small_disk, whole):
    place, act = small_disk(kind)
    reason = "the disk is full. Free some space"
    assert_stops_and_goes_on(place, whole, kind, act, reason)


@pytest.mark.slow
@pytest.mark.parametrize("act", ["no space", "limit"])
def test_a_disk_that_refuses(act, runs, whole):
    reasons = {
        "no space": "the disk is full. Free some space",
        "limit": "the file would exceed the largest size allowed. Raise the limit (ulimit -f)",
    }
    kind = "state, sac, disk"
    assert_stops_and_goes_on(runs(kind), whole, kind, act, reasons[act])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_vanishes(kind, runs, whole):
    reason = "the folder is missing. Put it back (is the disk still mounted?)"
    assert_stops_and_goes_on(runs(kind), whole, kind, "vanish", reason)


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_to(runs, whole):
    kind = "state, sac, disk"
    reason = "the folder may not be written to. Change its permissions"
    assert_stops_and_goes_on(runs(kind), whole, kind, "forbid", reason)


@pytest.mark.slow
def test_starting_or_resuming_where_nobody_may_write(runs, whole):
    kind = "state, sac, disk"
    place = runs(kind)
    os.makedirs(place.folder("closed"))
    forbid = {"act": "forbid", "function": "pathlib.Path.mkdir"}  # the first is the run folder's
    killed = {"function": LOOP, "after": whole(kind)[1] // 2}
    lock = {"act": "forbid", "function": "nearsym.training.runlock.RunLock.__init__"}
    new, first, again, last = place.drive(
        place.start("closed/run") | {"folder": str(place.folder("closed")), "moment": forbid},
        place.start(moment=killed),
        place.resume(moment=lock),
        place.resume(),
    )
    assert first.code == -9
    for left, doing in ((new, "Making the folder"), (again, "Locking the run")):
        assert left.code == 1
        assert left.err.count("\n") == 1
        assert left.err.startswith(f"{doing} failed in {place.place}")
        assert "the folder may not be written to. Change its permissions, then try" in left.err
    assert last.code == 0
    place.outcome().assert_equal(whole(kind)[0])


@pytest.mark.slow
def test_a_clock_that_jumps(runs, whole):
    kind = "pixels, drqv2, disk"
    place = runs(kind)
    killed = {"function": LOOP, "after": whole(kind)[1] // 2}
    lefts = place.drive(place.start(moment=killed, clock=1), place.resume(clock=2))
    assert [left.code for left in lefts] == [-9, 0]
    place.outcome().assert_equal(whole(kind)[0])


@pytest.mark.slow
def test_resuming_without_opengl(runs, whole):
    kind = "pixels, drqv2, memory"
    place = runs(kind)
    killed = {"function": LOOP, "after": whole(kind)[1] // 2}
    (left,) = place.drive(place.start(moment=killed))
    assert left.code == -9
    shutil.copytree(place.folder("run"), place.folder("copy"))
    choices = ("", "egl", "off")
    missing = place.drive(
        *(place.resume(opengl=False, environment={"MUJOCO_GL": choice}) for choice in choices)
    )
    for left, reason in zip(
        missing, ("off (none was found", "egl (its library is", "off (none"), strict=True
    ):
        assert left.code == 2
        assert left.err.startswith(f"OpenGL does not start with MUJOCO_GL={reason}")
        assert "apt-get install libegl1" in left.err
        assert left.err.count("\n") == 1
    for path in place.folder("copy").rglob("*.*"):
        same = place.folder("run") / path.relative_to(place.folder("copy"))
        assert path.is_dir() or same.read_bytes() == path.read_bytes()
    (left,) = place.drive(place.resume())
    assert left.code == 0
    place.outcome().assert_equal(whole(kind)[0])
