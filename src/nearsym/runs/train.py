"""Train an agent: a new run, or one that was stopped."""

import warnings
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
from nearsym.runs.compiled import compile_encoder
from nearsym.runs.config import RunConfig, with_settings
from nearsym.runs.folder import (
    change_config,
    check_data,
    described,
    read_config,
    read_rows,
    read_summary,
    refuse_used,
    warn_if_changed,
    write_json,
)
from nearsym.runs.identity import bound
from nearsym.tasks.custom import closed_if_refused
from nearsym.tasks.task import Part
from nearsym.training import atomic
from nearsym.training.callbacks import Callback, Callbacks
from nearsym.training.checkpoint import CheckpointStore, CheckpointWarning
from nearsym.training.config import check_learns
from nearsym.training.evaluate import rollouts
from nearsym.training.log import RunLog
from nearsym.training.loop import Trainer
from nearsym.training.loop_state import LoopState
from nearsym.training.runlock import RunLock
from nearsym.training.untrusted import read_object, refuse_irregular_run

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
    with closed_if_refused(config.task):
        Callbacks(callbacks)  # refuses what is none, before anything is made
        check_learns(config.training, action_repeat=config.task.frames_per_step)
        refuse_used(folder)
        return _start(config, folder, callbacks, stop_requested)


def _start(
    config: RunConfig, folder: Path, callbacks: Sequence[Callback], stop_requested: StopRequested
) -> dict[str, Any]:
    with torch_threads(config.threads), _worlds(config) as worlds:
        agent = _learner(config, worlds.train)
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
    again, with a warning.
    """
    refuse_irregular_run(folder)
    if frames is not None:
        config = with_settings(config, "training", {"frames": frames})
        _check_longer(folder, frames)
    finished = read_summary(folder)
    if finished is not None and finished["frames"] >= config.training.frames:
        return finished
    with RunLock(folder), torch_threads(config.threads), _worlds(config) as worlds:
        agent = _learner(config, worlds.train)
        check_data(folder, config.task, worlds.train)
        recorded = read_object(folder / "config.json").get("versions", {})
        what = f"{folder} began; the run continues with the new code"
        warn_if_changed(recorded, config.task, what)
        begun = _has_begun(config, folder)
        return _train(config, folder, worlds, agent, callbacks, stop_requested, resume=begun)


def _learner(config: RunConfig, env: gymnasium.Env) -> Agent:
    agent = build_agent(config, env)
    if config.compile:
        compile_encoder(agent)
    return agent


def _has_begun(config: RunConfig, folder: Path) -> bool:
    """Whether there is something to go on from; refuses where there was and it is gone."""
    if any((folder / "checkpoints").glob("*.ckpt")) or (folder / "summary.json").exists():
        return True
    first = min(config.training.eval_every, config.training.checkpoint_every)
    # A line after the one at which the first checkpoint was due: it has been saved between them.
    if len({row["frames"] for row in read_rows(folder) if row["frames"] >= first}) > 1:
        raise UsageError(
            f"{folder} has metrics and no checkpoint any more. Restore its checkpoints from a "
            "copy, or start a new run."
        )
    text = f"{folder} ended before its first checkpoint: it starts again from frame 0."
    warnings.warn(text, CheckpointWarning, stacklevel=3)
    return False


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
        validation = [make("validation") for _ in range(count)]
        if len({id(env.unwrapped) for env in (train, *validation)}) <= count:
            raise UsageError(
                f"{task.name} returned the same environment twice. Training and evaluation need "
                "one each: give a class, or a function that makes a new one at every call."
            )
        yield Worlds(train, validation)


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
    store = CheckpointStore(
        folder / "checkpoints",
        replay=replay,
        replay_folder=folder / "replay",
        settings=bound(config),
    )
    seeds = seeds_of(config.seed)
    with closing(RunLog(folder, position=None if resume else 0)) as log:
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
            arithmetic={
                "threads": config.threads,
                "precision": config.precision,
                "compile": config.compile,
            },
            stop_requested=stop_requested,
            callbacks=callbacks,
        )
        if resume:
            _go_back(trainer, store, log)
        if config.training.frames != read_config(folder).training.frames:
            # Now that nothing can refuse it: the next time it is resumed it goes on to here too.
            change_config(folder, config)
        if (folder / "summary.json").exists():
            # Of a shorter run, which this no longer is. The file itself tells that it has begun.
            write_json(folder / "summary.json", {})
        state = trainer.run()
    summary = _summary(config, folder, agent, state)
    write_json(folder / "summary.json", summary)
    return summary


def _go_back(trainer: Trainer, store: CheckpointStore, log: RunLog) -> None:
    """Stand where the newest checkpoint does that can be used."""

    def accept(state: dict[str, Any], frames: int) -> None:
        trainer.load_state_dict(state)
        if trainer.state.frames != frames:
            raise ValueError(f"its loop is at frame {trainer.state.frames}")

    trainer.env.reset(seed=trainer.first_seed)  # what fails here is no fault of a checkpoint
    saved, frames = store.load_latest(accept)
    log.cut(saved["log"], frames)


def _summary(config: RunConfig, folder: Path, agent: Agent, state: LoopState) -> dict[str, Any]:
    return {
        "task": config.task.name,
        "variant": config.task.variant,
        "model": config.network.model,
        "agent": config.agent,
        "seed": config.seed,
        "frames": state.frames,
        "seconds": state.seconds,
        "processor_seconds": state.processor_seconds,
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
        f"relaxed/{part}.{name}": weight.clone()  # a callback may keep it, or change it
        for part, network in agent.networks.parts.items()
        for name, weight in relaxed_weights(network).items()
    }
    return {"eval/returns": [episode.total for episode in episodes]} | weights
