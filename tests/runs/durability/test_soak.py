"""A long run takes the memory that its replay stores, and no more."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from nearsym.runs.config import to_plain
from nearsym.runs.presets import preset_config
from nearsym.tasks.registry import find_task

EARLY, LATE = 20_000, 200_000
SIZE = 64  # numbers in an observation
SLOT = 4 * (SIZE + 1 + 3)  # an observation, an action; reward, discount, age: 4 bytes each
COPY = 4 * (1 + 3)  # the small fields are kept a second time, as columns
SLACK = 4e6  # bytes: a leak of 25 for each step would be more

MODULE = f"""
import os
import gymnasium
import numpy as np

SIZES = {{}}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Noise(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, ({SIZE},), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    total = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.look(), {{}}

    def look(self):
        return self.np_random.uniform(-1, 1, {SIZE}).astype(np.float32)

    def step(self, action):
        self.steps += 1
        self.total += 1
        if self.total in ({EARLY} + 1, {LATE}):  # evaluations are much shorter
            SIZES[self.total] = resident()
        return self.look(), -float(action[0] ** 2), False, self.steps == 100, {{}}
"""

RUN = """
import json, sys
from dataclasses import replace
from pathlib import Path
import noise
from nearsym.agents.sac import SAC
from nearsym.runs.config import from_plain
from nearsym.runs.start import start_run
from nearsym.tasks.registry import find_task

act = SAC.act


def quick_act(agent, obs, *, step):  # to spare time: the network decides at every 20th step
    return act(agent, obs, step=step) if step % 20 == 0 else obs[:1]


SAC.act = quick_act
config = from_plain(json.loads(sys.argv[1]))
start_run(replace(config, task=find_task(noise.Noise)), Path("run"))
print(json.dumps(sorted(noise.SIZES.values())))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("replay", "capacity"), [("disk", 5_000), ("memory", 300_000)])
def test_memory_is_flat(replay, capacity, tmp_path):
    config = preset_config("smoke", find_task("noise:Noise"), "sac", "none")
    training = replace(
        config.training,
        frames=LATE,
        seed_frames=1000,
        update_every=100,
        replay_capacity=capacity,
        replay=replay,
        eval_every=5000,
        checkpoint_every=5000,
    )
    network = replace(config.network, hidden=8, actor_depth=0, critic_depth=1)
    config = replace(config, network=network, training=training)
    (tmp_path / "noise.py").write_text(MODULE)
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(to_plain(config))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    early, late = json.loads(done.stdout)
    slots = {n: min(n * 101 // 100, capacity) for n in (EARLY, LATE)}  # an episode has 101
    stored = (SLOT + COPY) * (slots[LATE] - slots[EARLY])
    segment = SLOT * capacity / 16  # memory is taken in such pieces: the early size may have one
    assert stored - segment - SLACK < late - early < stored + SLACK
