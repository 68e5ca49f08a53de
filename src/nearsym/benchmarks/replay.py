"""Sampling from a full replay and saving checkpoints, beside the update that they serve.

The baseline is the fastest update at the paper's sizes: the model `none` in the precision that the
machine does best. Sampling may take a tenth of it. A checkpoint every 10k frames (5000 agent steps,
2500 updates) may take a fiftieth of the updates between two of them.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nearsym.agents.base import Compute
from nearsym.agents.drqv2 import DrQV2, DrQV2Config
from nearsym.benchmarks.timing import interleaved, rate_row, ratio_row
from nearsym.groups.action import Invariant
from nearsym.groups.catalog import trivial
from nearsym.groups.representation import trivial_of
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.runs.build import resolve_precision
from nearsym.training.allocator import keep_freed_memory
from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.replay import Replay

EPISODE = 500  # agent steps: 1000 environment steps at action repeat 2
STEPS_BETWEEN_CHECKPOINTS = 5000
UPDATES_BETWEEN_CHECKPOINTS = STEPS_BETWEEN_CHECKPOINTS // 2
SAMPLE_SHARE, CHECKPOINT_SHARE = 0.1, 0.02


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Sampling from memory and from a warm memory map, a checkpoint, and its bytes per frame.

    The replay holds 20,000 frames, which is far more than any cache and quick to fill. `threads`
    are those that the command has given torch for the update; sampling uses one.
    """
    keep_freed_memory()
    size, batch_size, capacity = (37, 8, 200) if quick else (85, 256, 20_000)
    rng = np.random.default_rng(0)
    agent = paper_agent(size)
    with tempfile.TemporaryDirectory(prefix="nearsym-bench-") as name:
        folder = Path(name)
        memory = full_replay(capacity, size, None)
        mapped = full_replay(capacity, size, folder / "mapped")
        batch = memory.sample(batch_size, rng)
        times = interleaved(
            {
                "update": lambda: agent.update(batch, step=10_000),
                "memory": lambda: memory.sample(batch_size, rng),
                "memory-mapped": lambda: mapped.sample(batch_size, rng),
            },
            rounds=3 if quick else 11,
        )
        update = times["update"]
        found = [
            ratio_row(f"sample {batch_size}, {kind} / update", times[kind], update, _target(quick))
            for kind in ("memory", "memory-mapped")
        ]
        return found + _checkpoint_rows(agent, memory, folder, size, update, quick)


def _target(quick: bool, share: float = SAMPLE_SHARE) -> float | None:
    return None if quick else share


def _checkpoint_rows(
    agent: DrQV2, replay: Replay, folder: Path, size: int, update: list[float], quick: bool
) -> list[dict[str, Any]]:
    """The second save of a run and those after it: only new frames are written."""
    store = CheckpointStore(folder / "checkpoints", replay=replay)
    store.save({"agent": agent.state_dict()}, 0)
    steps = 50 if quick else STEPS_BETWEEN_CHECKPOINTS
    seconds, saved = [], []
    for frames in range(1, 4):
        _fill(replay, steps, size)
        before = _sizes(store.replay_folder)
        start = time.perf_counter()
        store.save({"agent": agent.state_dict()}, frames)
        seconds.append(time.perf_counter() - start)
        after = _sizes(store.replay_folder)
        saved.append(sum(after[path] - before.get(path, 0) for path in after) / steps)
    baseline = [UPDATES_BETWEEN_CHECKPOINTS * statistics.median(update)] * len(seconds)
    target = _target(quick, CHECKPOINT_SHARE)
    weights = _sizes(store.folder)[store.folder / "checkpoint-000000000003.ckpt"]
    return [
        ratio_row("checkpoint / updates of 10k frames", seconds, baseline, target),
        rate_row("checkpoint, replay saved per new frame", statistics.median(saved), "bytes", None),
        rate_row("checkpoint, everything else", weights, "bytes", None),
    ]


def paper_agent(size: int) -> DrQV2:
    """The model `none` at the sizes of the paper."""
    group = trivial()
    symmetry = Symmetry(Invariant(group), trivial_of(group))
    networks = build_actor_critic(symmetry, (size, size, 9), "drqv2", NetworkConfig(model="none"))
    compute = Compute(torch.device("cpu"), bfloat16=resolve_precision("auto", "cpu") == "bf16")
    generator = torch.Generator().manual_seed(0)
    return DrQV2(networks, DrQV2Config(), compute=compute, generator=generator)


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
    _fill(replay, capacity + capacity // 4, size)
    return replay


def _fill(replay: Replay, steps: int, size: int) -> None:
    """Feed that many observations in whole and broken-off episodes."""
    pool = np.random.default_rng(0).integers(0, 256, (64, size, size, 3), np.uint8)
    action = np.zeros(1, np.float32)
    stacks = [
        np.concatenate([pool[(i - back) % len(pool)] for back in (2, 1, 0)], axis=-1)
        for i in range(len(pool))
    ]
    first = np.concatenate([pool[0]] * 3, axis=-1)
    second = np.concatenate([pool[0], pool[0], pool[1]], axis=-1)
    for step in range(steps):
        age = step % EPISODE
        if age == 0:
            replay.start(first)
        else:
            replay.add(action, 1.0, 1.0, second if age == 1 else stacks[age % len(pool)])


def _sizes(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
