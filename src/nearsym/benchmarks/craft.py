"""Agent steps per second of the craft: one at a time, from pixels, and many at once.

Seconds are seconds of the process, so that a busy machine still measures.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from nearsym.benchmarks.timing import rate_row
from nearsym.tasks.craft.environment import CraftEnv
from nearsym.tasks.craft.vector import CraftVectorEnv

CRAFTS = 64
TARGETS = {"state": 20_000.0, "pixels": None, "vector": 200_000.0}


def rows(*, threads: int = 1, quick: bool = False) -> list[dict[str, Any]]:
    """Steps a second in each form; `threads` changes nothing, as everything is numpy."""
    names = {"state": "craft, state", "pixels": "craft, 51 px"}
    names["vector"] = f"craft, state, {CRAFTS} at once"
    makers = {"state": _single("state"), "pixels": _single("pixels"), "vector": _vector()}
    steps, rounds = (200, 2) if quick else (5000, 7)
    return [
        rate_row(names[kind], _rate(play, steps, rounds), "agent steps/s", TARGETS[kind])
        for kind, play in makers.items()
    ]


def _rate(play: Callable[[int], int], steps: int, rounds: int) -> float:
    rates = []
    for _ in range(rounds):
        start = time.process_time()
        done = play(steps)
        rates.append(done / (time.process_time() - start))
    return statistics.median(rates)


def _single(obs: str) -> Callable[[int], int]:
    env = CraftEnv(obs=obs, variant="tilt=75")
    actions = np.random.default_rng(0).uniform(-1, 1, (120, 2)).astype(np.float32)

    def play(steps: int) -> int:
        for step in range(steps):
            if step % 120 == 0:
                env.reset(seed=step)
            env.step(actions[step % 120])
        return steps

    return play


def _vector() -> Callable[[int], int]:
    env = CraftVectorEnv(CRAFTS, variant="tilt=75")
    actions = np.random.default_rng(0).uniform(-1, 1, (120, CRAFTS, 2)).astype(np.float32)
    env.reset(seed=0)

    def play(steps: int) -> int:
        for step in range(steps):
            env.step(actions[step % 120])
        return steps * CRAFTS

    return play
