"""Agent steps per second with pixels, beside dm_control's own pixel wrapper.

An agent step is two simulation steps and one picture of 85×85 pixels, stacked with the two before.
Both sides do just that: dm_control's `pixels.Wrapper` stands around the repeated action, so that it
too draws once a step. Each runs in a process of its own (their renderers must not meet in one),
on one and the same core, and they take turns. Seconds are seconds of that core (all threads of the
process): on an idle machine the same as the clock's, on a busy one still a measurement.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from nearsym.benchmarks.timing import rate_row
from nearsym.tasks.control.domains import DOMAINS
from nearsym.training.bars import over

TARGET = 15.0
SIZE, REPEAT, STACK = 85, 2, 3
_STEPS = {"nearsym": 400, "dm_control": 10}  # some tenths of a second each


def rows(*, threads: int = 1, quick: bool = False) -> list[dict[str, Any]]:
    """For each domain: times as fast as dm_control, then steps per second of both.

    `threads` changes nothing, as everything happens on one core; all benchmarks take it.
    """
    rounds = 2 if quick else 9
    found = []
    for task in over(DOMAINS, "domains"):
        rates = _rates(task, rounds)
        ratios = [a / b for a, b in zip(rates["nearsym"], rates["dm_control"], strict=True)]
        found.append(rate_row(task, statistics.median(ratios), "x dm_control", TARGET))
        for side, values in rates.items():
            rate = statistics.median(values)
            found.append(rate_row(f"{task} {side}", rate, "agent steps/s", None))
    return found


def _rates(task: str, rounds: int) -> dict[str, list[float]]:
    """Steps per second of both sides in every round."""
    workers = {side: _start(side, task) for side in _STEPS}
    try:
        rates: dict[str, list[float]] = {side: [] for side in workers}
        for turn in range(rounds + 1):  # the first round warms up
            for side, worker in workers.items():
                rate = _STEPS[side] / _ask(worker, _STEPS[side])
                if turn > 0:
                    rates[side].append(rate)
        return rates
    finally:
        for worker in workers.values():
            worker.communicate()  # the end of its input is the end of its work


def _start(side: str, task: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    if side == "dm_control":
        environment.setdefault("MUJOCO_GL", "egl")
    return subprocess.Popen(
        [sys.executable, "-m", "nearsym.benchmarks.env", side, task],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def _ask(worker: "subprocess.Popen[str]", steps: int) -> float:
    """The seconds that a worker takes for some steps."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{steps}\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        raise RuntimeError("A benchmark process ended early; its own message stands above.")
    return float(json.loads(answer)["seconds"])


def _work(side: str, task: str) -> None:
    """Answer each number of steps on standard input with the seconds they took."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    run = (_nearsym if side == "nearsym" else _dm_control)(task)
    for line in sys.stdin:
        steps = int(line)
        start = time.process_time()
        run(steps)
        print(json.dumps({"seconds": time.process_time() - start}), flush=True)


def _nearsym(task: str) -> Callable[[int], None]:
    from nearsym.tasks.registry import make

    env = make(task, obs="pixels", size=SIZE, action_repeat=REPEAT, frame_stack=STACK)
    env.reset(seed=0)
    env.action_space.seed(0)

    def run(steps: int) -> None:
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()

    return run


def _dm_control(task: str) -> Callable[[int], None]:
    from dm_control import suite
    from dm_control.suite.wrappers import pixels

    domain = DOMAINS[task]
    plain = suite.load(domain.domain, domain.task, task_kwargs={"random": 0})
    options = {"height": SIZE, "width": SIZE, "camera_id": 0}
    env = pixels.Wrapper(_Repeated(plain), render_kwargs=options)
    random = np.random.RandomState(0)
    shape = plain.action_spec().shape
    frames = [env.reset().observation["pixels"]] * STACK

    def run(steps: int) -> None:
        for _ in range(steps):
            step = env.step(random.uniform(-1.0, 1.0, shape))
            if step.last():
                step = env.reset()
            frames[:] = [*frames[1:], step.observation["pixels"]]
            np.concatenate(frames, axis=-1)

    return run


class _Repeated:
    """A dm_control environment under repeated actions, as much of it as the wrapper asks for."""

    def __init__(self, env: Any):
        self._env = env
        self.physics = env.physics
        self.reset, self.observation_spec = env.reset, env.observation_spec

    def step(self, action: np.ndarray) -> Any:
        for _ in range(REPEAT):
            step = self._env.step(action)
            if step.last():
                break
        return step


if __name__ == "__main__":
    _work(*sys.argv[1:])
