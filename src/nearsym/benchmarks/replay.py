"""Sampling from a full replay, and what a checkpoint of it costs."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.benchmarks.timing import interleaved
from nearsym.training.replay import Replay

EPISODE = 500  # agent steps: 1000 environment steps at action repeat 2


def full_replay(capacity: int, size: int, folder: Path | None) -> Replay:
    """A replay of `size`-pixel stacks of three that has wrapped around, filled with noise."""
    replay = Replay(
        capacity=capacity,
        obs_shape=(size, size, 9),
        obs_dtype=np.uint8,
        action_size=1,
        frame_stack=3,
        folder=folder,
    )
    fill(replay, capacity + capacity // 4, size)
    return replay


def fill(replay: Replay, steps: int, size: int) -> None:
    """Feed some more episodes."""
    pool = np.random.default_rng(0).integers(0, 256, (64, size, size, 3), np.uint8)
    action = np.zeros(1, np.float32)
    for step in range(steps):
        age = step % EPISODE
        stack = [pool[max(age - back, 0) % len(pool)] for back in (2, 1, 0)]
        obs = np.concatenate(stack, axis=-1)
        if age == 0:
            replay.start(obs)
        else:
            replay.add(action, 1.0, 1.0, obs)


def rows(
    *,
    size: int = 85,
    batch_size: int = 256,
    capacity: int = 20_000,
    update_seconds: float | None = None,
    rounds: int = 15,
) -> list[dict[str, Any]]:
    """Seconds for a batch from memory and from a warm memory map, and bytes saved per step.

    With the seconds of an update as baseline, sampling may take a tenth of them. The default
    capacity is far larger than any cache (0.4 GB at 85 pixels) and quick to fill.
    """
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="nearsym-bench-") as folder:
        memory = full_replay(capacity, size, None)
        mapped = full_replay(capacity, size, Path(folder) / "mapped")
        seconds = interleaved(
            {
                "sample, memory": lambda: memory.sample(batch_size, rng),
                "sample, memory-mapped": lambda: mapped.sample(batch_size, rng),
            },
            rounds=rounds,
            warmup=5,
        )
        saved = _commit_row(memory, Path(folder) / "saved", size)
    found = [_row(name, values, update_seconds) for name, values in seconds.items()]
    return [*found, saved]


def _row(name: str, seconds: list[float], update_seconds: float | None) -> dict[str, Any]:
    median = statistics.median(seconds)
    ratio = None if update_seconds is None else median / update_seconds
    return {
        "name": name,
        "seconds": median,
        "baseline_seconds": update_seconds,
        "ratio": ratio,
        "target": None if ratio is None else 0.1,
        "ok": ratio is None or ratio <= 0.1,
    }


def _commit_row(replay: Replay, folder: Path, size: int) -> dict[str, Any]:
    """Bytes and seconds per step of an incremental commit: 5000 steps are 10k frames."""
    replay.commit(folder)
    before = _bytes_in(folder)
    steps = 5000
    fill(replay, steps, size)
    start = time.perf_counter()
    replay.commit(folder)
    seconds = time.perf_counter() - start
    return {
        "name": "replay saved per stored frame",
        "value": (_bytes_in(folder) - before) / steps,
        "unit": "bytes/frame",
        "seconds": seconds / steps,
        "target": None,
        "ok": True,
    }


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
