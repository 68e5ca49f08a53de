"""How long runs will take: rates of finished runs, else recorded ones."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from nearsym.runs.config import RunConfig, to_plain
from nearsym.training.untrusted import read_object

Kind = tuple[str, ...]
"""Preset, agent, task, observations, device and model; shorter ones stand for all that begin so."""

RECORDED: Mapping[Kind, float] = {
    ("smoke",): 500.0,
    ("smoke", "sac", "trading"): 120.0,
    ("laptop", "sac"): 420.0,
    ("laptop", "sac", "craft"): 120.0,
    ("laptop", "sac", "trading"): 270.0,
    ("laptop", "drqv2"): 110.0,
    ("paper", "sac"): 150.0,
    ("paper", "sac", "trading"): 150.0,
    ("paper", "drqv2"): 4.0,
}
"""Frames a second of one core, of the model approx. Laptop: measured over some thousand frames of
processor time; paper: from 28,500 frames an hour on two cores."""
OF_MODELS = {
    "sac": {"none": 0.6, "exact": 0.9, "rpp": 1.6, "augment": 0.7, "mirror": 0.8},
    "drqv2": {"none": 0.9, "exact": 0.95, "rpp": 1.3, "sit": 2.2, "augment": 0.8, "mirror": 0.9},
}
"""Time that a frame takes beside approx, by agent; measured on the laptop preset."""
SLOWEST = min(RECORDED.values())


class Rate(NamedTuple):
    """How fast a kind of run is, and how we know."""

    frames_per_second: float
    measured: bool


class Rates:
    """Frames a second by kind of run, from the finished runs of a pool.

    >>> Rates({("laptop", "sac", "craft", "state", "cpu", "exact"): [0.01, 0.01]}).measured
    True
    """

    def __init__(self, seconds_per_frame: Mapping[Kind, list[float]]):
        self._known = {kind: mean(values) for kind, values in seconds_per_frame.items()}

    @property
    def measured(self) -> bool:
        """Whether anything has been."""
        return bool(self._known)

    def rate(self, config: RunConfig) -> Rate:
        """How fast a run will be: as others of its kind were, else as recorded."""
        kind = kind_of(to_plain(config))
        if kind in self._known:
            return Rate(1 / self._known[kind], measured=True)
        alike = {k[-1]: seconds for k, seconds in self._known.items() if k[:-1] == kind[:-1]}
        if alike:  # other models of the same world
            approx = mean(seconds / _share(kind[1], model) for model, seconds in alike.items())
            return Rate(1 / (approx * _share(kind[1], kind[-1])), measured=True)
        recorded = [RECORDED[kind[:n]] for n in range(1, len(kind)) if kind[:n] in RECORDED]
        return Rate([SLOWEST, *recorded][-1] / _share(kind[1], kind[-1]), measured=False)


def _share(agent: str, model: str) -> float:
    return OF_MODELS.get(agent, {}).get(model, 1.0)


def kind_of(plain: Mapping[str, Any]) -> Kind:
    """What decides how fast a run is, as far as we look."""
    task, model = plain["task"], plain["network"]["model"]
    name = task.get("name", task["kind"])
    found = (plain["preset"], plain["agent"], name, task.get("obs"), plain["device"], model)
    return tuple(map(str, found))


def measured_rates(pool: Path) -> Rates:
    """The rates of all finished runs of a pool."""
    found: dict[Kind, list[float]] = {}
    for folder in pool.glob("*/summary.json"):
        for kind, seconds in _timed(folder.parent):
            found.setdefault(kind, []).append(seconds)
    return Rates(found)


def _timed(folder: Path) -> Iterable[tuple[Kind, float]]:
    """The kind of a finished run and its seconds per frame; nothing if its files are damaged."""
    try:
        summary, about = (read_object(folder / name) for name in ("summary.json", "config.json"))
        seconds = summary["seconds"] / summary["frames"]
        return [(kind_of(about["config"]), seconds)] if 0 < seconds < math.inf else []
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return []


def spoken(seconds: float) -> str:
    """A length of time for people.

    >>> spoken(42), spoken(600), spoken(9000), spoken(400_000)
    ('42 s', '10 min', '2 h 30 min', '4 d 15 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"
