"""A study as a value: which runs, how they are evaluated, and what is made of them."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import islice, product
from typing import Any

from nearsym.errors import UsageError, check_range, check_whole, unknown_name
from nearsym.networks.config import NetworkConfig
from nearsym.runs.config import ALGORITHMS, RunConfig
from nearsym.runs.configure import configure
from nearsym.tasks.registry import KINDS, options_of
from nearsym.tasks.strength import ORIGINAL
from nearsym.tasks.task import Noise, Task
from nearsym.training.config import TrainingConfig

SCALES = ("smoke", "laptop", "paper")
"""A study of seconds for tests; what one machine can do; the sizes of the paper."""
OF_RUNS = ("task", "model", "agent", "preset", "frames", "seed", "precision", "device", "compile")
"""Axes that every task has."""
OF_HARDWARE = ("precision", "device", "compile")
"""Axes that no preset sets, so that the settings of a run do not have them."""
IN_NAMES = ("task", "variant", "model", "seed")
"""Axes that the name of a cell always has."""
SECTIONS = ("algorithm", "network", "training")
"""Sections of a configuration; their settings are axes with dotted names."""
MOST_RUNS = 100_000
"""Of a study: minutes of planning."""
LONGEST_AXIS = 10_000
MOST_EPISODES = 10**6
_PLAIN = ("task", "variant", "obs", "agent", "model")
"""Axes whose values speak for themselves."""
_ELSEWHERE = ("network.model", "training.frames")
"""Settings that have an axis of their own."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is played with the best checkpoint of every run once it is trained.

    >>> Evaluation(episodes=50, noise="task")
    Evaluation(episodes=50, noise='task')
    """

    episodes: int = 0
    """How many, without noise on the images; 0 for studies that need no more than the curves."""
    noise: Noise | None = None
    """Play as many under noise too: this standard deviation, or 'task' for that under which the
    task tests policies, where it has one and shows images."""

    def __post_init__(self) -> None:
        check_whole("episodes", self.episodes, 0, MOST_EPISODES)
        if self.noise is not None and not self.episodes:
            raise UsageError("`noise` needs `episodes`: there are none to play under it.")
        if isinstance(self.noise, str) and self.noise != "task":
            raise UsageError(f"`noise` is a number or 'task', got {self.noise!r}.")


class Grid:
    """All combinations of the values of some axes.

    An axis is `task`, `model`, `seed`, `frames`, …, an option of the task (`variant`, `obs`, …) or
    the dotted name of a setting (`algorithm.target_tau`). A single value is an axis with one.

    >>> grid = Grid({"task": "craft", "model": ["none", "exact"], "seed": range(3)})
    >>> len(grid), next(iter(grid))
    (6, {'task': 'craft', 'model': 'none', 'seed': 0})
    """

    def __init__(self, axes: Mapping[str, Any]):
        known = known_axes()
        for name in axes:
            if name not in known:
                raise unknown_name("axis", name, known)
        if "task" not in axes:
            raise UsageError("A grid needs the axis `task`: which worlds to train in.")
        self.axes: dict[str, tuple[Any, ...]] = {n: _values(n, v) for n, v in axes.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Seed by seed, so that everything is seen once before anything is seen twice."""
        slowest = sorted(self.axes, key=lambda name: name != "seed")
        for values in product(*(self.axes[name] for name in slowest)):
            found = dict(zip(slowest, values, strict=True))
            yield {name: found[name] for name in self.axes}

    def round_of(self, values: Mapping[str, Any]) -> int:
        """Which of the seeds a cell has, counted from 0."""
        return self.axes["seed"].index(values["seed"]) if "seed" in self.axes else 0

    def __len__(self) -> int:
        return math.prod(map(len, self.axes.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.axes == other.axes

    def __repr__(self) -> str:
        return f"Grid({self.axes})"

    def with_seeds(self, count: int) -> "Grid":
        """The same with so many seeds, from its smallest on."""
        first = min(self.axes.get("seed", (0,)))
        return self.with_axis("seed", range(first, first + count))

    def with_axis(self, name: str, values: Any) -> "Grid":
        """The same with these values of an axis."""
        return Grid(self.axes | {name: values})


@cache
def known_axes() -> tuple[str, ...]:
    """Every name that an axis may have."""
    options = {name for kind in KINDS.values() for name in options_of(kind)}
    sections = [("network", NetworkConfig), ("training", TrainingConfig)]
    sections += [("algorithm", algorithm) for algorithm in ALGORITHMS.values()]
    dotted = {f"{section}.{f.name}" for section, kind in sections for f in fields(kind)}
    return tuple(sorted({*OF_RUNS, *options, *dotted} - {*_ELSEWHERE}))


def _values(name: str, given: Any) -> tuple[Any, ...]:
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping | type)
    values = tuple(islice(given, LONGEST_AXIS + 1)) if several else (given,)
    if not values:
        raise UsageError(f"The axis {name!r} has no values.")
    if len(values) > LONGEST_AXIS:
        raise UsageError(f"The axis {name!r} has more than {LONGEST_AXIS:,} values.")
    if _all_different(values):
        return values
    for place, value in enumerate(values):
        if value in values[:place]:
            raise UsageError(f"The axis {name!r} has {_shown(value)} twice.")
    return values


def _all_different(values: tuple[Any, ...]) -> bool:
    """Whether that can be seen at a glance; values that are lists are compared one by one."""
    try:
        return len(set(values)) == len(values)
    except TypeError:
        return False


@dataclass(frozen=True)
class Cell:
    """One run of a grid, before its settings are looked up.

    >>> Cell({"task": "craft", "variant": "tilt=75", "model": "exact", "seed": 3}).name
    'craft, tilt=75, exact, seed 3'
    """

    values: Mapping[str, Any]
    hidden: frozenset[str] = frozenset()
    """Axes that tell nothing, since they have one value in the whole study."""

    @property
    def name(self) -> str:
        """The cell for people, in the messages about it."""
        order = {name: place for place, name in enumerate(_PLAIN)} | {"seed": 99}
        shown = [name for name in self.values if name not in self.hidden]
        shown.sort(key=lambda name: order.get(name, len(_PLAIN)))
        return ", ".join(_said(name, self.values[name]) for name in shown)

    def config(self, find: Callable[[Any], Any] = lambda task: task) -> RunConfig:
        """The whole configuration of the run, on one thread; `find` may replace the task."""
        given = dict(self.values)
        if given.get("variant") == ORIGINAL:  # one world has one name
            del given["variant"]
        asked: dict[str, Any] = {section: {} for section in SECTIONS}
        for name in [name for name in given if "." in name]:
            section, _, setting = name.partition(".")
            asked[section][setting] = given.pop(name)
        return configure(find(given.pop("task")), threads=1, **given, **asked)


def _said(axis: str, value: Any) -> str:
    return _shown(value) if axis in _PLAIN else f"{axis} {_shown(value)}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


@dataclass(frozen=True, kw_only=True)
class Study:
    """Which runs, how they are evaluated, and what is tabulated, drawn and judged from them.

    >>> grid = Grid({"task": "craft", "preset": "smoke", "seed": range(2)})
    >>> study = Study(name="mine", title="A first look", grids=(grid,))
    >>> [cell.name for cell in study.cells()]
    ['craft, seed 0', 'craft, seed 1']
    """

    name: str
    title: str = ""
    scale: str = "laptop"
    """smoke, laptop or paper"""
    grids: tuple[Grid, ...]
    """Runs are started in the order of the grids, the first seeds of all of them first."""
    evaluation: Evaluation = field(default_factory=Evaluation)
    trains: bool = True
    """Without training, only networks are built and counted."""
    tables: tuple[str, ...] = ()
    """What `nearsym study` prints at the end; if none is named, all that results have."""
    figures: tuple[str, ...] = ()
    """What it draws; if none is named, all that results have."""
    claims: tuple[str, ...] = ()
    """What it judges."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][\w-]*", self.name):
            raise UsageError(
                f"The `name` of a study has letters, digits, - and _, since a folder is called so; "
                f"got {self.name!r}."
            )
        if self.scale not in SCALES:
            raise unknown_name("scale", self.scale, SCALES)
        if not self.grids:
            raise UsageError(f"The study {self.name} has no `grids`, so there is nothing to run.")
        runs = sum(math.prod(map(len, grid.axes.values())) for grid in self.grids)
        if runs > MOST_RUNS:
            raise UsageError(f"A study has at most {MOST_RUNS:,} runs, and {self.name} {runs:,}.")

    @property
    def folder_name(self) -> str:
        """What its folder is called."""
        return f"{self.name}-{self.scale}"

    def cells(self) -> tuple[Cell, ...]:
        """All cells of all grids, in the order in which they are run."""
        hidden = frozenset(name for name in known_axes() if self._tells_nothing(name))
        ranked = [(grid.round_of(values), values) for grid in self.grids for values in grid]
        ranked.sort(key=lambda pair: pair[0])  # stable: grids keep their order
        return tuple(Cell(values, hidden) for _, values in ranked)

    def _tells_nothing(self, axis: str) -> bool:
        values = [grid.axes.get(axis) for grid in self.grids]
        alike = all(value == values[0] for value in values)
        return axis not in IN_NAMES and alike and (values[0] is None or len(values[0]) == 1)

    def with_seeds(self, count: int) -> "Study":
        """The same study with so many seeds in every grid."""
        check_range("seeds", count, 1, LONGEST_AXIS)
        return replace(self, grids=tuple(grid.with_seeds(count) for grid in self.grids))

    def only(self, wanted: Mapping[str, Sequence[str]]) -> "Study":
        """A part of the study: the cells that have one of these values, as text, of each axis.

        >>> grid = Grid({"task": "craft", "model": ["none", "exact", "approx"]})
        >>> part = Study(name="mine", grids=(grid,)).only({"model": ["exact"]})
        >>> [cell.name for cell in part.cells()]
        ['craft, exact']
        """
        for name, values in wanted.items():
            known = {_shown(value) for grid in self.grids for value in grid.axes.get(name, ())}
            if not known:
                names = {axis for grid in self.grids for axis in grid.axes}
                raise unknown_name("axis of this study", name, names)
            for value in values:
                if value not in known:
                    raise unknown_name(f"value of {name}", value, known)
        parts = [part for grid in self.grids if (part := _part(grid, wanted)) is not None]
        if not parts:
            raise UsageError(f"No run of the study {self.name} has all of these values.")
        return replace(self, grids=tuple(parts))

    def with_axis(self, name: str, values: Any) -> "Study":
        """The same study with these values of an axis in every grid."""
        return replace(self, grids=tuple(grid.with_axis(name, values) for grid in self.grids))


def _part(grid: Grid, wanted: Mapping[str, Sequence[str]]) -> Grid | None:
    """Of a grid what has these values; None if nothing has."""
    for name, values in wanted.items():
        left = [value for value in grid.axes.get(name, ()) if _shown(value) in values]
        if not left:
            return None
        grid = grid.with_axis(name, left)
    return grid


def noises_of(evaluation: Evaluation, task: Task) -> dict[str, float | None]:
    """The noise on the images of each evaluation of a run, by the evaluation's name; None where the
    task has no such noise."""
    if not evaluation.episodes:
        return {}
    images = getattr(task, "images", False)
    found: dict[str, float | None] = {"clean": 0.0 if images else None}
    deviation = evaluation.noise
    if deviation == "task":
        deviation = getattr(task, "test_noise", None) if images else None
    if deviation is not None:
        noise = task.with_noise(deviation).noise  # an error where there are no images
        found[f"noise={noise:g}"] = noise
    return found
