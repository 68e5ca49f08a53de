"""One agent update at the paper's sizes, beside DrQ-v2 as it was published.

The baseline is written out here once more, as slow as the original: channel-first float32 images,
a padded and resampled random shift, three unfused Adams, a target moved parameter by parameter.
"""

import copy
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.agents.batch import Batch
from nearsym.benchmarks.timing import interleaved, rate_row, ratio_row
from nearsym.experiments.build import build_agent, build_env, resolve_precision
from nearsym.experiments.config import RunConfig, TaskConfig
from nearsym.experiments.presets import preset_config
from nearsym.training.allocator import keep_freed_memory
from nearsym.training.replay import Replay

TASKS = {"D1": "cartpole-swingup", "D2": "reacher-hard"}
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
    found = [row for precision in precisions for row in _updates(precision, threads, quick)]
    return found + _loops(threads, quick)


def _updates(precision: str, threads: int, quick: bool) -> list[dict[str, Any]]:
    batch_size, size = (8, 37) if quick else (256, 85)
    candidates: dict[str, Callable[[], Any]] = {"published": _published_update(batch_size, size)}
    for group, task in TASKS.items():
        for model in ("none", "exact", "approx", "rpp", "sit"):
            if model == "sit" and quick:
                continue
            name = f"{model} {group}"
            candidates[name] = _update(task, model, precision, threads, batch_size, size)
    times = interleaved(candidates, rounds=2 if quick else 7, warmup=1)
    found = []
    for name in candidates:
        if name != "published":
            model, group = name.split()
            target = None if quick else TARGETS[precision].get((model, group))
            label = f"update {name} {precision} / published DrQ-v2"
            found.append(ratio_row(label, times[name], times["published"], target))
    for group in TASKS:
        approx, exact = times[f"approx {group}"], times[f"exact {group}"]
        target = None if quick else APPROX_OVER_EXACT
        found.append(ratio_row(f"approx {group} {precision} / exact", approx, exact, target))
    return found


def _config(task: str, model: str, precision: str, threads: int, size: int) -> RunConfig:
    config = preset_config("paper", TaskConfig(name=task, obs="pixels", size=size), "drqv2", model)
    return replace(config, precision=precision, threads=threads)


def _update(
    task: str, model: str, precision: str, threads: int, batch_size: int, size: int
) -> Callable[[], Any]:
    config = _config(task, model, precision, threads, size)
    env = build_env(config.task)
    agent = build_agent(config, env)
    assert env.observation_space.shape is not None
    assert env.action_space.shape is not None
    batch = _batch(batch_size, env.observation_space.shape, env.action_space.shape[0])
    return lambda: agent.update(batch, step=10_000)


def _batch(size: int, obs_shape: tuple[int, ...], actions: int) -> Batch:
    rng = np.random.default_rng(0)

    def images() -> Tensor:
        return torch.from_numpy(rng.integers(0, 256, (size, *obs_shape), dtype=np.uint8))

    action = torch.from_numpy(rng.uniform(-1, 1, (size, actions)).astype(np.float32))
    return Batch(images(), action, torch.rand(size), torch.full((size,), 0.97), images())


def _loops(threads: int, quick: bool) -> list[dict[str, Any]]:
    """Frames an hour of the whole loop, by timing its parts: stepping and updating."""
    found = []
    for preset in ("laptop",) if quick else ("laptop", "paper"):
        for model in ("none", "approx"):
            seconds = _seconds_per_frame(preset, model, threads, quick)
            name = f"whole loop, {preset} preset, cartpole-swingup, {model}"
            found.append(rate_row(name, 3600 / seconds, "frames/hour", None))
    return found


def _seconds_per_frame(preset: str, model: str, threads: int, quick: bool) -> float:
    task = TaskConfig(name=TASKS["D1"], obs="pixels")
    config = preset_config(preset, task, "drqv2", model)
    config = replace(config, precision=resolve_precision("auto", "cpu"), threads=threads)
    env = build_env(config.task)
    agent = build_agent(config, env)
    assert env.observation_space.shape is not None
    assert env.action_space.shape is not None
    replay = Replay(
        capacity=5000,
        obs_shape=env.observation_space.shape,
        obs_dtype=np.uint8,
        action_size=env.action_space.shape[0],
        frame_stack=config.task.frame_stack,
    )
    rng = np.random.default_rng(0)
    training = config.training
    obs, _ = env.reset(seed=0)
    replay.start(obs)

    def step() -> None:
        nonlocal obs
        action = agent.act(obs, step=10_000)
        obs, reward, _, truncated, _ = env.step(action)
        replay.add(action, float(reward), 1.0, obs)
        if truncated:
            obs, _ = env.reset()
            replay.start(obs)

    def update() -> None:
        agent.update(replay.sample(training.batch_size, rng), step=10_000)

    for _ in range(20 if quick else 300):
        step()
    stepping, updating = _median(step, 10 if quick else 100), _median(update, 1 if quick else 5)
    return (stepping + updating / training.update_every) / config.task.action_repeat


def _median(run: Callable[[], Any], times: int) -> float:
    run()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


# --------------------------------------------------------------------- the published agent


def _published_update(batch_size: int, size: int) -> Callable[[], Any]:
    """One update of DrQ-v2 as published, at the paper's encoder and widths."""
    side = ((((size - 1) // 2 - 2) // 2 - 2) // 2) - 2
    encoder = nn.Sequential(
        *(nn.Conv2d(9, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(32, 32, 3), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Flatten()),
    )
    features = 32 * side * side

    def trunk() -> nn.Module:
        return nn.Sequential(nn.Linear(features, 50), nn.LayerNorm(50), nn.Tanh())

    def head(inputs: int, outputs: int) -> nn.Module:
        widths = nn.Linear(inputs, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()
        return nn.Sequential(*widths, nn.Linear(1024, outputs))

    actor = nn.Sequential(trunk(), head(50, 1), nn.Tanh())
    critic = nn.ModuleList([trunk(), head(51, 1), head(51, 1)])
    target = copy.deepcopy(critic)
    optimisers = [
        torch.optim.Adam(m.parameters(), 1e-4, foreach=False) for m in (encoder, actor, critic)
    ]
    batch = _batch(batch_size, (size, size, 9), 1)

    def values(networks: nn.ModuleList, x: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        joined = torch.cat([networks[0](x), action], dim=-1)
        return networks[1](joined), networks[2](joined)

    def encode(images: Tensor) -> Tensor:
        return encoder(
            _published_shift(images.permute(0, 3, 1, 2).contiguous().float()) / 255 - 0.5
        )

    def noisy(mean: Tensor) -> Tensor:
        return (mean + (0.5 * torch.randn_like(mean)).clamp(-0.3, 0.3)).clamp(-1, 1)

    def step(loss: Tensor, *which: int) -> None:
        for i in which:
            optimisers[i].zero_grad(set_to_none=True)
        loss.backward()
        for i in which:
            optimisers[i].step()

    def update() -> None:
        x = encode(batch.obs)
        with torch.no_grad():
            next_x = encode(batch.next_obs)
            first, second = values(target, next_x, noisy(actor(next_x)))
            wanted = batch.reward[:, None] + batch.discount[:, None] * torch.min(first, second)
        first, second = values(critic, x, batch.action)
        step(F.mse_loss(first, wanted) + F.mse_loss(second, wanted), 0, 2)
        x = x.detach()
        first, second = values(critic, x, noisy(actor(x)))
        step(-torch.min(first, second).mean(), 1)
        with torch.no_grad():
            for old, new in zip(target.parameters(), critic.parameters(), strict=True):
                old.copy_(0.01 * new + 0.99 * old)

    return update


def _published_shift(images: Tensor, pad: int = 4) -> Tensor:
    """Replicate padding and `grid_sample` at whole-pixel offsets, on floats."""
    count, _, height, _ = images.shape
    padded = F.pad(images, (pad,) * 4, mode="replicate")
    full = height + 2 * pad
    line = torch.linspace(-1 + 1 / full, 1 - 1 / full, full)[:height]
    base = torch.stack(torch.meshgrid(line, line, indexing="xy"), dim=-1)
    shift = torch.randint(0, 2 * pad + 1, (count, 1, 1, 2)) * (2 / full)
    return F.grid_sample(padded, base + shift, padding_mode="zeros", align_corners=False)
