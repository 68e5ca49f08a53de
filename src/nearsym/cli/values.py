"""Settings from a JSON file, to start from before the flags."""

import os
from pathlib import Path
from typing import Any

from nearsym.errors import UsageError, shown
from nearsym.training.untrusted import LARGEST_JSON, parse_json

SECTIONS = ("task", "algorithm", "network", "training")


def read_values(path: Path) -> dict[str, Any]:
    """The JSON object in a file; of a run's `config.json`, the settings."""
    values = parse_json(_text(path), str(path), "is no JSON file")
    if isinstance(values, dict) and "config" in values:
        values = values["config"]
    if not isinstance(values, dict):
        raise UsageError(f"{path} must hold a JSON object, got {type(values).__name__}.")
    for name in SECTIONS:
        if not isinstance(values.get(name, {}), dict):
            raise UsageError(f"{path}: `{name}` must be an object, got {shown(values[name])}.")
    return values


def _text(path: Path) -> str:
    """What a file says; pipes are welcome here, as in `--config <(…)`, and may not be endless."""
    try:
        _refuse_waiting(path)
        with path.open("rb") as file:
            content = file.read(LARGEST_JSON + 1)
        if len(content) > LARGEST_JSON:
            raise UsageError(f"{path} is no file of settings: it has more than 64 MiB.")
        return content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from None
    except UsageError:
        raise
    except ValueError as error:  # no UTF-8
        raise UsageError(f"{path} is no JSON file: {error}.") from None


def _refuse_waiting(path: Path) -> None:
    """Refuse a pipe that lies in a folder: perhaps nobody ever writes to it. Those that a shell
    makes lie in /dev, or nowhere."""
    real = os.path.realpath(path)
    if path.is_fifo() and os.path.exists(real) and not real.startswith("/dev/"):
        raise UsageError(f"{path} is a pipe, and no file of settings. Name the file itself.")
