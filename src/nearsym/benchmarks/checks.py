"""What the checks of a run cost, beside what they protect: an update, a save, a load.

- Actions, observations, rewards and the metrics of updates have to be finite.
- Every file that a run writes to has to be a regular one.
- A checkpoint is looked through before torch reads it, since it may come from anybody.
"""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.agents.batch import Batch
from nearsym.agents.drqv2 import DrQV2
from nearsym.benchmarks.replay import full_replay, paper_agent
from nearsym.benchmarks.timing import interleaved, ratio_row
from nearsym.training.allocator import keep_freed_memory
from nearsym.training.archive import check_archive
from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.checkpoint_file import check_content, decode, encode
from nearsym.training.evaluate import all_finite
from nearsym.training.packing import pack
from nearsym.training.untrusted import refuse_irregular, refuse_special
from nearsym.training.update_metrics import UpdateMetrics

SHARE = 0.03
STEPS = 2  # of the agent, for an update


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """The checks of an update, of a save and of a load, each beside the whole of it."""
    keep_freed_memory()
    size, batch_size = (37, 8) if quick else (85, 256)
    agent = paper_agent(size)
    batch = full_replay(500, size, None).sample(batch_size, np.random.default_rng(0))
    with tempfile.TemporaryDirectory(prefix="nearsym-bench-") as name:
        pairs = {"update": _update(agent, batch, size)} | _checkpoint(agent, Path(name))
        candidates = {
            f"{what}, {part}": run
            for what, both in pairs.items()
            for part, run in zip(("whole", "checks"), both, strict=True)
        }
        times = interleaved(candidates, rounds=3 if quick else 21)
    return [
        ratio_row(
            f"checks of the {what} / {what}",
            times[f"{what}, checks"],
            times[f"{what}, whole"],
            None if quick else SHARE,
        )
        for what in pairs
    ]


Pair = tuple[Callable[[], Any], Callable[[], Any]]


def _update(agent: DrQV2, batch: Batch, size: int) -> Pair:
    metrics = agent.update(batch, step=10_000)
    obs, action, kept = (
        np.zeros((size, size, 9), np.uint8),
        np.zeros(1, np.float32),
        UpdateMetrics(),
    )

    def check() -> bool:
        """As the loop does: the values of its steps at once, the metrics when they are read."""
        finite = [all_finite(value) for value in STEPS * (action, obs, np.asarray(1.0))]
        kept.add(0, metrics)
        read = [math.isfinite(number) for _, row in kept.take() for number in row.values()]
        return all(finite) and all(read)

    return lambda: agent.update(batch, step=10_000), check


def _checkpoint(agent: DrQV2, folder: Path) -> dict[str, Pair]:
    store = CheckpointStore(folder / "checkpoints")
    state = {"agent": agent.state_dict()}
    path = store.save(state, 0)
    plain = {"frames": 0, "state": pack(state), "replay": None, "settings": None}
    _, view = encode(plain)
    body = bytes(view)

    def check_save() -> None:
        refuse_special(path)
        refuse_irregular(path)

    def check_load() -> None:
        refuse_irregular(path)
        check_archive(path, body)
        check_content(path, plain)

    return {
        "save": (lambda: store.save(state, 0), check_save),
        "load": (lambda: decode(path), check_load),
    }
