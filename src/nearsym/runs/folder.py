"""A run is a folder: what lies in it, read and written."""

import hashlib
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium

from nearsym.errors import UsageError
from nearsym.runs.config import RunConfig, from_plain, to_plain
from nearsym.runs.presets import preset_config
from nearsym.tasks.task import Task
from nearsym.training import atomic
from nearsym.training.log import read_metrics

RECORDED = ("nearsym", "torch", "numpy", "gymnasium", "dm_control", "mujoco", "pandas", "skfolio")


def default_folder(config: RunConfig) -> Path:
    """`runs/TASK-…-MODEL-seedN`, with a few digits of a hash where settings are not the preset's:
    runs that differ in more than their length get different folders."""
    plain = to_plain(config)
    usual = to_plain(preset_config(config.preset, config.task, config.agent, config.network.model))
    settings = [
        {**p["task"], **p["algorithm"], **p["network"], **p["training"]} for p in (plain, usual)
    ]
    changed = {k: v for k, v in settings[0].items() if v != settings[1][k] and k != "frames"}
    task = plain["task"]
    named = [config.task.name, task.get("variant"), task.get("obs"), config.agent]
    named += [config.network.model, config.preset]
    if changed:
        named.append(hashlib.sha256(json.dumps(changed).encode()).hexdigest()[:6])
    parts = [str(part).replace("/", "_").replace(":", "_") for part in named if part is not None]
    return Path("runs") / "-".join([*parts, f"seed{config.seed}"])


def versions() -> dict[str, str]:
    """What the numbers of a run may depend on."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in RECORDED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # an extra that is not installed
            continue
    return found


def write_config(folder: Path, config: RunConfig, env: gymnasium.Env) -> None:
    """Everything needed to repeat a run: its configuration, versions and data."""
    plain = {"config": to_plain(config), "versions": versions()}
    write_json(folder / "config.json", plain | {"data_sha256": config.task.data_hash(env)})


def change_config(folder: Path, config: RunConfig) -> None:
    """Another configuration for the run; what else was recorded stays."""
    path = folder / "config.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, saved | {"config": to_plain(config)})


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


def read_summary(folder: Path) -> dict[str, Any] | None:
    """What a run that has come to its end once says of itself; None if that is not to be had."""
    try:
        return json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # damaged: what it says can be had again by resuming
        return None


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """What a run has measured so far, one object for each line of its log."""
    path = folder / "metrics.jsonl"
    return list(read_metrics(path)) if path.is_file() else []


def check_data(folder: Path, task: Task, env: gymnasium.Env) -> None:
    """Data that has changed since the run began would make it another run."""
    plain = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if plain.get("data_sha256") != task.data_hash(env):
        raise UsageError(
            f"The prices are not those that {folder} was trained on: their hash has changed. "
            "Put the old file back, or start a new run."
        )


def refuse_used(folder: Path) -> None:
    """A run starts where nothing is, or only what a run that was killed at once has left."""
    with atomic.explain_errors("Looking into the run folder", folder, advice=atomic.TRY_AGAIN):
        found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        used = found - {"lock", "config.json.part"} or (folder.exists() and not folder.is_dir())
    if used:
        raise UsageError(
            f"{folder} exists already. Continue it with `resume`, or choose another `out`."
        )


def write_json(path: Path, content: dict[str, Any]) -> None:
    """A JSON file that is either the old one or the whole new one."""
    with atomic.explain_errors("Writing the run", path.parent):
        atomic.replace(path, json.dumps(content, indent=2).encode() + b"\n")
