"""Training from Python: a new run, by names or by a whole configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearsym.groups.symmetry import Symmetry
from nearsym.runs import train as training_runs
from nearsym.runs.config import RunConfig
from nearsym.runs.configure import configure
from nearsym.runs.folder import default_folder
from nearsym.runs.presets import DEFAULT_PRESET
from nearsym.runs.run import Run, StrPath
from nearsym.runs.train import StopRequested, never
from nearsym.tasks.custom import Factory
from nearsym.tasks.task import Task
from nearsym.training.callbacks import Callback, all_of


def train(
    task: str | Factory | Task,
    *,
    model: str | None = None,
    variant: str | None = None,
    obs: str | None = None,
    agent: str | None = None,
    preset: str = DEFAULT_PRESET,
    frames: int | None = None,
    seed: int = 0,
    out: StrPath | None = None,
    symmetry: Symmetry | str | None = None,
    threads: int | None = None,
    precision: str = "auto",
    device: str = "cpu",
    compile: bool = False,
    algorithm: Mapping[str, Any] | None = None,
    network: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    progress: bool = False,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> Run:
    """Train an agent; returns the finished run.

    `task` is a name (`nearsym.list_tasks()`), a Gymnasium id, `module:factory`, or a class or
    function that makes an environment. What is not given comes from the `preset` for this task,
    agent and model; by default the agent is DrQ-v2 for images and SAC for vectors, and the model
    approx where a symmetry is declared. `symmetry` replaces what an environment declares; for
    trading it is T or ST. `options` are those of the task (`size`, `noise`, `data`, …);
    `algorithm`, `network` and `training` hold single settings of these sections.

    The run is written to the folder `out` (by default a new one in `runs/`). Nothing is printed:
    `progress=True` shows a bar, `callbacks` are told of evaluations and checkpoints.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> run = train("cartpole-swingup", obs="state", preset="smoke", frames=900, out=folder)
    >>> run.summary["model"], run.summary["agent"]
    ('approx', 'sac')
    """
    chosen: dict[str, Any] = {"variant": variant, "obs": obs, "symmetry": symmetry} | options
    chosen |= {"agent": agent, "model": model, "preset": preset}
    chosen |= {"algorithm": algorithm, "network": network, "training": training}
    length: dict[str, Any] = {"frames": frames, "seed": seed}
    machine: dict[str, Any] = {"threads": threads, "precision": precision, "device": device}
    config = configure(task, **chosen, **length, **machine, compile=compile)
    folder = default_folder(config) if out is None else out
    return start_run(config, folder, progress=progress, callbacks=callbacks)


def start_run(
    config: RunConfig,
    out: StrPath,
    *,
    progress: bool = False,
    callbacks: Sequence[Callback] = (),
    stop_requested: StopRequested = never,
) -> Run:
    """Train by a whole configuration, in the new folder `out`."""
    training_runs.start(
        config, Path(out), callbacks=all_of(callbacks, progress), stop_requested=stop_requested
    )
    return Run(out, _task=config.task)
