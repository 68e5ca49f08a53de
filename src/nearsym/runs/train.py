"""Train an agent: a new run, or one that was stopped."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

from nearsym.agents.base import Agent
from nearsym.errors import UsageError
from nearsym.layers.relaxation import relaxed_weights
from nearsym.runs.build import build_agent, build_replay, seeds_of
from nearsym.runs.config import RunConfig, with_settings
from nearsym.runs.folder import (
    change_config,
    check_data,
    described,
    read_rows,
    read_summary,
    refuse_used,
    write_json,
)
from nearsym.tasks.task import Part
from nearsym.training import atomic
from nearsym.training.callbacks import Callback, Callbacks
from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.config import check_learns
from nearsym.training.evaluate import rollouts
from nearsym.training.log import RunLog
from nearsym.training.loop import LoopState, Trainer
from nearsym.training.runlock import RunLock

StopRequested = Callable[[], bool]


def never() -> bool:
    """Nobody asks the run to stop."""
    return False


def start(
    config: RunConfig,
    folder: Path,
    *,
    callbacks: Sequence[Callback] = (),
    stop_requested: StopRequested = never,
) -> dict[str, Any]:
    """A new run in a new folder; returns its summary.

    `stop_requested` is asked after every step; where it says yes, the run saves itself and raises
    `Interrupted`.
    """
    Callbacks(callbacks)  # refuses what is none, before anything is made
    check_learns(config.training, action_repeat=config.task.frames_per_step)
    refuse_used(folder)
    with torch_threads(config.threads), _worlds(config) as worlds:
        agent = build_agent(config, worlds.train)
        content = described(config, worlds.train, agent.networks.parameter_counts())
        atomic.make_place(folder, "out")  # now: a setting that cannot work leaves no folder
        with RunLock(folder):
            refuse_used(folder)  # somebody may have been faster
            write_json(folder / "config.json", content)
            return _train(config, folder, worlds, agent, callbacks, stop_requested, resume=False)


def resume(
    config: RunConfig,
    folder: Path,
    *,
    frames: int | None = None,
    callbacks: Sequence[Callback] = (),
    stop_requested: StopRequested = never,
) -> dict[str, Any]:
    """Go on with a run where its last checkpoint stands, or to more frames than it had.

    `config` is the one that the folder holds. A run that ended before its first checkpoint starts
    again.
    """
    if frames is not None:
        config = with_settings(config, "training", {"frames": frames})
        _check_longer(folder, frames)
    finished = read_summary(folder)
    if finished is not None and finished["frames"] >= config.training.frames:
        return finished
    with RunLock(folder), torch_threads(config.threads), _worlds(config) as worlds:
        agent = build_agent(config, worlds.train)
        check_data(folder, config.task, worlds.train)
        if frames is not None:  # the next time it is resumed it goes on to here too
            change_config(folder, config)
        begun = any((folder / "checkpoints").glob("*.ckpt")) or (folder / "summary.json").exists()
        return _train(config, folder, worlds, agent, callbacks, stop_requested, resume=begun)


class Worlds(NamedTuple):
    """The environments of a run."""

    train: gymnasium.Env
    validation: list[gymnasium.Env]
    """One, or one for each episode of an evaluation."""


@contextmanager
def _worlds(config: RunConfig) -> Iterator[Worlds]:
    task = config.task
    with ExitStack() as opened:

        def make(part: Part) -> gymnasium.Env:
            return opened.enter_context(closing(task.make(part)))

        train = make("train")
        count = config.training.eval_episodes if task.light else 1
        yield Worlds(train, [make("validation") for _ in range(count)])


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Torch with this many threads inside the block, and with as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_longer(folder: Path, frames: int) -> None:
    """A run cannot end before where it stands."""
    done = max((row["frames"] for row in read_rows(folder)), default=0)
    if frames < done:
        raise UsageError(f"{folder} has done {done} frames already: `frames` {frames} is too few.")


def _train(
    config: RunConfig,
    folder: Path,
    worlds: Worlds,
    agent: Agent,
    callbacks: Sequence[Callback],
    stop_requested: StopRequested,
    *,
    resume: bool,
) -> dict[str, Any]:
    on_disk = folder / "replay" if config.training.replay == "disk" else None
    replay = build_replay(config, worlds.train, on_disk)
    store = CheckpointStore(folder / "checkpoints", replay=replay, replay_folder=folder / "replay")
    saved, frames = store.load_latest() if resume else (None, 0)
    seeds = seeds_of(config.seed)
    with closing(RunLog(folder, position=saved["log"] if saved else 0, frames=frames)) as log:
        trainer = Trainer(
            env=worlds.train,
            agent=agent,
            replay=replay,
            evaluate=partial(_evaluate, config, agent, worlds.validation, seeds["evaluation"]),
            log=log,
            store=store,
            config=config.training,
            rng=np.random.default_rng(seeds["replay"]),
            first_seed=seeds["environment"],
            arithmetic={"threads": config.threads, "precision": config.precision},
            stop_requested=stop_requested,
            callbacks=callbacks,
        )
        if saved is not None:
            trainer.load_state_dict(saved)
        state = trainer.run()
    summary = _summary(config, folder, agent, state)
    write_json(folder / "summary.json", summary)
    return summary


def _summary(config: RunConfig, folder: Path, agent: Agent, state: LoopState) -> dict[str, Any]:
    return {
        "task": config.task.name,
        "variant": config.task.variant,
        "model": config.network.model,
        "agent": config.agent,
        "seed": config.seed,
        "frames": state.frames,
        "seconds": state.seconds,
        "best_return": state.best_return,
        "final_return": state.final_return,
        "parameters": agent.networks.parameter_counts(),
        "run": str(folder),
    }


def _evaluate(
    config: RunConfig,
    agent: Agent,
    envs: list[gymnasium.Env],
    seed: int,
    on_step: Callable[[], None],
) -> dict[str, Any]:
    """Returns of the mean policy on the same starts every time, and every relaxed weight."""
    count = config.training.eval_episodes
    episodes = rollouts(agent.policy, envs, episodes=count, seed=seed, on_step=on_step)
    weights = {
        f"relaxed/{part}.{name}": weight
        for part, network in agent.networks.parts.items()
        for name, weight in relaxed_weights(network).items()
    }
    return {"eval/returns": [episode.total for episode in episodes]} | weights
