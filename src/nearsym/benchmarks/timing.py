"""Interleaved timing: on a shared machine only ratios measured side by side mean anything."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from nearsym.training.bars import over

Clock = Callable[[], float]
"""`time.perf_counter`, or for work of a single thread `time.process_time`, which does not run while
other processes do."""


def interleaved(
    candidates: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 7,
    warmup: int = 2,
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each candidate in each round, every round running all candidates in turn."""
    for _ in range(warmup):
        for run in candidates.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in over(range(rounds), "rounds"):
        for name, run in candidates.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return seconds


def ratio_row(
    name: str, seconds: list[float], baseline: list[float], target: float | None
) -> dict[str, Any]:
    """A row that compares one candidate with its baseline: the median of the per-round ratios."""
    ratio = statistics.median(a / b for a, b in zip(seconds, baseline, strict=True))
    return {
        "name": name,
        "seconds": statistics.median(seconds),
        "baseline_seconds": statistics.median(baseline),
        "ratio": ratio,
        "target": target,
        "ok": target is None or ratio <= target,
    }


def most_row(name: str, value: float, unit: str, target: float | None) -> dict[str, Any]:
    """A row for an amount, where less is better."""
    row = rate_row(name, value, unit, target)
    return row | {"ok": target is None or value <= target, "at_most": True}


def rate_row(name: str, value: float, unit: str, target: float | None) -> dict[str, Any]:
    """A row for a rate, where more is better."""
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "target": target,
        "ok": target is None or value >= target,
    }
