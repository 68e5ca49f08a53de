"""Everything that defines a run, as one value that is saved with it."""

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin

import cattrs
import numpy as np
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.sac import SACConfig
from nearsym.errors import UsageError, check_range, shown, unknown_name
from nearsym.groups import saved
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.config import NetworkConfig
from nearsym.runs.folders_0_1 import upgraded
from nearsym.runs.limits import LARGEST_SEED, check_device, check_sections, check_threads
from nearsym.tasks.custom import CustomTask
from nearsym.tasks.registry import KINDS, options_of
from nearsym.tasks.task import Task
from nearsym.training.config import TrainingConfig

ALGORITHMS: dict[str, type[Any]] = {"drqv2": DrQV2Config, "sac": SACConfig}
PRECISIONS = ("fp32", "bf16")
PRESETS = ("paper", "laptop", "smoke")


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One training run. Two runs with equal configurations and versions give equal numbers."""

    task: Task
    agent: str
    """drqv2 or sac"""
    algorithm: DrQV2Config | SACConfig
    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    preset: str = "paper"
    """paper, laptop or smoke: where the settings that nobody gave come from"""
    seed: int = 0
    """binds everything that is random"""
    threads: int = 1
    """torch threads; results repeat for a number of threads and differ between numbers"""
    precision: str = "fp32"
    """fp32 or bf16: what `auto` was resolved to"""
    device: str = "cpu"
    """cpu or cuda"""
    compile: bool = False
    """train with the pixel encoder compiled; playing never compiles"""

    def __post_init__(self) -> None:
        if self.agent not in ALGORITHMS:
            raise unknown_name("agent", self.agent, ALGORITHMS)
        if self.precision not in PRECISIONS:
            raise unknown_name("precision", self.precision, PRECISIONS)
        if self.preset not in PRESETS:
            raise unknown_name("preset", self.preset, PRESETS)
        wanted = ALGORITHMS[self.agent]
        if not isinstance(self.algorithm, wanted):
            raise UsageError(f"The agent {self.agent} takes a {wanted.__name__}.")
        check_range("seed", self.seed, 0, LARGEST_SEED)
        check_threads(self.threads)
        check_device(self.device)
        check_sections(algorithm=self.algorithm, network=self.network)


def to_plain(config: RunConfig) -> dict[str, Any]:
    """The configuration as JSON objects; the kind of task is a tag among its entries."""
    plain = _CONVERTER.unstructure(config)
    plain["task"] = {"kind": config.task.kind} | _CONVERTER.unstructure(config.task)
    plain["algorithm"] = _CONVERTER.unstructure(config.algorithm)
    return json.loads(json.dumps(plain))


def from_plain(plain: Any) -> RunConfig:
    """The inverse of `to_plain`, for folders of version 0.1 too; whatever does not fit is named."""
    if not isinstance(plain, dict):
        raise UsageError(f"config must be an object, got {type(plain).__name__}.")
    plain = upgraded(plain)
    _check_entries(plain)
    task = {name: value for name, value in plain["task"].items() if name != "kind"}
    hints = {f.name: f.type for f in fields(RunConfig)} | {
        "task": _chosen(KINDS, plain["task"].get("kind"), "config.task.kind"),
        "algorithm": _chosen(ALGORITHMS, plain["agent"], "config.agent"),
    }
    values = {n: _read(hints[n], v, f"config.{n}") for n, v in (plain | {"task": task}).items()}
    if isinstance(values["task"], CustomTask):  # a file named it, nobody whom we can trust
        values["task"] = replace(values["task"], trusted=False)
    return RunConfig(**values)


def _check_entries(plain: dict[str, Any]) -> None:
    known = {f.name: f for f in fields(RunConfig)}
    for name in plain:
        if name not in known:
            raise UsageError(f"config has an unknown entry {name!r}.")
    for name, known_as in known.items():
        needed = known_as.default is MISSING and known_as.default_factory is MISSING
        if needed and name not in plain:
            raise UsageError(f"config.{name} is missing.")
    if not isinstance(plain["task"], dict):
        raise UsageError(f"config.task must be an object, got {shown(plain['task'])}.")


def _chosen(choices: Mapping[str, type[Any]], name: Any, where: str) -> type[Any]:
    """What a tag stands for."""
    if name is None:
        raise UsageError(f"{where} is missing: it is one of {', '.join(choices)}.")
    if not isinstance(name, str) or name not in choices:
        raise unknown_name(where, name, choices)
    return choices[name]


def with_settings(config: RunConfig, section: str, values: Mapping[str, Any]) -> RunConfig:
    """The configuration with other values in one of its sections, checked as those of a file are.

    >>> from nearsym.runs.presets import preset_config
    >>> from nearsym.tasks.registry import find_task
    >>> config = preset_config("smoke", find_task("cartpole-swingup", obs="state"), "sac", "none")
    >>> with_settings(config, "training", {"batch_size": 7}).training.batch_size
    7
    """
    old = getattr(config, section)
    known = options_of(type(old)) if section == "task" else [f.name for f in fields(old)]
    hints = {f.name: f.type for f in fields(old)}
    read = {}
    for name, value in values.items():
        if name not in known:
            raise unknown_name(f"setting of {section}", name, known)
        new = _read(hints[name], value, f"`{section}.{name}`")
        if new != getattr(old, name):
            read[name] = new
    return replace(config, **{section: replace(old, **read)}) if read else config


def with_values(config: RunConfig, **values: Any) -> RunConfig:
    """The configuration with other values outside its sections, checked as those of a file are."""
    hints = {f.name: f.type for f in fields(config)}
    return replace(config, **{n: _read(hints[n], v, f"`{n}`") for n, v in values.items()})


def _read(hint: Any, value: Any, where: str) -> Any:
    """A value of the kind that a field holds, or an error that says where it is not."""
    if is_dataclass(hint) and not isinstance(value, dict):
        raise UsageError(f"{where} must be an object, got {shown(value)}.")
    try:
        return _CONVERTER.structure(value, hint)
    except UsageError:
        raise
    except cattrs.BaseValidationError as error:
        raise _first_reason(error, where) from error
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(f"{where} {error}.") from error


def _first_reason(error: BaseException, where: str) -> UsageError:
    """What went wrong first, and where, out of cattrs' nested errors."""
    if isinstance(error, cattrs.ClassValidationError):
        noted, others = error.group_exceptions()
        if noted:
            inner, note = noted[0]
            return _first_reason(inner, f"{where}.{note.name}")
        error = others[0]
    if isinstance(error, UsageError):
        return error
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        return UsageError(f"{where} has an unknown entry {sorted(error.extra_fields)[0]!r}.")
    if isinstance(error, KeyError):
        return UsageError(f"{where} is missing.")
    if isinstance(error, AttributeError):
        return UsageError(f"{where} must be an object.")
    return UsageError(f"{where} {error}.")


def _strict(value: Any, kind: type, or_null: str = "") -> Any:
    """cattrs alone would read "5" as 5 and true as 1."""
    value = value.item() if isinstance(value, np.generic) else value  # such as np.arange gives
    whole_for_float = kind is float and type(value) is int
    if type(value) is not kind and not whole_for_float:
        raise TypeError(f"must be {kind.__name__}{or_null}, got {shown(value)}")
    return float(value) if whole_for_float else value  # 1 and 1.0 are one setting, saved as one


def _pair(value: Any, hint: Any) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise TypeError(f"must be a list of 2, got {shown(value)}")
    return _strict(value[0], float), _strict(value[1], float)


def _optional(value: Any, hint: Any) -> Any:
    (kind,) = [part for part in get_args(hint) if part is not type(None)]
    if value is None:
        return None
    if kind is Symmetry:
        return value if isinstance(value, Symmetry) else saved.from_plain(value)
    if get_origin(kind) is Literal:
        return _choice(value, kind)
    return _strict(value, kind, " or null")


def _choice(value: Any, hint: Any) -> Any:
    if value not in get_args(hint):
        raise TypeError(f"must be one of {', '.join(get_args(hint))}, got {shown(value)}")
    return value


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind in (bool, int, float, str):
        converter.register_structure_hook(kind, _strict)
    converter.register_structure_hook_func(lambda hint: hint == tuple[float, float], _pair)
    converter.register_structure_hook_func(_is_optional, _optional)
    converter.register_structure_hook_func(lambda hint: get_origin(hint) is Literal, _choice)
    converter.register_unstructure_hook(Symmetry, saved.to_plain)
    unsaved: dict[str, Any] = {
        name: override(omit=True) for name in ("factory", "trusted", "_opened")
    }
    converter.register_structure_hook(
        CustomTask, make_dict_structure_fn(CustomTask, converter, **unsaved)
    )
    converter.register_unstructure_hook(
        CustomTask, make_dict_unstructure_fn(CustomTask, converter, **unsaved)
    )
    return converter


def _is_optional(hint: Any) -> bool:
    parts = get_args(hint)
    return isinstance(hint, types.UnionType) and len(parts) == 2 and type(None) in parts


_CONVERTER = _converter()
