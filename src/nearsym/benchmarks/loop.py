"""How long the training loop takes, from the times of its parts: stepping, updating, playing."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from nearsym.agents.base import Agent
from nearsym.benchmarks.timing import Clock, interleaved
from nearsym.runs.build import build_agent, build_replay
from nearsym.runs.config import RunConfig
from nearsym.training.evaluate import rollouts

PLAYED = 20
"""Steps of an episode that are timed."""


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
    played: float
    """A step of an episode of an evaluation."""
    world: float
    """What the environment takes of `step`: all that another thread could do meanwhile."""

    def per_frame(self, episode: int) -> float:
        """Seconds of the whole loop for a frame of training, where evaluations play episodes of so
        many frames."""
        training = self.config.training
        evaluated = training.eval_episodes * episode / training.eval_every
        learned = self.step + self.update / training.update_every
        return (learned + evaluated * self.played) / self.frames

    @classmethod
    def of(cls, config: RunConfig, quick: bool, clock: Clock = time.perf_counter) -> "LoopTimes":
        """Measured in this process, with the threads that torch has now."""
        agent, worlds = _made(config)
        step, update = _parts(config, agent, worlds[0])
        frames = max(step() for _ in range(20 if quick else 300))  # an episode may end early
        parts: dict[str, Callable[[], Any]] = {
            "update": update,
            "play": partial(_play, agent, worlds[1:]),
        }
        seconds = interleaved(parts, rounds=1 if quick else 5, warmup=1, clock=clock)
        played = statistics.median(seconds["play"]) / (PLAYED * len(worlds[1:]))
        times = 10 if quick else 100
        stepped = _median(step, times, clock)
        world = _median(_stepping(worlds[0]), times, clock)
        return cls(config, frames, stepped, statistics.median(seconds["update"]), played, world)


def _made(config: RunConfig) -> tuple[Agent, list[gymnasium.Env]]:
    """The agent, its world and those of an evaluation."""
    env = config.task.make()
    count = config.training.eval_episodes if config.task.light else 1
    short = [TimeLimit(config.task.make("validation"), PLAYED) for _ in range(count)]
    return build_agent(config, env), [env, *short]


def _play(agent: Agent, envs: list[gymnasium.Env]) -> None:
    """The first steps of an episode in each environment."""
    list(rollouts(agent.policy, envs, episodes=len(envs), seed=0))


def _parts(
    config: RunConfig, agent: Agent, env: gymnasium.Env
) -> tuple[Callable[[], int], Callable[[], Any]]:
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


def _stepping(env: gymnasium.Env) -> Callable[[], Any]:
    """Random steps of an environment alone."""
    env.reset(seed=0)
    env.action_space.seed(0)

    def step() -> None:
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()

    return step


def _median(run: Callable[[], Any], times: int, clock: Clock) -> float:
    seconds = []
    for _ in range(times):
        start = clock()
        run()
        seconds.append(clock() - start)
    return statistics.median(seconds)
