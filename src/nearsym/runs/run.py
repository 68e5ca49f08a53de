"""A run is a folder: start one, resume one, read one."""

import json
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

from nearsym.agents.base import Agent
from nearsym.errors import UsageError
from nearsym.runs.build import (
    build_agent,
    build_env,
    build_eval_env,
    device_here,
    has_pixels,
    seeds_of,
)
from nearsym.runs.config import RunConfig, from_plain, to_plain
from nearsym.layers.relaxation import relaxed_weights
from nearsym.training import atomic
from nearsym.training.allocator import keep_freed_memory
from nearsym.training.callbacks import ProgressBar
from nearsym.training.checkpoint import CheckpointStore
from nearsym.training.evaluate import rollouts
from nearsym.training.log import RunLog, read_metrics
from nearsym.training.loop import Interrupted, Trainer
from nearsym.training.replay import Replay
from nearsym.training.runlock import RunLock

RECORDED = ("nearsym", "torch", "numpy", "gymnasium", "dm_control", "mujoco", "pandas", "skfolio")


def start(config: RunConfig, folder: Path) -> dict[str, Any]:
    """A new run in a new folder; returns its summary."""
    _refuse_used(folder)
    built = _build(config)  # first: a setting that cannot work leaves no folder behind
    atomic.make_place(folder, "out")
    with RunLock(folder):
        _refuse_used(folder)  # somebody may have been faster
        data = {"data_sha256": _data_hash(built.env)}
        plain = {"config": to_plain(config), "versions": versions()} | data
        write_json(folder / "config.json", plain)
        return _train(config, folder, built, resume=False)


def resume(folder: Path, *, frames: int | None = None) -> dict[str, Any]:
    """Go on with a run where its last checkpoint stands, or to more frames than it had.

    A run that ended before its first checkpoint starts again.
    """
    config = read_config(folder)
    if frames is not None:
        _check_longer(folder, frames)
        config = replace(config, training=replace(config.training, frames=frames))
    finished = _summary(folder)
    if finished is not None and finished["frames"] >= config.training.frames:
        return finished
    with RunLock(folder):
        built = _build(config)
        check_data(folder, built.env)
        if frames is not None:  # the next --resume goes on to here too
            saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            write_json(folder / "config.json", saved | {"config": to_plain(config)})
        saved_something = any((folder / "checkpoints").glob("*.ckpt"))
        begun = saved_something or (folder / "summary.json").exists()
        return _train(config, folder, built, resume=begun)


def _summary(folder: Path) -> dict[str, Any] | None:
    """What a run that has come to its end once says of itself; None if that is not to be had."""
    try:
        return json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # damaged: what it says can be had again by resuming
        return None


def _check_longer(folder: Path, frames: int) -> None:
    """A run cannot end before where it stands."""
    path = folder / "metrics.jsonl"
    rows = list(read_metrics(path)) if path.is_file() else []
    done = max((row["frames"] for row in rows), default=0)
    if frames < done:
        raise UsageError(f"{folder} has done {done} frames already: --frames {frames} is too few.")


def read_config(folder: Path) -> RunConfig:
    """The configuration of a run folder."""
    path = folder / "config.json"
    if not path.is_file():
        raise UsageError(f"{folder} is no run: it has no config.json.")
    try:
        return from_plain(json.loads(path.read_text(encoding="utf-8"))["config"])
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is damaged: {error!r}.") from error


def load_agent(
    folder: Path, *, checkpoint: str = "best", env: gymnasium.Env | None = None
) -> tuple[RunConfig, Agent, gymnasium.Env]:
    """The configuration, agent and environment of a run, with the weights of a checkpoint."""
    config = read_config(folder)
    state, _ = CheckpointStore(folder / "checkpoints").load(checkpoint)
    env = build_env(config.task) if env is None else env
    agent = build_agent(replace(config, device=device_here(config.device)), env)
    agent.load_weights(state["agent"])
    return config, agent, env


def versions() -> dict[str, str]:
    """What the numbers of a run may depend on."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in RECORDED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # an extra that is not installed
            continue
    return found


def write_json(path: Path, content: dict[str, Any]) -> None:
    """A JSON file that is either the old one or the whole new one."""
    with atomic.explain_errors("Writing the run", path.parent):
        atomic.replace(path, json.dumps(content, indent=2).encode() + b"\n")


def _refuse_used(folder: Path) -> None:
    """A run starts where nothing is, or only what a run that was killed at once has left."""
    with atomic.explain_errors("Looking into the run folder", folder, advice=atomic.TRY_AGAIN):
        found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        used = found - {"lock", "config.json.part"} or (folder.exists() and not folder.is_dir())
    if used:
        raise UsageError(
            f"{folder} exists already. Continue it with --resume {folder}, or choose another --out."
        )


def _data_hash(env: gymnasium.Env) -> str | None:
    """The hash of the prices that a run trades on; None for tasks without data."""
    table = getattr(env.unwrapped, "table", None)
    return None if table is None else table.sha256


def check_data(folder: Path, env: gymnasium.Env) -> None:
    """Prices that have changed since the run began would make it another run."""
    plain = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if plain.get("data_sha256") != _data_hash(env):
        raise UsageError(
            f"The prices are not those that {folder} was trained on: their hash has changed. "
            "Put the old file back, or start a new run."
        )


class _Built(NamedTuple):
    """What a configuration stands for."""

    env: gymnasium.Env
    eval_env: gymnasium.Env
    agent: Agent


def _build(config: RunConfig) -> _Built:
    torch.set_num_threads(config.threads)
    keep_freed_memory()
    env = build_env(config.task)
    return _Built(env, build_eval_env(config.task), build_agent(config, env))


def _train(config: RunConfig, folder: Path, built: _Built, *, resume: bool) -> dict[str, Any]:
    env, eval_env, agent = built
    on_disk = folder / "replay" if config.training.replay == "disk" else None
    replay = new_replay(config, env, on_disk)
    store = CheckpointStore(folder / "checkpoints", replay=replay, replay_folder=folder / "replay")
    saved, frames = store.load_latest() if resume else (None, 0)
    log = RunLog(folder, position=saved["log"] if saved else 0, frames=frames)
    seeds = seeds_of(config.seed)
    with _stop_on_signals() as stop_requested:
        trainer = Trainer(
            env=env,
            agent=agent,
            replay=replay,
            evaluate=partial(_evaluate, config, agent, eval_env, seeds["evaluation"]),
            log=log,
            store=store,
            config=config.training,
            rng=np.random.default_rng(seeds["replay"]),
            first_seed=seeds["environment"],
            arithmetic={"threads": config.threads, "precision": config.precision},
            stop_requested=stop_requested,
            callbacks=[ProgressBar()],
        )
        if saved is not None:
            trainer.load_state_dict(saved)
        _announce(config, agent, folder, frames)
        try:
            state = trainer.run()
        except Interrupted as stop:
            raise Interrupted(f"{stop} Go on with: nearsym train --resume {folder}") from None
        finally:
            log.close()
    summary = {
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
    write_json(folder / "summary.json", summary)
    return summary


def new_replay(config: RunConfig, env: gymnasium.Env, folder: Path | None) -> Replay:
    """The empty replay of a run, in memory or in a folder."""
    space, action = env.observation_space, env.action_space
    assert space.shape is not None
    assert action.shape is not None
    training = config.training
    pixels = len(space.shape) == 3
    return Replay(
        capacity=training.replay_capacity,
        obs_shape=space.shape,
        obs_dtype=space.dtype,
        action_size=action.shape[0],
        nstep=training.nstep,
        discount=training.discount,
        frame_stack=config.task.frame_stack if pixels and has_pixels(config.task.name) else 1,
        folder=folder,
    )


def _evaluate(
    config: RunConfig,
    agent: Agent,
    env: gymnasium.Env,
    seed: int,
    on_step: Callable[[], None],
) -> dict[str, Any]:
    """Returns of the mean policy on the same starts every time, and every relaxed weight."""
    count = config.training.eval_episodes
    episodes = rollouts(agent.policy, env, episodes=count, seed=seed, on_step=on_step)
    weights = {
        f"relaxed/{part}.{name}": weight
        for part, network in agent.networks.parts.items()
        for name, weight in relaxed_weights(network).items()
    }
    return {"eval/returns": [episode.total for episode in episodes]} | weights


def _announce(config: RunConfig, agent: Agent, folder: Path, frames: int) -> None:
    counts = ", ".join(f"{k} {v:,}" for k, v in agent.networks.parameter_counts().items())
    verb = f"Going on at frame {frames}" if frames else "Training"
    task = config.task.name + (f" ({config.task.variant})" if config.task.variant else "")
    print(
        f"{verb}: {task}, {config.agent}, {config.network.model}; parameters: {counts}; "
        f"{config.precision}, {config.threads} thread(s); {folder}",
        file=sys.stderr,
    )


@contextmanager
def _stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a request that the loop answers with a checkpoint."""
    requested: list[int] = []

    def request(number: int, frame: object) -> None:
        if requested:  # a second Ctrl-C means now
            raise KeyboardInterrupt
        requested.append(number)

    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    previous = {number: signal.signal(number, request) for number in numbers}
    try:
        yield lambda: bool(requested)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
