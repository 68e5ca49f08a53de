"""Settings from a JSON file, to start from before the flags."""

import json
from pathlib import Path
from typing import Any

from nearsym.errors import UsageError

SECTIONS = ("task", "algorithm", "network", "training")


def read_values(path: Path) -> dict[str, Any]:
    """The JSON object in a file; of a run's `config.json`, the settings."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from None
    except ValueError as error:  # neither JSON nor UTF-8
        raise UsageError(f"{path} is no JSON file: {error}.") from None
    if isinstance(values, dict) and "config" in values:
        values = values["config"]
    if not isinstance(values, dict):
        raise UsageError(f"{path} must hold a JSON object, got {type(values).__name__}.")
    for name in SECTIONS:
        if not isinstance(values.get(name, {}), dict):
            raise UsageError(f"{path}: `{name}` must be an object, got {values[name]!r}.")
    return values
