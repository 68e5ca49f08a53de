"""A run as an object: open one, and ask it anything."""

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np

from nearsym.agents.base import Agent
from nearsym.errors import UsageError
from nearsym.runs import train as training_runs
from nearsym.runs.build import build_agent, device_here, discount_of
from nearsym.runs.config import RunConfig
from nearsym.runs.curve import Curve, curve_of, relaxed_weights_of
from nearsym.runs.evaluate import FIRST_SEED, evaluate_in_shuffled_worlds, evaluate_run
from nearsym.runs.folder import (
    check_data,
    read_config,
    read_rows,
    read_summary,
)
from nearsym.runs.identity import bound
from nearsym.runs.plot import plot_curve, title_of
from nearsym.runs.policy import own_action
from nearsym.runs.train import StopRequested, never, torch_threads
from nearsym.tasks.adapted import own_spaces
from nearsym.tasks.custom import CustomTask, Factory, reopened
from nearsym.tasks.registry import find_task
from nearsym.tasks.task import Noise, Task
from nearsym.training.callbacks import Callback, all_of
from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.untrusted import refuse_linked_folder

StrPath = str | PathLike[str]


class Run:
    """A run folder: its configuration, its results, its agent.

    A run of one's own environment is opened with the class or function that makes it
    (`task=MyEnv`); where that has a name, `module:factory`, `trust_task=True` lets it be imported.
    Opening any other run imports nothing that the folder names.
    """

    def __init__(
        self,
        path: StrPath,
        task: str | Factory | None = None,
        *,
        trust_task: bool = False,
        _task: Task | None = None,
    ):
        self.path = Path(path)
        config = read_config(self.path)
        if _task is None:
            _task = _opened(config.task, task, trust_task)
        self.config: RunConfig = replace(config, task=_task)
        """Everything that defines the run."""

    @property
    def task(self) -> Task:
        """The world that it was trained in."""
        return self.config.task

    @property
    def summary(self) -> dict[str, Any]:
        """What the run says of itself at its end."""
        found = read_summary(self.path)
        if found is None:
            raise UsageError(
                f"{self.path} has not come to its end. Continue it with "
                f"`nearsym.Run({str(self.path)!r}).resume()`."
            )
        return found | {"run": str(self.path)}  # it may have been moved

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Every line of the log so far: frames, train/…, eval/…, relaxed/…, time/…."""
        return read_rows(self.path)

    def curve(self) -> Curve:
        """The returns of every evaluation so far."""
        return curve_of(self.metrics)

    def relaxed_weights(self) -> dict[str, np.ndarray]:
        """Layer to its relaxed weights at every evaluation, (evaluations, filters, elements, …)."""
        return relaxed_weights_of(self.metrics)

    def plot(self, path: StrPath | None = None) -> Any:
        """The learning curve as a matplotlib figure, also written to a file if one is named."""
        return plot_curve(self.curve(), path, title=title_of(self))

    def plot_relaxed(
        self, path: StrPath | None = None, *, when: Literal["training", "end"] = "training"
    ) -> Any:
        """The relaxed weights of every layer and element, over training or at its end."""
        from nearsym.runs.relaxed_figure import plot_relaxed

        return plot_relaxed(self, path, when=when)

    def evaluate(
        self,
        episodes: int = 50,
        *,
        noise: Noise | None = None,
        checkpoint: str = "best",
        sample: bool = False,
        seed: int = FIRST_SEED,
        video: StrPath | None = None,
        progress: bool = False,
        **trading: Any,
    ) -> dict[str, Any]:
        """Returns of whole episodes: `return_mean`, its 95 % interval `return_ci95`, `returns`, ….

        `noise` is a number, or 'task' for the image noise under which the paper tests policies on
        this task; by default that of training. Trading is played on the test part, with the daily
        value and costs of every episode and the baselines beside it. There `trading` may change
        the `part` (validation or test), `tickers`, `start`, `end`, `cost`, `cash` and
        `max_shares`; `export` is a folder for tables (`format` parquet or csv), `tear_sheet` a
        picture.
        """
        return evaluate_run(
            self,
            episodes=episodes,
            noise=noise,
            checkpoint=checkpoint,
            sample=sample,
            seed=seed,
            video=None if video is None else Path(video),
            trading=trading,
            progress=progress,
        )

    def evaluate_shuffled(self, worlds: int = 50, **options: Any) -> dict[str, Any]:
        """Trading: the excess over holding in test periods that cannot be predicted."""
        return evaluate_in_shuffled_worlds(self, worlds=worlds, **options)

    def policy(
        self, obs: np.ndarray, *, sample: bool = False, checkpoint: str = "best"
    ) -> np.ndarray:
        """The action for an observation, or one for each of a batch, in the environment's units."""
        if checkpoint not in self._agents:
            self._agents[checkpoint] = self.load_agent(checkpoint, self._env)
        return own_action(self._agents[checkpoint], self._env, np.asarray(obs), sample=sample)

    def audit(
        self,
        *,
        samples: int = 500,
        seed: int = 0,
        epsilon: float | None = None,
        checkpoint: str = "best",
        progress: bool = False,
    ) -> Any:
        """How equivariant the trained agent is, and the world it lives in."""
        from nearsym.audits.agent_in_environment import audit_agent_in

        with torch_threads(self.config.threads), closing(self.task.make("test")) as env:
            agent = self.load_agent(checkpoint, env)
            return audit_agent_in(
                env,
                agent.networks,
                lambda obs: agent.policy(obs[None])[0],
                discount=discount_of(self.config, env),
                reward_unit=agent.reward_unit,
                samples=samples,
                seed=seed,
                epsilon=epsilon,
                progress=progress,
            )

    def resume(
        self,
        frames: int | None = None,
        *,
        progress: bool = False,
        callbacks: Sequence[Callback] = (),
        stop_requested: StopRequested = never,
    ) -> "Run":
        """Go on where the last checkpoint stands, or to more frames; returns the run."""
        config = replace(read_config(self.path), task=self.task)  # asked for more frames since?
        try:
            training_runs.resume(
                config,
                self.path,
                frames=frames,
                callbacks=all_of(callbacks, progress),
                stop_requested=stop_requested,
            )
        finally:
            self._agents.clear()  # the checkpoints have changed
        return Run(self.path, _task=self.task)

    def export(self, path: StrPath, *, checkpoint: str = "best") -> dict[str, Any]:
        """The policy as one ONNX file, from raw observations to actions in the environment's units;
        checked against PyTorch on the spot."""
        from nearsym.integrations.onnx import export_policy

        with closing(self.task.make("test")) as env:
            agent = self.load_agent(checkpoint, env)
            obs_space, action_space = own_spaces(env)
            return export_policy(
                agent.networks, Path(path), obs_space=obs_space, action_space=action_space
            )

    def load_agent(self, checkpoint: str = "best", env: gymnasium.Env | None = None) -> Agent:
        """The trained agent, with the weights of the best checkpoint or the last."""
        refuse_linked_folder(self.path / "checkpoints")
        settings = bound(self.config, to_play=True)
        store = CheckpointStore(self.path / "checkpoints", settings=settings)
        config = replace(self.config, device=device_here(self.config.device))
        with closing(self.task.make("test")) if env is None else nullcontext(env) as made:
            agent = build_agent(config, made)
        store.load(checkpoint, lambda state, frames: agent.load_weights(state["agent"]))
        return agent

    @cached_property
    def _env(self) -> gymnasium.Env:
        """The world whose units `policy` speaks; it is never stepped."""
        env = self.task.make("test")
        check_data(self.path, self.task, env)
        return env

    @cached_property
    def _agents(self) -> dict[str, Agent]:
        """Checkpoint to the agent that `policy` asks."""
        return {}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {self.task.name}, {self.config.network.model})"


def _opened(saved: Task, given: str | Factory | None, trust_task: bool) -> Task:
    if isinstance(saved, CustomTask):
        return reopened(saved, given, trust_task)
    if given is not None and find_task(given).name != saved.name:
        raise UsageError(f"This run was trained on {saved.name}, not on the `task` {given}.")
    return saved
