"""The training loop: act, store, update, evaluate, save; and the state that makes it resumable."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit
from torch import Tensor
from tqdm import tqdm

from nearsym.agents.base import Agent
from nearsym.errors import RunError, UsageError
from nearsym.training.evaluate import all_finite
from nearsym.training.log import RunLog
from nearsym.training.random_state import generator_state, set_generator_state
from nearsym.training.replay import Replay


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How long, how often. Frames are environment steps: agent steps times action repeat."""

    frames: int = 1_000_000
    """Length of the run."""
    seed_frames: int = 4000
    """Frames before the first update."""
    update_every: int = 2
    """Agent steps for each update."""
    batch_size: int = 256
    """Transitions in an update."""
    nstep: int = 3
    """Rewards summed before bootstrapping."""
    discount: float = 0.99
    """γ for each agent step."""
    replay_capacity: int = 500_000
    """Agent steps the replay holds."""
    replay: str = "memory"
    """Where the replay lives: memory, or disk (memory-mapped)."""
    eval_every: int = 20_000
    """Frames between evaluations."""
    eval_episodes: int = 10
    """Episodes in an evaluation."""
    checkpoint_every: int = 10_000
    """Frames between checkpoints."""

    def __post_init__(self) -> None:
        if self.replay not in ("memory", "disk"):
            raise UsageError(f"replay lives in memory or on disk, got {self.replay!r}.")
        whole = ("frames", "update_every", "batch_size", "nstep", "eval_every", "eval_episodes")
        for name in (*whole, "checkpoint_every", "replay_capacity"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}.")


def check_learns(config: TrainingConfig) -> None:
    if config.frames < config.seed_frames:
        raise UsageError(
            f"`frames` {config.frames} ends before the first update: the first "
            f"{config.seed_frames} (`training.seed_frames`) only fill the replay."
        )


class DivergedError(RunError):
    """Training met a number that is not finite."""

    def __init__(self, quantity: str, frames: int):
        super().__init__(
            f"{quantity} is not finite at frame {frames}; the run stops here. "
            "What it has saved is from before."
        )


class Interrupted(RunError):
    """Somebody asked the run to stop; it has been saved."""


class Store(Protocol):
    """What the loop needs of a checkpoint store."""

    def save(self, state: dict[str, Any], frames: int, *, best: bool = False) -> None: ...


@dataclass
class LoopState:
    """Where the loop stands. Everything else that changes lives in agent, replay and env."""

    frames: int = 0
    step: int = 0
    episode_return: float = 0.0
    evaluation_due: bool = False
    best_return: float = -math.inf
    final_return: float = math.nan
    seconds: float = 0.0
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of the update metrics since the last line of the log."""
    count: int = 0
    """Updates in those sums."""


class Trainer:
    """Runs an agent in an environment until a number of frames.

    `evaluate` returns the metrics of an evaluation, `eval/returns` among them; it calls its
    argument now and then, which raises `Interrupted` where somebody asked to stop.

    Repeats exactly for a seed: the randomness of acting and updating is the agent's generator,
    that of sampling `rng`, that of the task the environment's own. `arithmetic` names what else
    the last bit depends on (threads, precision): it is saved, and has to be the same on resuming.
    """

    def __init__(
        self,
        *,
        env: gymnasium.Env,
        agent: Agent,
        replay: Replay,
        evaluate: Callable[[Callable[[], None]], dict[str, Any]],
        log: RunLog,
        store: Store,
        config: TrainingConfig,
        rng: np.random.Generator,
        first_seed: int,
        arithmetic: dict[str, Any],
        stop_requested: Callable[[], bool] = lambda: False,
        callbacks: Any = (),
    ):
        self.env, self.agent, self.replay = env, agent, replay
        self.evaluate, self.log, self.store = evaluate, log, store
        self.config, self.rng = config, rng
        self.first_seed, self.arithmetic = first_seed, arithmetic
        self.stop_requested = stop_requested
        self.state = LoopState()
        self.obs: np.ndarray | None = None
        self._shown: dict[str, str] = {}

    def run(self, bar: tqdm | None = None) -> LoopState:
        bar = tqdm(disable=True) if bar is None else bar
        """Train to the end, or to the next request to stop."""
        if self.obs is None:
            self._start_episode(seed=self.first_seed)
        started = time.monotonic() - self.state.seconds
        if self.state.evaluation_due:  # the run was stopped in the middle of one
            self._pause_if_due(self.state.frames, bar)
        while self.state.frames < self.config.frames:
            before = self.state.frames
            self._step()
            bar.set_postfix(self._shown, refresh=False)
            bar.update(self.state.frames - before)
            self.state.seconds = time.monotonic() - started
            self.state.evaluation_due = self._crossed(self.config.eval_every, before)
            self._pause_if_due(before, bar)
        self.state.seconds = time.monotonic() - started  # with the last evaluation
        return self.state

    def _crossed(self, every: int, before: int) -> bool:
        """Whether the last step passed a multiple of `every`, or ended the run."""
        frames = self.state.frames
        return frames // every > before // every or frames >= self.config.frames

    def _step(self) -> None:
        """One agent step and, when due, one update."""
        state, config = self.state, self.config
        assert self.obs is not None
        action = self.agent.act(self.obs, step=state.step)
        self._check("action", action)  # a finite loss can still leave weights that are not
        obs, reward, terminated, truncated, info = self.env.step(action)
        state.step += 1
        state.frames += info.get("environment_steps", 1)
        self._check("observation", obs)
        self._check("reward", np.asarray(reward))
        state.episode_return += float(reward)
        self.replay.add(action, float(reward), 0.0 if terminated else 1.0, obs)
        self.obs = obs
        if state.frames >= config.seed_frames and state.step % config.update_every == 0:
            batch = self.replay.sample(config.batch_size, self.rng)
            self._collect(self.agent.update(batch, step=state.step))
        if terminated or truncated:
            self._end_episode()
            self._start_episode()

    def _pause_if_due(self, before: int, bar: tqdm) -> None:
        """Evaluate and save where the schedule says so; stop where somebody asked."""
        checkpoint_due = self._crossed(self.config.checkpoint_every, before)
        if self.state.evaluation_due or checkpoint_due:
            self._check_weights()
        try:
            improved = self.state.evaluation_due and self._evaluate(bar)
            if improved or checkpoint_due:
                self.save(best=improved)
            self._stop_if_requested()
        except Interrupted:
            self.save()
            raise

    def _finished(self) -> bool:
        return self.state.frames >= self.config.frames and not self.state.evaluation_due

    def _stop_if_requested(self) -> None:
        if self.stop_requested() and not self._finished():
            raise Interrupted(f"Stopped and saved at frame {self.state.frames}.")

    def _evaluate(self, bar: tqdm) -> bool:
        state = self.state
        metrics = self.evaluate(self._stop_if_requested)
        self._check("eval/returns", np.asarray(metrics["eval/returns"]))
        mean = float(np.mean(metrics["eval/returns"]))
        losses = self._take_losses()  # an episode may be longer than the run
        self.log.write(state.frames, {"eval/return_mean": mean} | metrics | losses)
        improved = mean > state.best_return
        state.best_return = max(state.best_return, mean)
        state.final_return, state.evaluation_due = mean, False
        self._shown |= {"return": f"{mean:.0f}", "best": f"{state.best_return:.0f}"}
        bar.set_postfix(self._shown)
        return improved

    def _start_episode(self, seed: int | None = None) -> None:
        self.obs, _ = self.env.reset(seed=seed)
        self._check("observation", self.obs)
        self.replay.start(self.obs)
        self.state.episode_return = 0.0

    def _end_episode(self) -> None:
        state = self.state
        times = {"time/seconds": state.seconds, "time/frames_per_second": self._speed()}
        returned = {"train/return": state.episode_return}
        self.log.write(state.frames, returned | self._take_losses() | times)

    def _take_losses(self) -> dict[str, float]:
        """Means of the update metrics since they were last asked for."""
        state = self.state
        means = {name: total / state.count for name, total in state.sums.items()}
        self._shown |= {k: f"{v:.3g}" for k, v in means.items() if k.endswith("/loss")}
        state.sums, state.count = {}, 0
        return means

    def _speed(self) -> float:
        return self.state.frames / max(self.state.seconds, 1e-9)

    def _collect(self, metrics: dict[str, Tensor]) -> None:
        """Add the metrics of one update, and stop at the first that is not finite."""
        state = self.state
        for name, value in metrics.items():
            number = float(value)
            if not math.isfinite(number):
                raise DivergedError(name, state.frames)
            state.sums[name] = state.sums.get(name, 0.0) + number
        state.count += 1

    def _check(self, name: str, value: np.ndarray) -> None:
        if not all_finite(np.asarray(value)):
            raise DivergedError(name, self.state.frames)

    def _check_weights(self) -> None:
        """A finite loss can leave weights that are not: neither play nor save them."""
        for part, network in self.agent.networks.parts.items():
            for name, weight in network.named_parameters():
                if not bool(weight.isfinite().all()):
                    raise DivergedError(f"{part}.{name}", self.state.frames)

    def save(self, *, best: bool = False) -> None:
        """Put everything that decides what happens next into a checkpoint."""
        assert self.obs is not None
        env: Any = self.env.unwrapped
        state = {
            "loop": asdict(self.state),
            "agent": self.agent.state_dict(),
            "rng": generator_state(self.rng),
            "environment": env.get_state() if _can_resume(env) else None,
            "elapsed": [limit._elapsed_steps for limit in _time_limits(self.env)],
            "obs": self.obs,
            "log": self.log.position(),
            "arithmetic": self.arithmetic,
        }
        self.store.save(state, self.state.frames, best=best)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Stand where a checkpoint was saved; its replay and log are the caller's to restore.

        An environment that cannot set its state starts a new episode instead.
        """
        for name, now in self.arithmetic.items():
            before = state["arithmetic"].get(name)
            if before != now:
                raise UsageError(
                    f"The run was begun with {name} {before} and is to go on with {now}, which "
                    "would give other numbers. Put config.json back."
                )
        self.state = LoopState(**state["loop"])
        self.agent.load_state_dict(state["agent"])
        set_generator_state(self.rng, state["rng"])
        self.env.reset(seed=self.first_seed)
        if state["environment"] is None:
            self._start_episode()
        else:
            self.env.unwrapped.set_state(state["environment"])  # type: ignore[attr-defined]
            for limit, elapsed in zip(_time_limits(self.env), state["elapsed"], strict=True):
                limit._elapsed_steps = elapsed
            self.obs = state["obs"]


def _can_resume(env: gymnasium.Env) -> bool:
    return hasattr(env, "get_state") and hasattr(env, "set_state")


def _time_limits(env: gymnasium.Env) -> list[TimeLimit]:
    """Gymnasium's counters of steps around an environment, which are no part of its own state."""
    found = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TimeLimit):
            found.append(env)
        env = env.env
    return found
