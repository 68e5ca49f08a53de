"""`nearsym train --config FILE`."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from nearsym.cli.values import read_values
from nearsym.errors import UsageError, did_you_mean
from nearsym.groups import saved
from nearsym.networks.config import OF_ONE_MODEL, NetworkConfig
from nearsym.runs.config import RunConfig
from nearsym.runs.folders_0_1 import upgraded


def asked_by_file(
    path: str | None, *, task: str | None, model: str | None, trust_task: bool
) -> dict[str, Any]:
    """What a file of settings asks of `configure`; a task or a model that is given replaces its
    own."""
    if path is None:
        return {"options": {}}
    values = upgraded(read_values(Path(path)))
    known = [f.name for f in fields(RunConfig)]
    unknown = next((name for name in values if name not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known)
        raise UsageError(f"{path} has an unknown entry {unknown!r}.{hint}")
    options = dict(values.pop("task", {}))
    if isinstance(options.get("symmetry"), dict):
        options["symmetry"] = saved.from_plain(options["symmetry"])
    kind, name = options.pop("kind", None), options.pop("name", None)
    if task is None and ":" in str(name) and not trust_task:
        raise UsageError(
            f"{path} would import {name}: name the task yourself, or add `trust_task=True`."
        )
    if task is not None and (name or kind) not in (None, task):
        options = {}  # another task has other options
    asked = values | {"task": name or kind, "options": options}
    return asked | _of_model(dict(asked.get("network", {})), model)


def _of_model(network: dict[str, Any], model: str | None) -> dict[str, Any]:
    """The model, and the settings of a file without those that say nothing here: a run's file has
    the settings of every model, and its own may be replaced."""
    own = network.pop("model", None)
    for name, owner in OF_ONE_MODEL.items():
        idle = own not in (owner, None) and network.get(name) == getattr(NetworkConfig, name)
        replaced = own == owner and model not in (owner, None)
        if idle or replaced:
            network.pop(name, None)
    return {"model": own, "network": network}
