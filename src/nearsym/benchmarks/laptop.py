"""DrQ-v2 at the preset laptop, beside what version 0.1.0 took; and the memory of a large update.

Both versions were timed beside DrQ-v2's published update, here at 51 px with batches of 128 and
with freed memory kept: a ruler that does not change with this library.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from nearsym.benchmarks.loop import LoopTimes
from nearsym.benchmarks.published import published_update, random_batch
from nearsym.benchmarks.timing import interleaved, most_row, ratio_row
from nearsym.benchmarks.update import paper_update
from nearsym.errors import UsageError
from nearsym.runs.build import build_agent
from nearsym.runs.compiled import compile_encoder
from nearsym.runs.configure import configure
from nearsym.runs.train import torch_threads
from nearsym.training.allocator import keep_freed_memory

EPISODE_FRAMES = 1000
VERSION_0_1 = {"none": (0.237, 0.271), "approx": (0.266, 0.307)}
"""An update, and the whole loop for a step of the agent, in published updates; two measurements."""
TARGETS = {"update": 0.65, "whole loop": 0.60}
PEAK = 1170.0
"""Megabytes: what version 0.1.0 took."""
ROUNDS = 5


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Updates and whole loops on one thread, then the peak of memory."""
    keep_freed_memory()
    found = []
    with torch_threads(1):
        for model in VERSION_0_1:
            found += _beside_0_1(model, quick)
        found += [] if quick else _compiled()
    return [*found, _memory(quick)]


def _beside_0_1(model: str, quick: bool) -> list[dict[str, Any]]:
    config = configure("cartpole-swingup", obs="pixels", model=model, threads=1)
    seconds: dict[str, list[float]] = {"update": [], "whole loop": []}
    world = []
    published = published_update(*(8, 37) if quick else (128, 51))
    published()  # the first one is slower
    ruler = []
    for _ in range(1 if quick else ROUNDS):
        ruler.append(_published_seconds(published))
        times = LoopTimes.of(config, quick)
        seconds["update"].append(times.update)
        seconds["whole loop"].append(times.frames * times.per_frame(EPISODE_FRAMES))
        world.append(times.world)
    found = []
    for recorded, (part, taken) in zip(VERSION_0_1[model], seconds.items(), strict=True):
        name = f"DrQ-v2 {part} {model}, preset laptop / version 0.1.0"
        before = [recorded * unit for unit in ruler]
        found.append(ratio_row(name, taken, before, None if quick else TARGETS[part]))
    name = f"environment {model} / whole loop, preset laptop"
    return [*found, ratio_row(name, world, seconds["whole loop"], None)]


def _compiled() -> list[dict[str, Any]]:
    """An update with a compiled encoder beside one without; nothing where there is no compiler."""
    try:
        updates = {name: _update(compiled=name == "compiled") for name in ("eager", "compiled")}
    except UsageError:
        return []
    seconds = interleaved(updates, rounds=3 * ROUNDS)
    name = "DrQ-v2 update approx, preset laptop, --compile / without"
    return [ratio_row(name, seconds["compiled"], seconds["eager"], None)]


def _update(*, compiled: bool) -> Callable[[], Any]:
    config = configure("cartpole-swingup", obs="pixels", model="approx", threads=1)
    env = config.task.make()
    agent = build_agent(config, env)
    if compiled:
        compile_encoder(agent)
    assert env.observation_space.shape is not None
    batch = random_batch(config.training.batch_size, env.observation_space.shape, 1)
    return lambda: agent.update(batch, step=10_000)


def _published_seconds(update: Any) -> float:
    start = time.perf_counter()
    update()
    return time.perf_counter() - start


def _memory(quick: bool) -> dict[str, Any]:
    """Of a process that does nothing else: memory that was freed stays with a process."""
    size, batch = (37, 8) if quick else (85, 256)
    program = f"from nearsym.benchmarks.laptop import peak; print(peak({size}, {batch}))"
    peaks = []
    for _ in range(1 if quick else ROUNDS):  # where blocks come to lie differs between processes
        answer = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        peaks.append(float(answer.stdout))
    name = f"peak memory of an update, approx, {size} px, batch {batch}"
    return most_row(name, statistics.median(peaks), "MB", None if quick else PEAK)


def peak(size: int, batch_size: int) -> float:
    """Megabytes that this process takes at most for an update at the paper preset in float32."""
    keep_freed_memory()
    with torch_threads(1):
        update = paper_update("cartpole-swingup", "approx", "fp32", 1, batch_size, size)
        for _ in range(3):
            update()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
