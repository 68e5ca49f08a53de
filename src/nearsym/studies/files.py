"""One's own study from a file: a short TOML, or Python.

    title = "Wind"
    seeds = 3

    [evaluation]
    episodes = 10

    [[grid]]
    task = "craft"
    variant = ["original", "wind=0.3"]
    model = ["none", "exact", "approx"]
    network.spread_strength = [0.0, 1e-3]

A list is an axis, anything else a value that all runs of the grid share; a setting that is a list
itself is written as a list of lists. `seeds` is the number of seeds of every grid that has no axis
`seed`. A Python file has a variable `study`, or a function `study(scale)`.
"""

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from nearsym.errors import UsageError, check_range, unknown_name
from nearsym.studies.study import LONGEST_AXIS, SCALES, SECTIONS, Evaluation, Grid, Study
from nearsym.training.untrusted import LARGEST_JSON, read_named_text

ENTRIES = ("name", "title", "seeds", "evaluation", "grid", "tables", "figures", "claims")
DEFAULT_SEEDS = {"smoke": 2, "laptop": 3, "paper": 5}


def read_study(
    path: str | PathLike[str], *, scale: str = "laptop", trust_task: bool = False
) -> Study:
    """The study that a file describes.

    `scale` is also the preset of grids that name none. A Python file is imported, and so is a task
    of the form `module:factory`: only if you say `trust_task=True`.
    """
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    path = Path(path)
    if path.suffix == ".py":
        return _from_python(path, scale, trust_task)
    if path.suffix == ".toml":
        return _from_toml(path, scale, trust_task)
    raise UsageError(f"A study is a .toml or a .py file, got {path.name}.")


def _from_toml(path: Path, scale: str, trust_task: bool) -> Study:
    try:
        content = tomllib.loads(read_named_text(path, largest=LARGEST_JSON))
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
    except UsageError:
        raise
    except RecursionError:
        raise UsageError(f"{path} is no TOML file: it is nested too deeply.") from None
    except ValueError as error:
        raise UsageError(f"{path} is no TOML file: {error}.") from error
    try:
        study = _study(content, path.stem, scale)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    if not trust_task:
        _refuse_imports(study, path)
    return study


def _study(content: Mapping[str, Any], name: str, scale: str) -> Study:
    for entry in content:
        if entry not in ENTRIES:
            raise unknown_name("entry", entry, ENTRIES)
    seeds = _typed(content, "seeds", int, DEFAULT_SEEDS[scale])
    check_range("seeds", seeds, 1, LONGEST_AXIS)
    usual = {"preset": scale, "seed": range(seeds)}
    found = content.get("grid", [])
    found = [found] if isinstance(found, dict) else found
    if not isinstance(found, list) or not all(isinstance(grid, dict) for grid in found):
        raise UsageError("`grid` is written as tables: [[grid]].")
    made: dict[str, Any] = {
        n: tuple(_typed(content, n, list, [])) for n in ("tables", "figures", "claims")
    }
    return Study(
        name=_typed(content, "name", str, name),
        title=_typed(content, "title", str, ""),
        scale=scale,
        grids=tuple(Grid(usual | flat(grid)) for grid in found),
        evaluation=_evaluation(_typed(content, "evaluation", dict, {})),
        **made,
    )


def _typed(content: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = content.get(name, default)
    if type(value) is not kind:
        words = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}
        raise UsageError(f"`{name}` must be {words[kind]}, got {value!r}.")
    return value


def _evaluation(values: Mapping[str, Any]) -> Evaluation:
    known = [f.name for f in fields(Evaluation)]
    for name in values:
        if name not in known:
            raise unknown_name("entry of evaluation", name, known)
    _typed(values, "episodes", int, 0)
    if not isinstance(values.get("noise", 0.0), float | int | str):
        raise UsageError(f"`noise` is a number or 'task', got {values['noise']!r}.")
    return Evaluation(**values)


def flat(grid: Mapping[str, Any]) -> dict[str, Any]:
    """Tables inside a grid as dotted names, as TOML itself reads `network.hidden = 64`.

    >>> flat({"task": "craft", "network": {"hidden": [32, 64]}})
    {'task': 'craft', 'network.hidden': [32, 64]}
    """
    found: dict[str, Any] = {}
    for name, value in grid.items():
        if isinstance(value, dict) and name in SECTIONS:
            found |= {f"{name}.{setting}": inner for setting, inner in value.items()}
        elif isinstance(value, dict):
            raise unknown_name("section of settings", name, SECTIONS)
        else:
            found[name] = value
    return found


def _refuse_imports(study: Study, path: Path) -> None:
    """A file that somebody sent must not run code by being read."""
    named = [task for grid in study.grids for task in grid.axes["task"]]
    for task in named:
        if isinstance(task, str) and ":" in task:
            raise UsageError(f"{path} would import {task}: if you trust it, add `trust_task=True`.")


def _from_python(path: Path, scale: str, trust_task: bool) -> Study:
    if not path.is_file():
        raise UsageError(f"Cannot read {path}: there is no such file.")
    if not trust_task:
        raise UsageError(f"Reading {path} runs it: if you trust it, add `trust_task=True`.")
    if not path.stem.isidentifier():
        raise UsageError(
            f"A Python file is imported by its name, and {path.stem!r} cannot be one: use letters, "
            "digits and _."
        )
    found = getattr(_imported(path.absolute()), "study", None)
    study = found(scale) if callable(found) and not isinstance(found, Study) else found
    if not isinstance(study, Study):
        raise UsageError(
            f"{path} needs a variable `study` that is a nearsym.studies.Study, or a function "
            f"`study(scale)` that returns one; got {type(study).__name__}."
        )
    return study


def _imported(path: Path) -> Any:
    """The file as a module by its own name, which the workers import too."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = import_module(path.stem)
    if Path(module.__file__ or "").absolute() != path:
        raise UsageError(
            f"Another module is called {path.stem!r} too ({module.__file__}): rename {path.name}."
        )
    return module
