"""One agent update at the paper's sizes, beside DrQ-v2 as it was published (`published`)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nearsym.benchmarks.loop import LoopTimes
from nearsym.benchmarks.published import published_apart, published_update, random_batch
from nearsym.benchmarks.timing import interleaved, rate_row, ratio_row
from nearsym.runs.build import build_agent, resolve_precision
from nearsym.runs.config import RunConfig
from nearsym.runs.presets import preset_config
from nearsym.runs.train import torch_threads
from nearsym.tasks.registry import find_task
from nearsym.training.allocator import keep_freed_memory

TASKS = {"D1": "cartpole-swingup", "D2": "reacher-hard"}
EPISODE_FRAMES = 1000
TARGETS = {
    "bf16": {("none", "D1"): 0.25, ("approx", "D1"): 0.42, ("approx", "D2"): 0.62},
    "fp32": {("none", "D1"): 0.42, ("approx", "D1"): 0.67, ("approx", "D2"): 1.1},
}
APPROX_OVER_EXACT = 1.05


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Each model on D1 and D2 against the baseline, approx against exact, and whole loops."""
    keep_freed_memory()
    precisions = ["fp32"]
    if resolve_precision("auto", "cpu") == "bf16":
        precisions.append("bf16")
    with torch_threads(threads):
        found = [row for precision in precisions for row in _updates(precision, threads, quick)]
        return found + _loops(threads, quick)


def _updates(precision: str, threads: int, quick: bool) -> list[dict[str, Any]]:
    batch_size, size = (8, 37) if quick else (256, 85)
    kept = "published with kept memory"
    candidates: dict[str, Callable[[], Any]] = {kept: published_update(batch_size, size)}
    for group, task in TASKS.items():
        for model in ("none", "exact", "approx", "rpp", "sit"):
            if model == "sit" and quick:
                continue
            name = f"{model} {group}"
            candidates[name] = paper_update(task, model, precision, threads, batch_size, size)
    with published_apart(threads, batch_size, size) as published:
        candidates["published"] = published
        times = interleaved(candidates, rounds=2 if quick else 7, warmup=1)
    baseline = times.pop("published")
    found = [ratio_row(f"{kept} / published DrQ-v2", times.pop(kept), baseline, None)]
    for name, seconds in times.items():
        model, group = name.split()
        target = None if quick else TARGETS[precision].get((model, group))
        size_of = " (64 px)" if model == "sit" else ""
        label = f"update {name}{size_of} {precision} / published DrQ-v2"
        found.append(ratio_row(label, seconds, baseline, target))
    for group in TASKS:
        approx, exact = times[f"approx {group}"], times[f"exact {group}"]
        target = None if quick else APPROX_OVER_EXACT
        found.append(ratio_row(f"approx {group} {precision} / exact", approx, exact, target))
    return found


def _config(task: str, model: str, precision: str, threads: int, size: int) -> RunConfig:
    config = preset_config("paper", find_task(task, obs="pixels", size=size), "drqv2", model)
    return replace(config, precision=precision, threads=threads)


def paper_update(
    task: str, model: str, precision: str, threads: int, batch_size: int, size: int
) -> Callable[[], Any]:
    """An update of DrQ-v2 from pixels, at the paper preset but for these sizes."""
    config = _config(task, model, precision, threads, size)
    env = config.task.make()
    agent = build_agent(config, env)
    assert env.observation_space.shape is not None
    assert env.action_space.shape is not None
    batch = random_batch(batch_size, env.observation_space.shape, env.action_space.shape[0])
    return lambda: agent.update(batch, step=10_000)


def _loops(threads: int, quick: bool) -> list[dict[str, Any]]:
    """Frames an hour of the whole loop."""
    found = []
    for preset in ("laptop",) if quick else ("laptop", "paper"):
        for model in ("none", "approx"):
            task = find_task(TASKS["D1"], obs="pixels")
            config = preset_config(preset, task, "drqv2", model)
            config = replace(config, precision=resolve_precision("auto", "cpu"), threads=threads)
            name = f"whole loop, {preset} preset, cartpole-swingup, {model}"
            rate = 3600 / LoopTimes.of(config, quick).per_frame(EPISODE_FRAMES)
            found.append(rate_row(name, rate, "frames/hour", None))
    return found
