"""One update of SAC on state vectors, beside that of Stable-Baselines3 at the same sizes.

On one thread: two-layer networks of 256 are too small for more.
"""

from collections.abc import Callable
from typing import Any

from nearsym.benchmarks.published import random_batch
from nearsym.benchmarks.timing import interleaved, ratio_row
from nearsym.errors import MissingExtraError
from nearsym.runs.build import build_agent
from nearsym.runs.configure import configure
from nearsym.runs.train import torch_threads
from nearsym.training.allocator import keep_freed_memory

TASKS = {"D1": "cartpole-swingup", "D2": "reacher-hard"}
MODELS = ("none", "exact", "approx", "rpp", "augment", "mirror")
TARGETS = {("none", "D1"): 0.60, ("approx", "D1"): 0.80, ("approx", "D2"): 0.90}
APPROX_OVER_EXACT = AUGMENT_OVER_NONE = 1.10
AT_ONCE = 5
"""Updates in a measurement: one alone is too short for a clock on a shared machine."""


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Each model on D1 and D2 against the baseline, approx against exact, augment against none."""
    keep_freed_memory()
    with torch_threads(1):
        return [row for group in TASKS for row in _of_group(group, quick)]


def _of_group(group: str, quick: bool) -> list[dict[str, Any]]:
    candidates = {model: _repeated(_update(TASKS[group], model)) for model in MODELS}
    candidates["sb3"] = _repeated(sb3_update(TASKS[group]))
    times = interleaved(candidates, rounds=2 if quick else 41, warmup=1 if quick else 3)
    for seconds in times.values():
        seconds[:] = [s / AT_ONCE for s in seconds]

    def row(name: str, model: str, baseline: str, target: float | None) -> dict[str, Any]:
        return ratio_row(name, times[model], times[baseline], None if quick else target)

    found = [
        row(f"SAC update {m} {group} / Stable-Baselines3", m, "sb3", TARGETS.get((m, group)))
        for m in MODELS
    ]
    return [
        *found,
        row(f"SAC update approx {group} / exact", "approx", "exact", APPROX_OVER_EXACT),
        row(f"SAC update augment {group} / none", "augment", "none", AUGMENT_OVER_NONE),
    ]


def _repeated(update: Callable[[], Any]) -> Callable[[], Any]:
    def several() -> None:
        for _ in range(AT_ONCE):
            update()

    return several


def _update(task: str, model: str) -> Callable[[], Any]:
    config = configure(task, obs="state", agent="sac", model=model, threads=1, precision="fp32")
    env = config.task.make()
    agent = build_agent(config, env)
    assert env.observation_space.shape is not None
    assert env.action_space.shape is not None
    sizes = env.observation_space.shape, env.action_space.shape[0]
    batch = random_batch(config.training.batch_size, *sizes)
    return lambda: agent.update(batch, step=10_000)


def sb3_update(task: str) -> Callable[[], Any]:
    """One update of Stable-Baselines3's SAC with the sizes of ours, its replay filled a little."""
    try:
        from stable_baselines3 import SAC
    except ImportError as error:
        raise MissingExtraError("The benchmark beside Stable-Baselines3", "sb3") from error
    config = configure(task, obs="state", agent="sac", model="none")
    width, size = config.network.hidden, config.training.batch_size
    agent = SAC(
        "MlpPolicy",
        config.task.make(),
        batch_size=size,
        learning_starts=2 * size,
        buffer_size=10 * size,
        policy_kwargs={"net_arch": [width, width]},
        device="cpu",
        seed=0,
    )
    agent.learn(2 * size + 1)
    return lambda: agent.train(1, size)
