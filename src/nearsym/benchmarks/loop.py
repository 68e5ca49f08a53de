"""How long the training loop takes, from the times of its two parts: stepping and updating."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearsym.benchmarks.timing import interleaved
from nearsym.runs.build import build_agent, build_replay
from nearsym.runs.config import RunConfig


@dataclass(frozen=True)
class LoopTimes:
    """Median seconds of the parts of a loop."""

    config: RunConfig
    frames: int
    """Environment steps in a step of the agent."""
    step: float
    """Choosing an action, stepping the environment and storing what came."""
    update: float
    """Sampling a batch and learning from it."""

    def per_frame(self, episode: int) -> float:
        """Seconds of the whole loop for a frame of training, where evaluations play episodes of so
        many frames; storing what they see is counted too, which they do not do."""
        training = self.config.training
        evaluated = training.eval_episodes * episode / training.eval_every
        return ((1 + evaluated) * self.step + self.update / training.update_every) / self.frames

    @classmethod
    def of(cls, config: RunConfig, quick: bool) -> "LoopTimes":
        """Measured in this process, with the threads that torch has now."""
        step, update = _parts(config)
        frames = max(step() for _ in range(20 if quick else 300))  # an episode may end early
        updates = interleaved({"update": update}, rounds=1 if quick else 5, warmup=1)["update"]
        return cls(config, frames, _median(step, 10 if quick else 100), statistics.median(updates))


def _parts(config: RunConfig) -> tuple[Callable[[], int], Callable[[], Any]]:
    env = config.task.make()
    agent = build_agent(config, env)
    replay = build_replay(config, env, None)
    rng = np.random.default_rng(0)
    obs, _ = env.reset(seed=0)
    replay.start(obs)

    def step() -> int:
        nonlocal obs
        action = agent.act(obs, step=10_000)
        obs, reward, _, truncated, info = env.step(action)
        replay.add(action, float(reward), 1.0, obs)
        if truncated:
            obs, _ = env.reset()
            replay.start(obs)
        return info.get("environment_steps", 1)

    def update() -> None:
        agent.update(replay.sample(config.training.batch_size, rng), step=10_000)

    return step, update


def _median(run: Callable[[], Any], times: int) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
