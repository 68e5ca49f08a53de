"""Asked to stop, a run saves and says how to go on; while it lives, nobody else may."""

import json
import os
import signal
import subprocess
import time

import pytest

LOOP = "nearsym.training.loop.Trainer.run"
ROLLOUTS = "nearsym.training.evaluate.rollouts"
KINDS = ["state, sac, disk", "pixels, drqv2, memory"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_signals_end_a_run_with_a_checkpoint(kind, runs, whole):
    place, calls = runs(kind), whole(kind)[1]
    moments = [
        {"act": "terminate", "function": LOOP, "after": calls // 5},
        {"act": "interrupt", "function": LOOP, "after": calls // 4},
        {"act": "terminate", "function": ROLLOUTS, "after": 9000},
        {"act": "interrupt", "function": ROLLOUTS, "after": 9000},
    ]
    first, *later = moments
    stages = [place.start(moment=first), *(place.resume(moment=moment) for moment in later)]
    *stopped, last = place.drive(*stages, place.resume())
    for left in stopped:
        assert left.code == 1
        assert left.last_line().startswith("nearsym: Stopped and saved at frame ")
        resume = f"nearsym train --resume {place.folder('run')}"
        assert left.last_line().endswith(f". Go on with: {resume}")
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
        f"nearsym: Another process (pid {pid}) is writing to {folder}. "
        "Wait for it or stop it, or choose another folder with --out.\n"
    )
    (resumed,) = place.drive(place.resume())
    assert resumed.code == 0
    place.outcome().assert_equal(whole("state, sac, disk")[0])
