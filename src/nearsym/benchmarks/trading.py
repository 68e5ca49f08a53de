"""How fast the market runs: environment steps a second on one core."""

import time
from typing import Any

import numpy as np

from nearsym.benchmarks.timing import rate_row
from nearsym.envs.resample import random_walk_prices
from nearsym.envs.split import Split
from nearsym.envs.trading import TradingEnv

STOCKS, WINDOW, INDICATORS = 30, 9, 8
TARGET = 10_000.0


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Steps a second, resets included; the environment is numpy alone and runs on one core.

    The best of many short rounds: on a shared machine the others measure the neighbours.
    """
    env = benchmark_env()
    rate = max(steps_per_second(env, 300) for _ in range(10 if quick else 100))
    name = f"trading env, {STOCKS} stocks, window {WINDOW}, {len(env.indicators)} indicators"
    return [rate_row(name, rate, "steps/s", TARGET)]


def benchmark_env() -> TradingEnv:
    """Thirty random walks with all eight indicators, one training episode of four years."""
    table = random_walk_prices(STOCKS, days=1500, seed=0)
    env = TradingEnv(table, Split.parse("2005-01-01,2006-01-01"), "train", window=WINDOW)
    assert len(env.indicators) == INDICATORS
    return env


def steps_per_second(env: TradingEnv, steps: int) -> float:
    """Random actions, drawn before the clock starts."""
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, STOCKS))
    env.reset(seed=0)
    start = time.perf_counter()
    for action in actions:
        *_, truncated, _ = env.step(action)
        if truncated:
            env.reset()
    return steps / (time.perf_counter() - start)
