"""The training loop: act, store, update, evaluate, save; and the state that makes it resumable."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import gymnasium
import numpy as np
from torch import Tensor

from nearsym.agents.base import Agent
from nearsym.errors import RunError, UsageError
from nearsym.training.callbacks import Callback, Callbacks, Progress
from nearsym.training.config import TrainingConfig
from nearsym.training.environment_state import environment_state, set_environment_state
from nearsym.training.evaluate import all_finite
from nearsym.training.log import RunLog
from nearsym.training.loop_state import LoopState, Stopwatch, saved_loop_state
from nearsym.training.random_state import generator_state, set_generator_state
from nearsym.training.replay import Replay
from nearsym.training.update_metrics import UpdateMetrics


class DivergedError(RunError):
    """Training met a number that is not finite.

    >>> print(DivergedError("critic/loss", 2000))
    critic/loss is not finite at frame 2000: the run has stopped. Its checkpoints are from before.
    """

    def __init__(self, quantity: str, frames: int):
        super().__init__(
            f"{quantity} is not finite at frame {frames}: the run has stopped. "
            "Its checkpoints are from before."
        )


class Interrupted(RunError):
    """The run was asked to stop; it has been saved.

    >>> print(Interrupted("Stopped and saved at frame 2000."))
    Stopped and saved at frame 2000.
    """


class Store(Protocol):
    """What the loop needs of a checkpoint store."""

    def save(self, state: dict[str, Any], frames: int, *, best: bool = False) -> Path: ...


class Trainer:
    """Runs an agent in an environment until a number of frames.

    `evaluate` returns the metrics of an evaluation, `eval/returns` among them; it calls its
    argument now and then, which raises `Interrupted` once a stop has been requested.

    Repeats exactly for a seed: the randomness of acting and updating is the agent's generator,
    that of sampling `rng`, that of the task the environment's own. `arithmetic` names what else
    the last bit depends on (threads, precision): it is saved, and has to be the same on resuming.
    `callbacks` are told what happens; one of them may end the run after an evaluation.

    The documentation of the package `nearsym.training` has an example of a whole run.
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
        callbacks: Sequence[Callback] = (),
    ):
        self.env, self.agent, self.replay = env, agent, replay
        self.evaluate, self.log, self.store = evaluate, log, store
        self.config, self.rng = config, rng
        self.first_seed, self.arithmetic = first_seed, arithmetic
        self.stop_requested = stop_requested
        self.callbacks = Callbacks(callbacks)
        self.state = LoopState()
        self.obs: np.ndarray | None = None
        self._shown: dict[str, str] = {}
        self._updates = UpdateMetrics()

    def run(self) -> LoopState:
        """Train to the end, until a callback ends the run, or until a stop is requested.

        A run that a callback has ended is saved but not finished: calling this again goes on, and
        so does resuming from the checkpoint.
        """
        if self.obs is None:
            self._start_episode(seed=self.first_seed)
        stopwatch = Stopwatch(self.state)
        try:
            self.callbacks.on_start(self._progress())
            self._train(stopwatch)
        finally:
            self.callbacks.on_end(self._progress())
        stopwatch.read()  # with the last evaluation
        return self.state

    def _train(self, stopwatch: Stopwatch) -> None:
        # An evaluation is due at the start if the run was stopped in the middle of one.
        ended = self.state.evaluation_due and self._pause_if_due(self.state.frames)
        while self.state.frames < self.config.frames and not ended:
            before = self.state.frames
            self._step()
            if self.callbacks:  # without any, nothing is built at every step
                self.callbacks.on_step(self._progress())
            stopwatch.read()
            self.state.evaluation_due = self._crossed(self.config.eval_every, before)
            ended = self._pause_if_due(before)

    def _progress(self) -> Progress:
        state, total = self.state, self.config.frames
        return Progress(state.frames, total, state.final_return, state.best_return, self._shown)

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

    def _pause_if_due(self, before: int) -> bool:
        """Evaluate and save when due, and stop on request; whether a callback ends the run."""
        checkpoint_due = self._crossed(self.config.checkpoint_every, before)
        if self.state.evaluation_due or checkpoint_due:
            self._check_weights()
        improved = ended = False
        try:
            if self.state.evaluation_due:
                improved, ended = self._evaluate()
            if improved or ended or checkpoint_due:
                self.save(best=improved)
            self._stop_if_requested()
        except Interrupted:
            self.save()
            raise
        return ended

    def _finished(self) -> bool:
        return self.state.frames >= self.config.frames and not self.state.evaluation_due

    def _stop_if_requested(self) -> None:
        if self.stop_requested() and not self._finished():
            raise Interrupted(f"Stopped and saved at frame {self.state.frames}.")

    def _evaluate(self) -> tuple[bool, bool]:
        """Whether the agent is the best so far, and whether a callback ends the run."""
        state = self.state
        metrics = self.evaluate(self._stop_if_requested)
        self._check("eval/returns", np.asarray(metrics["eval/returns"]))
        mean = float(np.mean(metrics["eval/returns"]))
        metrics = {"eval/return_mean": mean} | metrics
        metrics |= self._take_losses()  # an episode may be longer than the run
        self.log.write(state.frames, metrics)
        improved = mean > state.best_return
        state.best_return = max(state.best_return, mean)
        state.final_return, state.evaluation_due = mean, False
        self._show({"return": f"{mean:.0f}", "best": f"{state.best_return:.0f}"})
        return improved, self.callbacks.on_evaluation(self._progress(), metrics)

    def _start_episode(self, seed: int | None = None) -> None:
        self.obs, _ = self.env.reset(seed=seed)
        self._check("observation", self.obs)
        self.replay.start(self.obs)
        self.state.episode_return = 0.0

    def _end_episode(self) -> None:
        state = self.state
        speed = state.frames / max(state.seconds, 1e-9)
        times = {"time/seconds": state.seconds, "time/frames_per_second": speed}
        returned = {"train/return": state.episode_return}
        self.log.write(state.frames, returned | self._take_losses() | times)

    def _take_losses(self) -> dict[str, float]:
        """Means of the update metrics since they were last asked for."""
        self._read_updates()
        state = self.state
        means = {name: total / state.count for name, total in state.sums.items()}
        self._show({k: f"{v:.3g}" for k, v in means.items() if k.endswith("/loss")})
        state.sums, state.count = {}, 0
        return means

    def _show(self, texts: dict[str, str]) -> None:
        self._shown = self._shown | texts  # a new one: a callback may have kept the old

    def _collect(self, metrics: dict[str, Tensor]) -> None:
        """Keep the metrics of one update; they are read later, so that a GPU need not wait."""
        self._updates.add(self.state.frames, metrics)
        if self._updates.full:
            self._read_updates()

    def _read_updates(self) -> None:
        """Sum the metrics that were kept, and stop at the first that is not finite."""
        state = self.state
        for frames, metrics in self._updates.take():
            for name, number in metrics.items():
                if not math.isfinite(number):
                    raise DivergedError(name, frames)
                state.sums[name] = state.sums.get(name, 0.0) + number
            state.count += 1

    def _check(self, name: str, value: np.ndarray) -> None:
        if not all_finite(np.asarray(value)):
            self._read_updates()  # a loss may have been the first, and says more
            raise DivergedError(name, self.state.frames)

    def _check_weights(self) -> None:
        """A finite loss can leave weights that are not: neither play nor save them."""
        self._read_updates()
        for part, network in self.agent.networks.parts.items():
            for name, weight in network.named_parameters():
                if not bool(weight.isfinite().all()):
                    raise DivergedError(f"{part}.{name}", self.state.frames)

    def save(self, *, best: bool = False) -> None:
        """Put everything that decides what happens next into a checkpoint."""
        assert self.obs is not None
        self._read_updates()
        state = {
            "loop": asdict(self.state),
            "agent": self.agent.state_dict(),
            "rng": generator_state(self.rng),
            "obs": self.obs,
            "log": self.log.position(),
            "arithmetic": self.arithmetic,
            **environment_state(self.env),
        }
        path = self.store.save(state, self.state.frames, best=best)
        self.callbacks.on_checkpoint(self._progress(), path)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Stand where a checkpoint was saved; its replay and log are the caller's to restore.

        An environment that cannot set its state starts a new episode instead. What is no state of
        a run raises an error of some kind, and leaves a trainer that needs another state.
        """
        for name, now in self.arithmetic.items():
            before = state["arithmetic"].get(name, False)  # older versions did not compile
            if before != now:
                raise UsageError(
                    f"The run was begun with {name} {before} and is to continue with {now}, which "
                    "would give other numbers. Put config.json back."
                )
        self.state, self._updates = saved_loop_state(state["loop"]), UpdateMetrics()
        self.log.check(state["log"])
        self.agent.load_state_dict(state["agent"])
        set_generator_state(self.rng, state["rng"])
        self.env.reset(seed=self.first_seed)
        if set_environment_state(self.env, state):
            self.replay.check_observation(state["obs"])
            self.obs = state["obs"]
        else:
            self._start_episode()
