"""From the cells of a study to configurations, all of them checked before the first run starts."""

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from nearsym.errors import UsageError
from nearsym.groups.symmetry import Symmetry, symmetry_of
from nearsym.runs.build import build_agent, find_device
from nearsym.runs.config import RunConfig, to_plain
from nearsym.runs.identity import digest
from nearsym.studies.study import Cell, Study, noises_of
from nearsym.tasks.custom import CustomTask, custom_task
from nearsym.tasks.registry import NAMES, plain_name
from nearsym.training.config import check_learns


@dataclass(frozen=True)
class Planned:
    """A run that a study wants: one cell, or several that come to the same."""

    name: str
    """For people."""
    config: RunConfig
    key: str
    """What decides its numbers: `runs.identity.digest`."""


@dataclass(frozen=True)
class Built:
    """What is known of a run's networks before it is trained."""

    parameters: dict[str, int]
    elements: list[str]


def plan(study: Study, *, device_here: bool = True) -> list[Planned]:
    """The runs of a study, each once, in the order in which they are to be started.

    Every cell is configured, and before training networks are built once for each kind of them: a
    setting that cannot work is refused here, with the name of its cell. `device_here=False` where
    another machine trains.
    """
    tasks = _Tasks()
    try:
        cells = study.cells() if device_here else map(_for_elsewhere, study.cells())
        runs = [_planned(cell, study, tasks) for cell in cells]
        seen: set[str] = set()
        for run in runs if study.trains else ():
            with named(run.name):
                _check(run.config, seen, device_here)
    finally:
        tasks.close()
    wanted = _each_once(runs)
    _check_names(wanted)
    return wanted


def built(config: RunConfig) -> Built:
    """Build the networks of a run and forget them; nothing is drawn or stepped."""
    with closing(config.task.make("train")) as env:
        agent = build_agent(replace(config, device="cpu"), env)
        symmetry = symmetry_of(env)
        elements = list(symmetry.group.elements) if isinstance(symmetry, Symmetry) else []
        return Built(agent.networks.parameter_counts(), elements)


class _Tasks:
    """One value for each environment of the user's, which is then built once and not for every
    cell."""

    def __init__(self) -> None:
        self._known: dict[Any, CustomTask] = {}

    def find(self, task: Any) -> Any:
        if isinstance(task, str) and (plain_name(task) in NAMES or not _may_be_own(task)):
            return task
        if not isinstance(task, str) and not callable(task):
            return task
        if task not in self._known:
            self._known[task] = custom_task(task)
        return self._known[task]

    def close(self) -> None:
        for task in self._known.values():
            while task._opened:
                task._opened.pop().close()


def _may_be_own(task: str) -> bool:
    return any(mark in task for mark in (":", "/", "-v"))


def _for_elsewhere(cell: Cell) -> Cell:
    """What the hardware computes in is not known here: float32, unless somebody says otherwise."""
    named = "precision" in cell.values or cell.values.get("device", "cpu") == "cpu"
    return cell if named else replace(cell, values={**cell.values, "precision": "fp32"})


def _planned(cell: Cell, study: Study, tasks: _Tasks) -> Planned:
    with named(cell.name):
        config = cell.config(tasks.find)
        noises_of(study.evaluation, config.task)
        if study.trains:
            check_learns(config.training, action_repeat=config.task.frames_per_step)
        _check_portable(config)
        return Planned(cell.name, config, digest(config))


@contextmanager
def named(cell: str) -> Iterator[None]:
    """Errors in the block say which run cannot work."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"The run [{cell}] cannot work: {error}") from error


def _check_portable(config: RunConfig) -> None:
    """Another process trains the run: it has to find the environment by its name."""
    factory = getattr(config.task, "factory", None)
    try:
        pickle.dumps(factory)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"another process trains it and cannot find {config.task.name}. Give a class or a "
            "function that stands at the top of a module."
        ) from error


def _check(config: RunConfig, seen: set[str], device_here: bool) -> None:
    if device_here:
        find_device(config.device)
    kind = _kind_of_networks(config)
    if kind not in seen:
        built(config)
        seen.add(kind)


def _kind_of_networks(config: RunConfig) -> str:
    """Equal for configurations whose networks are built alike."""
    plain = to_plain(config)
    for name in ("variant", "noise"):
        plain["task"].pop(name, None)
    return json.dumps([plain["task"], plain["agent"], plain["network"]], sort_keys=True)


def _check_names(runs: list[Planned]) -> None:
    """Runs are told apart by their names."""
    counts = Counter(run.name for run in runs)
    for name in (name for name, count in counts.items() if count > 1):
        tasks = sorted({run.config.task.name for run in runs if run.name == name})
        raise UsageError(
            f"Two different runs of this study are called [{name}], of {' and '.join(tasks)}. Give "
            "their classes or functions different names."
        )


def _each_once(runs: list[Planned]) -> list[Planned]:
    """One of those that come to the same; of one run at several lengths, the shortest first: it
    grows from one to the next."""
    found: dict[tuple[str, int], Planned] = {}
    for run in runs:
        found.setdefault((run.key, run.config.training.frames), run)
    lengths: dict[str, list[Planned]] = {}
    for run in found.values():
        lengths.setdefault(run.key, []).append(run)
    for several in lengths.values():
        several.sort(key=lambda run: run.config.training.frames, reverse=True)
    return [lengths[run.key].pop() for run in found.values()]
