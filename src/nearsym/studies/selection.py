"""Which runs belong together: the same world at the same scale, and a name for each kind of run.

A *world* is a task, its variant and the form of its observations. A *scale* says how it was
learned: preset, observations, agent. An *arm* is what is compared there: a model, and the settings
in which it differs from other runs.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, NamedTuple

from nearsym.errors import UsageError
from nearsym.studies.result_check import is_number
from nearsym.studies.results import RunResult
from nearsym.studies.study import OF_HARDWARE
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.variants import parse_variant as control_variant
from nearsym.tasks.craft.task import CraftTask
from nearsym.tasks.craft.variants import parse_variant as craft_variant
from nearsym.tasks.strength import ORIGINAL
from nearsym.tasks.trading.planted import STRONGEST

LENGTHS = ("frames", "eval_every", "eval_episodes", "checkpoint_every", "replay")
"""Settings that change no number at a given frame."""
OF_AUDITS = ("epsilon", "mean_error")
"""Details that an audit of the world has added to a result."""
TRADING = "trading"
"""The task with portfolios instead of worlds, and symmetries of time instead of elements."""
MODELS = ("none", "exact", "approx", "rpp", "sit", "augment", "mirror")
"""The order in which models stand in tables."""


class Scale(NamedTuple):
    """How a world was learned. A verdict is always said with it."""

    preset: str
    obs: str | None
    agent: str

    def __str__(self) -> str:
        return ", ".join(part for part in self if part is not None)


class World(NamedTuple):
    """Where arms are compared with each other."""

    task: str
    variant: str | None
    scale: Scale
    noise: float = 0.0
    """On the images in training: with it, it is another world."""

    @property
    def variant_name(self) -> str:
        """What people call its variant."""
        name = ORIGINAL if self.variant is None else self.variant
        return f"{name}, noise {self.noise:g}" if self.noise else name

    def __str__(self) -> str:
        return f"{self.task} {self.variant_name}"


class Variant(NamedTuple):
    """What breaks the symmetry, and how much."""

    name: str
    strength: float


def scale_of(run: RunResult) -> Scale:
    """How a run was made."""
    return Scale(run.preset, run.obs, run.agent)


def world_of(run: RunResult) -> World:
    """Where a run belongs; a variant at its usual strength goes by its name alone."""
    noise = run.settings.get("task.noise", 0.0)
    usable = is_number(noise) and noise > 0  # others may call something else so
    variant = usual_variant(run.task, run.variant)
    return World(run.task, variant, scale_of(run), float(noise) if usable else 0.0)


def usual_variant(task: str, variant: str | None) -> str | None:
    """The one way to write a variant: the paper's by their names, others with their strengths. At
    strength 0 it is the original.

    >>> usual_variant("acrobot-swingup", "gravity=-2"), usual_variant("craft", "tilt=0")
    ('gravity', None)
    >>> usual_variant("craft", "tilt")
    'tilt=75'
    """
    if variant in (None, ORIGINAL):
        return None
    found = _known_variant(task, variant)
    if found is None:
        return variant
    if found.strength == 0:
        return None
    papers = task in DOMAINS and found == _known_variant(task, found.name)
    return found.name if papers else f"{found.name}={found.strength:g}"


def variant_of(task: str, variant: str | None) -> Variant:
    """Name and strength of a variant; the original has strength 0.

    >>> variant_of("craft", "tilt"), variant_of("my_robot:make", None)
    (Variant(name='tilt', strength=75.0), Variant(name='original', strength=0.0))
    """
    if variant in (None, ORIGINAL):
        return Variant(ORIGINAL, 0.0)
    found = _known_variant(task, variant)
    if found is not None:
        return found
    name, _, number = str(variant).partition("=")
    try:
        return Variant(name, float(number))
    except ValueError:
        return Variant(str(variant), 1.0)


def _known_variant(task: str, variant: str | None) -> Variant | None:
    """As the task reads it; None for other tasks, and for what a file calls a variant of one that
    has no such."""
    found: Any = None
    with suppress(UsageError):
        if task in DOMAINS:
            found = control_variant(variant, DOMAINS[task])
        elif task == CraftTask.name:
            found = craft_variant(variant)
    return None if found is None else Variant(found.name, found.strength)


def unique(results: Iterable[RunResult]) -> list[RunResult]:
    """Every seed once, in an order that does not depend on that of the files: of runs that differ
    in their length or in the machine's precision alone the longest, then the one that tells most,
    then the first.
    """
    found: dict[tuple[Any, ...], RunResult] = {}
    known: set[tuple[Any, ...]] = set()
    for run in sorted(results, key=_told, reverse=True):
        settings = settings_of(run)
        # A study of precisions tells more settings of the same run than others do.
        shared = {name: value for name, value in settings.items() if name not in OF_HARDWARE}
        about = (world_of(run), run.model, run.seed)
        same = (*about, json.dumps(shared, sort_keys=True, default=str), run.key)
        place = (*about, json.dumps(settings, sort_keys=True, default=str))
        if same not in known and place not in found:
            found[place] = run
            known.add(same)
    return sorted(found.values(), key=lambda r: (*map(str, r.world), r.model, r.seed, r.key))


def _told(run: RunResult) -> tuple[Any, ...]:
    """How much a result has to tell, but for what an audit said of its world; its key, so that one
    of two equal ones is always the same."""
    end = run.frames[-1] if run.frames else 0
    played = sum(len(returns) for returns in run.evaluations.values())
    told = len(run.details.keys() - OF_AUDITS)
    return end, len(run.frames), played, told, run.key, -len(run.settings)


def settings_of(run: RunResult) -> dict[str, Any]:
    """The settings that matter, by the last part of their names; a file by its name, wherever it
    lies."""
    short = {name.rpartition(".")[2]: value for name, value in run.settings.items()}
    if isinstance(short.get("data"), str):
        short["data"] = PurePath(short["data"]).name
    return {name: value for name, value in short.items() if name not in LENGTHS}


def alike(settings: Iterable[dict[str, Any]]) -> bool:
    """Whether they are all the same."""
    every = list(settings)
    return all(one == every[0] for one in every)


def symmetry_of(run: RunResult) -> str | None:
    """T or ST for runs that trade with a symmetry of time; None for all others."""
    if run.task != TRADING or run.model == "none":
        return None
    return settings_of(run).get("symmetry") or "T"


def is_planted(world: World | RunResult) -> bool:
    """Whether the signal of a market is planted."""
    signal, strength, _ = (world.variant or "").partition("=")
    return world.task == TRADING and signal in STRONGEST and bool(strength)


def market_of(world: World) -> str | None:
    """The name of a world of real prices, None for others: `trading` for the embedded ones.

    >>> market_of(World("trading", "dow", Scale("laptop", None, "sac")))  # a file dow.csv
    'trading dow'
    """
    if world.task != TRADING or is_planted(world):
        return None
    return TRADING if world.variant is None else f"{TRADING} {world.variant}"


def by_world(results: Iterable[RunResult]) -> dict[World, list[RunResult]]:
    """The runs of each world, tasks and strengths in order."""
    found: dict[World, list[RunResult]] = {}
    for run in unique(results):
        found.setdefault(world_of(run), []).append(run)
    ordered = sorted(found, key=lambda world: (world.task, str(world.scale), _rank(world)))
    return {world: found[world] for world in ordered}


def by_scale(results: Iterable[RunResult]) -> dict[Scale, list[RunResult]]:
    """The runs of each scale."""
    found: dict[Scale, list[RunResult]] = {}
    for run in results:
        found.setdefault(scale_of(run), []).append(run)
    return dict(sorted(found.items(), key=lambda item: str(item[0])))


def _rank(world: World) -> tuple[bool, str, float, float]:
    name, strength = variant_of(world.task, world.variant)
    return world.variant is not None, name, strength, world.noise


def by_arm(runs: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    """The runs of a world by what is compared: models in their usual order, then settings."""
    every = [_comparable(run) for run in runs]
    differing = {
        name
        for settings in every
        for name in settings
        if any(other.get(name, ...) != settings[name] for other in every)
    }
    found: dict[str, list[RunResult]] = {}
    for run, settings in zip(runs, every, strict=True):
        arm = _arm(run, {name: value for name, value in settings.items() if name in differing})
        found.setdefault(arm, []).append(run)
    return dict(sorted(found.items(), key=lambda item: (model_order(item[1][0].model), item[0])))


def plain(runs: Sequence[RunResult], *, but: str | None = None) -> list[RunResult]:
    """Of one world, the largest set of trained runs with equal settings, but for one: those that
    models are compared by.

    Sweeps of a setting of one model have fewer models and seeds; of equal sets the one with the
    fewest settings is taken.
    """
    found: dict[str, list[RunResult]] = {}
    for run in [run for run in runs if run.frames] or runs:
        settings = {name: value for name, value in _comparable(run).items() if name != but}
        found.setdefault(json.dumps(settings, sort_keys=True, default=str), []).append(run)
    return max(
        found.items(),
        key=lambda item: (len({run.model for run in item[1]}), len(item[1]), -len(item[0])),
        default=("", []),
    )[1]


def _comparable(run: RunResult) -> dict[str, Any]:
    """Settings without the symmetry of time, which is part of the model's name."""
    return {name: value for name, value in settings_of(run).items() if name != "symmetry"}


def _arm(run: RunResult, settings: dict[str, Any]) -> str:
    kind = symmetry_of(run)
    name = run.model if kind is None else f"{run.model} {kind}"
    return ", ".join([name, *(f"{key} {value}" for key, value in sorted(settings.items()))])


def model_order(model: str) -> int:
    """The place of a model in tables; unknown ones come last."""
    return MODELS.index(model) if model in MODELS else len(MODELS)
