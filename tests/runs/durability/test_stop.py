"""Asked to stop, a run saves and says how to go on; while it lives, nobody else may."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

LOOP = "nearsym.training.loop.Trainer.run"
ROLLOUTS = "nearsym.training.evaluate.rollouts"
KINDS = ["state, sac, disk", "pixels, drqv2, memory"]


def moments_of(calls, *acts):
    """Two in the loop and two in an evaluation, taking turns."""
    places = [(LOOP, calls // 5), (LOOP, calls // 4), (ROLLOUTS, 9000), (ROLLOUTS, 9000)]
    return [
        {"act": acts[i % len(acts)], "function": function, "after": after}
        for i, (function, after) in enumerate(places)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_request_ends_a_run_with_a_checkpoint(kind, runs, whole):
    place = runs(kind)
    first, *later = moments_of(whole(kind)[1], "stop")
    stages = [place.start(moment=first), *(place.resume(moment=moment) for moment in later)]
    *stopped, last = place.drive(*stages, place.resume())
    for left in stopped:
        assert (left.code, left.out) == (1, "")
        assert re.fullmatch(r"Stopped and saved at frame \d+\.\n", left.err)
    assert (last.code, last.out, last.err) == (0, "", "")
    place.outcome().assert_equal(whole(kind)[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_signals_end_a_command_with_a_checkpoint(kind, runs, whole):
    place = runs(kind)
    first, *later = moments_of(whole(kind)[1], "terminate", "interrupt")
    stages = [place.start_by_command(moment=first)]
    stages += [place.resume_by_command(moment=moment) for moment in later]
    *stopped, last = place.drive(*stages, place.resume_by_command())
    for left in stopped:
        assert left.code == 1
        assert left.last_line().startswith("nearsym: Stopped and saved at frame ")
        resume = f"nearsym train --resume {place.folder('run')}"
        assert left.last_line().endswith(f". Continue with: {resume}")
        assert left.out == ""
    assert last.code == 0
    place.outcome().assert_equal(whole(kind)[0])


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_one_process_at_a_time(runs, whole):
    place = runs("state, sac, disk")
    folder = place.folder("run")
    with subprocess.Popen(
        place.command(place.start()), stdout=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: any(folder.glob("checkpoints/checkpoint-*.ckpt")))
        pid = int((folder / "lock").read_text())
        os.kill(pid, signal.SIGSTOP)  # it lives, and takes its time
        refused = place.drive(place.resume(), place.start())
        os.kill(pid, signal.SIGKILL)
        (killed,) = json.loads(process.communicate()[0])
    assert killed["code"] == -9
    assert [left.code for left in refused] == [2, 2]
    assert refused[0].err == (
        f"Another process (pid {pid}) is writing to {folder}. "
        "Wait for it or stop it, or choose another `out`.\n"
    )
    (resumed,) = place.drive(place.resume())
    assert resumed.code == 0
    place.outcome().assert_equal(whole("state, sac, disk")[0])
