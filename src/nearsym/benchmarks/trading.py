"""How fast the market runs and how fast agents learn from it, on one core."""

import time
from typing import Any

import numpy as np

from nearsym.benchmarks.loop import LoopTimes
from nearsym.benchmarks.timing import rate_row, ratio_row
from nearsym.runs.presets import preset_config
from nearsym.runs.train import torch_threads
from nearsym.tasks.registry import find_task
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.resample import random_walk_prices
from nearsym.tasks.trading.split import Split
from nearsym.training.allocator import keep_freed_memory

STOCKS, WINDOW, INDICATORS = 30, 9, 8
TARGET = 30_000.0
VALIDATION_DAYS = 505  # of the embedded data, played at every evaluation
MODELS = (("none", "T"), ("exact", "T"), ("approx", "T"), ("exact", "ST"), ("approx", "ST"))


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Steps a second of the environment alone, then updates a second and whole runs by model.

    For the environment the best of many short rounds: on a shared machine the others measure the
    neighbours. All figures are for one core, whatever `threads` says; all benchmarks take it.
    """
    env = benchmark_env()
    rate = max(steps_per_second(env, 300) for _ in range(10 if quick else 100))
    name = f"trading env, {STOCKS} stocks, window {WINDOW}, {len(env.indicators)} indicators"
    with torch_threads(1):
        return [rate_row(name, rate, "steps/s", TARGET), *_learning(quick)]


def _learning(quick: bool) -> list[dict[str, Any]]:
    """Updates a second on the embedded data, and a run's time as a share of a quarter hour.

    In processor time: there is one thread, and a neighbour's work is not this one's.
    """
    keep_freed_memory()
    found, runs = [], []
    for model, symmetry in MODELS:
        task = find_task("trading", symmetry=symmetry)
        config = preset_config("paper", task, "sac", model)
        times = LoopTimes.of(config, quick, time.process_time)
        label = model if model == "none" else f"{model} {symmetry}"
        found.append(rate_row(f"trading, SAC {label}", 1 / times.update, "updates/s", None))
        training = times.config.training
        seconds = training.frames * times.per_frame(VALIDATION_DAYS)
        name = f"trading, {training.frames:,} days, {label} / 15 minutes"
        runs.append(ratio_row(name, [seconds], [15 * 60.0], None if quick else 1.0))
    return found + runs


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
