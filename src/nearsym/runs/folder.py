"""A run is a folder: what lies in it, read and written."""

import hashlib
import json
import platform
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium

from nearsym.errors import UsageError
from nearsym.runs.config import RunConfig, from_plain, to_plain
from nearsym.runs.presets import preset_config
from nearsym.tasks.custom import CustomTask
from nearsym.tasks.registry import options_of
from nearsym.tasks.task import Task
from nearsym.training import atomic
from nearsym.training.log import read_metrics
from nearsym.training.untrusted import read_object, refuse_irregular

_SUMMARY: dict[str, Any] = {
    "task": str,
    "model": str,
    "agent": str,
    "seed": int,
    "frames": int,
    "seconds": float | int,
    "best_return": float | int,
    "final_return": float | int,
    "parameters": dict,
    "run": str,
}
"""What a summary has at least."""
ENVIRONMENT = "environment"
RECORDED = ("nearsym", "torch", "numpy", "gymnasium", "dm_control", "mujoco", "pandas", "skfolio")


def default_folder(config: RunConfig) -> Path:
    """`runs/TASK-…-MODEL-PRESET-seedN`, with a few digits of a hash where settings are not the
    preset's: runs whose settings differ in more than their length get different folders."""
    task = config.task
    named = [task.name, task.variant, getattr(task, "obs", None), config.agent]
    named += [config.network.model, config.preset]
    changed = changed_settings(config)
    if changed:
        named.append(hashlib.sha256(json.dumps(changed).encode()).hexdigest()[:6])
    parts = [re.sub(r"[^\w.=+-]+", "_", str(part)) for part in named if part is not None]
    return Path("runs") / "-".join([*parts, f"seed{config.seed}"])


def changed_settings(config: RunConfig) -> dict[str, Any]:
    """Dotted names of the settings that are not the preset's, and their values; the length of the
    run is none of them."""
    plain, usual = to_plain(config), to_plain(_usual(config))
    return {
        f"{section}.{name}": value
        for section in ("task", "algorithm", "network", "training")
        for name, value in plain[section].items()
        if value != usual[section][name] and name != "frames"
    }


def _usual(config: RunConfig) -> RunConfig:
    """What the preset makes of the task when none of its options but those in the folder's name
    are given."""
    task: Any = config.task
    given = [name for name in options_of(type(task)) if name not in ("variant", "obs")]
    bare = replace(task, **{f.name: f.default for f in fields(task) if f.name in given})
    return preset_config(config.preset, bare, config.agent, config.network.model)


class ChangedWarning(UserWarning):
    """The code of an environment is not what it was when a run began."""


def versions(task: Task | None = None, device: str = "cpu") -> dict[str, str]:
    """What the numbers of a run may depend on; a digest of the code of an environment of one's own
    is one of them."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    found["processor"] = _processor(device)
    for name in RECORDED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # an extra that is not installed
            continue
    source = task.source() if isinstance(task, CustomTask) else None
    return found if source is None else found | {ENVIRONMENT: source}


def _processor(device: str) -> str:
    """What the processor, or the GPU, calls itself as far as the system tells."""
    if device != "cpu":
        import torch  # here: slow to import

        return torch.cuda.get_device_name(device)
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def warn_if_changed(recorded: Any, task: Task, what: str) -> bool:
    """Say where an environment is defined by other code than when `recorded` was written down;
    whether there was anything to say."""
    before = recorded.get(ENVIRONMENT) if isinstance(recorded, Mapping) else None
    now = task.source() if isinstance(task, CustomTask) else None
    changed = before is not None and now is not None and before != now
    if changed:
        text = f"The file that defines {task.name} has changed since {what}."
        warnings.warn(text, ChangedWarning, stacklevel=3)
    return changed


def described(config: RunConfig, env: gymnasium.Env, parameters: dict[str, int]) -> dict[str, Any]:
    """The content of config.json, everything needed to repeat a run: its configuration, versions
    and data; and how many numbers its networks learn."""
    plain = {"config": to_plain(config), "versions": versions(config.task, config.device)}
    plain |= {"parameters": parameters}
    return plain | {"data_sha256": config.task.data_hash(env)}


def read_parameters(folder: Path) -> dict[str, int]:
    """How many numbers the networks of a run learn; nothing for folders of version 0.1, and nothing
    that is no number."""
    found = read_object(folder / "config.json").get("parameters", {})
    counts = found if isinstance(found, dict) else {}
    return {name: count for name, count in counts.items() if type(count) is int}


def change_config(folder: Path, config: RunConfig) -> None:
    """Another configuration for the run; what else was recorded stays."""
    path = folder / "config.json"
    write_json(path, read_object(path) | {"config": to_plain(config)})


def read_config(folder: Path) -> RunConfig:
    """The configuration of a run folder."""
    path = folder / "config.json"
    try:
        plain = read_object(path)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise UsageError(f"There is no folder {folder}. Name the folder of a run.") from None
        raise UsageError(f"{folder} is no run: it has no config.json.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if "config" not in plain:
        raise UsageError(f"{path} is damaged: it has no entry 'config'.")
    try:
        return from_plain(plain["config"])
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def read_summary(folder: Path) -> dict[str, Any] | None:
    """What a run that has come to its end once says of itself; None if that is not to be had."""
    path = folder / "summary.json"
    refuse_irregular(path)
    try:
        found = read_object(path)
    except (FileNotFoundError, UsageError):  # damaged: what it says can be had again by resuming
        return None
    whole = all(isinstance(found.get(name), kind) for name, kind in _SUMMARY.items())
    return found if whole else None


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """What a run has measured so far, one object for each line of its log."""
    path = folder / "metrics.jsonl"
    try:
        return read_metrics(path)
    except FileNotFoundError:
        return []


def check_data(folder: Path, task: Task, env: gymnasium.Env) -> None:
    """Data that has changed since the run began would make it another run."""
    plain = read_object(folder / "config.json")
    if plain.get("data_sha256") != task.data_hash(env):
        raise UsageError(
            f"The prices are not those that {folder} was trained on: their hash has changed. "
            "Put the old file back, or start a new run."
        )


def refuse_used(folder: Path) -> None:
    """A run starts where nothing is, or only what a run that was killed at once has left."""
    with atomic.explain_errors("Looking into the run folder", folder, advice=atomic.TRY_AGAIN):
        found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        saved = any((folder / "checkpoints").glob("*.ckpt"))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Choose another `out`: a run is a folder.")
    if not found - {"lock", "config.json.part"}:
        return
    if "config.json" in found and not saved:
        raise UsageError(
            f"{folder} holds a run that has no checkpoint. If it was stopped, start it again with "
            f"`nearsym.Run({str(folder)!r}).resume()`, or choose another `out`."
        )
    raise UsageError(
        f"{folder} exists already. Continue it with `nearsym.Run({str(folder)!r}).resume()`, or "
        "choose another `out`."
    )


def write_json(path: Path, content: dict[str, Any]) -> None:
    """A JSON file that is either the old one or the whole new one."""
    with atomic.explain_errors("Writing the run", path.parent):
        atomic.replace(path, json.dumps(content, indent=2).encode() + b"\n")
