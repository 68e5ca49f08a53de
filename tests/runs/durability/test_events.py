"""A long run without its length: thousands of evaluations, checkpoints, segments and log lines, and
of resumes, each of which opens all files anew. Memory and open files stay as they are."""

import json
import os
import subprocess
import sys

import pytest

EARLY, LATE = 500, 2500  # events before the first and the last look: 2,000 between them
RESUMES = 600  # each opens everything anew, and takes as long as many events
SLACK = 2e6  # bytes: a leak of one kilobyte for each event would be as much

SCRIPT = """
import json, os, sys
from pathlib import Path
import gymnasium, numpy as np
import nearsym
from nearsym.runs.configure import configure
from nearsym.runs.run import Run
from nearsym.runs.start import start_run
from nearsym.training.allocator import keep_freed_memory
from nearsym.training.loop import Interrupted

os.fsync = lambda fd: None  # waiting for the real disk adds nothing
keep_freed_memory()
kind, early, late = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Pair(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.look(), {}

    def look(self):
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    def step(self, action):
        self.steps += 1
        return self.look(), -float(action[0] ** 2), False, self.steps == 2, {}

    def get_state(self):
        from nearsym.training import pack_generator
        return {"steps": np.array(self.steps), "random": pack_generator(self.np_random)}

    def set_state(self, state):
        from nearsym.training import unpack_generator
        self.steps = int(state["steps"])
        unpack_generator(self.np_random, state["random"])


def looked():
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"memory": resident, "files": len(os.listdir("/proc/self/fd"))}


class Looking(nearsym.Callback):
    events, seen = 0, {}

    def on_checkpoint(self, progress, path):
        Looking.events += 1
        if Looking.events in (early, late):
            self.seen[Looking.events] = looked()


class StopAt:
    def __init__(self, steps):
        self.left = steps

    def __call__(self):
        self.left -= 1
        return self.left < 0


every = 1 if kind == "events" else 10**6
training = {"frames": 10 + late if kind == "events" else 10**6, "seed_frames": 4, "batch_size": 2}
training |= {"eval_every": every, "checkpoint_every": every, "update_every": 1, "nstep": 1}
training |= {"replay": "disk", "replay_capacity": 16, "eval_episodes": 1}  # a segment a slot
network = {"hidden": 8, "actor_depth": 0, "critic_depth": 1}
config = configure(Pair, preset="smoke", training=training, network=network, threads=1)
try:
    start_run(config, "run", callbacks=[Looking()], stop_requested=StopAt(
        10**9 if kind == "events" else 20))
except Interrupted:
    pass
while kind == "resumes" and Looking.events < late:
    try:
        Run("run", Pair).resume(callbacks=[Looking()], stop_requested=StopAt(1))
    except Interrupted:
        pass
rows = Run("run", Pair).metrics
found = {"seen": [Looking.seen[early], Looking.seen[late]], "events": Looking.events}
found["lines"] = len(rows)
found["evaluations"] = sum("eval/returns" in row for row in rows)
found["segments"] = [path.name for path in sorted(Path("run/replay").iterdir())]
found["checkpoints"] = [path.name for path in sorted(Path("run/checkpoints").iterdir())]
print(json.dumps(found))
"""


def soaked(kind, place, early=EARLY, late=LATE):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(early), str(late)],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_flat(found):
    early, late = found["seen"]
    assert late["files"] == early["files"]
    assert late["memory"] - early["memory"] < SLACK


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_evaluations_checkpoints_segments_and_lines(tmp_path):
    found = soaked("events", tmp_path)
    assert_flat(found)
    assert found["events"] >= LATE
    assert found["evaluations"] >= LATE
    assert found["lines"] >= 2 * EARLY + found["evaluations"]
    assert len(found["segments"]) < 40  # those that two checkpoints need, of thousands
    assert int(found["segments"][0][8:14]) > LATE
    assert len(found["checkpoints"]) <= 3


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_resumes(tmp_path):
    found = soaked("resumes", tmp_path, early=RESUMES // 4, late=RESUMES)
    assert_flat(found)
    assert found["events"] >= RESUMES
    assert len(found["checkpoints"]) <= 3
