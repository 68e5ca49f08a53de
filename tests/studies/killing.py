"""Kills drivers and workers of small studies, again and again, and compares what is left.

    python killing.py FOLDER KILLS

prints, as JSON, how many were killed and how many studies that took. A driver that starts anew, and
each of its workers, would import torch first, which takes longer than all it then does. So this
process imports everything once and forks drivers, and a fork server that has done the same forks
their workers; what is killed are processes of their own, and how the two talk is unchanged.
"""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from multiprocessing import forkserver
from pathlib import Path
from types import SimpleNamespace

import nearsym
from nearsym.studies import execute, schedule, workers
from nearsym.studies.study import Evaluation, Grid, Study

PRELOADED = "nearsym.studies.workers", "nearsym.runs.run", "nearsym.integrations", "killing"
IN_ONE = 40  # kills; then the study may finish
LONGEST_WAIT = 0.8  # seconds until the next
RUNS = Grid(
    {
        "task": "craft",
        "variant": ["original", "tilt=90"],
        "model": ["none", "approx"],
        "preset": "smoke",
        "frames": 240,
        "training.seed_frames": 60,
        "training.eval_every": 120,
        "training.checkpoint_every": 15,
        "network.hidden": 8,
    }
)
STUDY = Study(name="killed", scale="smoke", grids=(RUNS,), evaluation=Evaluation(episodes=1))

nearsym.make("craft", obs="pixels").close()  # here and in the fork server: what it imports


def drive(out):
    """A new process that drives the study; its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        server = multiprocessing.get_context("forkserver")
        forkserver._forkserver.ensure_running = lambda: None  # it is the parent's child, not ours
        workers.multiprocessing = SimpleNamespace(get_context=lambda _: server)
        execute.WRITE_EVERY = 0.0  # results are written all the time
        schedule.BUSY_WAIT = 0.1
        outcome = execute.run_study(STUDY, out=out, workers=2, retries=IN_ONE)
        code = 0 if len(outcome.results) == len(RUNS) else 71
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def children(pid):
    """The workers, those of drivers that were killed too."""
    words = ["pgrep", "-P", str(pid)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def left(out):
    """All that must not depend on kills: results and logs, without times."""
    found = {}
    for path in sorted(out.rglob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        timed = [
            [key for key in row if key == "seconds" or key.startswith("time/")] for row in rows
        ]
        for row, keys in zip(rows, timed, strict=True):
            for key in keys:
                del row[key]
        found[str(path.relative_to(out))] = rows
    return found


def kill_one(driver, server, rng):
    """Kill the driver or one of the workers; says which, or nothing if there was none."""
    who = "driver" if rng.random() < 0.2 else "worker"
    pids = [driver] if who == "driver" else children(server)
    if not pids:
        return None
    try:
        os.kill(rng.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        return None
    return who


def killed_study(out, most, rng, count):
    """A study that is killed up to so many times and then finishes."""
    server, finished, kills = forkserver._forkserver._forkserver_pid, {}, 0
    while True:
        driver = drive(out)
        status = None
        while status is None:
            time.sleep(rng.uniform(0, LONGEST_WAIT) if kills < most else 0.05)
            pid, ended = os.waitpid(driver, os.WNOHANG)
            if pid:
                status = os.waitstatus_to_exitcode(ended)
            elif kills < most and (who := kill_one(driver, server, rng)):
                count[who] += 1
                kills += 1
        results = {path: path.read_bytes() for path in out.glob("pool/*/result-*")}
        assert finished.items() <= results.items(), "what was finished has changed"
        finished = results
        assert status in (0, -signal.SIGKILL), f"the driver ended with {status}"
        if status == 0:
            return


def main(place, kills):
    forkserver.set_forkserver_preload(list(PRELOADED))
    forkserver.ensure_running()
    rng, count, studies = random.Random(0), {"driver": 0, "worker": 0}, 0
    assert os.waitstatus_to_exitcode(os.waitpid(drive(place / "whole"), 0)[1]) == 0
    whole = left(place / "whole")
    assert len(whole) == 2 * len(RUNS) + 1, sorted(whole)
    while sum(count.values()) < kills:
        studies += 1
        out = place / f"killed-{studies}"
        killed_study(out, min(IN_ONE, kills - sum(count.values())), rng, count)
        assert left(out) == whole, f"{out} differs"
        print(count, studies, file=sys.stderr, flush=True)
    print(json.dumps(count | {"studies": studies}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
