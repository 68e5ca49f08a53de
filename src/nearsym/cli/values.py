"""Values from a JSON file, in the place of the defaults of a command."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from nearsym.errors import UsageError, did_you_mean

_T = TypeVar("_T")
Plain = dict[str, Any]
"""JSON objects inside each other."""


def read_values(path: Path) -> Plain:
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
    return values


def with_values(default: _T, values: Plain, load: Callable[[Plain], _T], *, source: Path) -> _T:
    """`default`, a dataclass that may hold others, with some of its values replaced.

    `load` makes the dataclass from JSON objects and is strict about types; this refuses entries
    that the dataclass does not have, with the nearest one that it has.
    """
    plain = json.loads(json.dumps(dataclasses.asdict(default)))  # type: ignore[call-overload]
    known = set(_names(plain))
    for name in _names(values):
        if name not in known:
            raise UsageError(f"{source} has an unknown entry {name!r}.{did_you_mean(name, known)}")
    try:
        return load(_merged(plain, values))
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from error


def _names(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted names of every entry, outer ones first."""
    for name, value in values.items():
        yield prefix + name
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{name}.")


def _merged(plain: Plain, values: Plain) -> Plain:
    both = {name: (plain[name], value) for name, value in values.items()}
    inner = {
        name: _merged(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
        for name, (old, new) in both.items()
    }
    return plain | inner
