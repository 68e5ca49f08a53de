"""From a name to a task or an environment, and the ids under which Gymnasium knows the tasks."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import gymnasium

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.symmetry import TIME_KINDS, Symmetry
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.task import OBSERVATIONS, ControlTask
from nearsym.tasks.control.variants import VARIANTS
from nearsym.tasks.custom import CustomTask, Factory, custom_task, from_factory, from_gymnasium
from nearsym.tasks.task import Task
from nearsym.tasks.trading.environment import make_trading
from nearsym.tasks.trading.task import TradingTask

NAMESPACE = "nearsym"
NAMES = (*DOMAINS, TradingTask.name)
KINDS: dict[str, type[Any]] = {t.kind: t for t in (ControlTask, TradingTask, CustomTask)}
"""The families of tasks, by the tag with which they are saved."""
_LABELS = {
    "the control tasks": ControlTask,
    "the task trading": TradingTask,
    "environments of one's own": CustomTask,
}


def list_tasks() -> list[dict[str, Any]]:
    """Every task of nearsym: name, group, variants, kinds of observation.

    >>> list_tasks()[0]["name"]
    'acrobot-swingup'
    """
    control = [
        {
            "name": domain.name,
            "group": str(domain.group),
            "variants": list(VARIANTS),
            "obs": list(OBSERVATIONS),
        }
        for domain in DOMAINS.values()
    ]
    trading = {"name": TradingTask.name, "group": ", ".join(TIME_KINDS)}
    return [*control, trading | {"variants": [], "obs": ["window"]}]


def find_task(task: str | Factory | Task, **options: Any) -> Task:
    """The task that a name, a class or a function stands for, with its options.

    >>> find_task("cartpole-swingup", obs="state").obs
    'state'
    """
    if not isinstance(task, str):
        if is_task(task):
            value: Any = task
            return replace(value, **_known(type(value), value.name, options))
        factory = _checked_factory(task)
        return custom_task(factory, **_known(CustomTask, _name_of(factory), options))
    name = plain_name(task)
    if name in DOMAINS:
        return ControlTask(name=name, **_known(ControlTask, name, options))
    if name == TradingTask.name:
        return TradingTask(**_known(TradingTask, name, options))
    if not _is_custom(name):
        raise unknown_name("task", name, NAMES)
    return custom_task(name, **_known(CustomTask, name, options))


def make(task: str | Factory, **options: Any) -> gymnasium.Env:
    """An environment by name.

    `task` is one of nearsym's control tasks (`acrobot-swingup`, `cartpole-swingup`,
    `ball_in_cup-catch`, `reacher-hard`) with the options of `ControlTask`; `trading`, with those of
    `make_trading`; any Gymnasium id; or a function that returns a Gymnasium environment, as such or
    as `module:function`. The latter three take their own options, and an environment of yours need
    not declare a `symmetry` here: whoever uses one asks for it.

    >>> make("cartpole-swingup", variant="gravity", obs="state").observation_space.shape
    (5,)
    """
    if not isinstance(task, str):
        return from_factory(_checked_factory(task), **options)
    name = plain_name(task)
    if name in DOMAINS:
        render_mode = options.pop("render_mode", None)
        return find_task(name, **options).make(render_mode=render_mode)
    if name == TradingTask.name:
        _refuse_foreign(name, options)
        return make_trading(**options)
    if not _is_custom(name):
        raise unknown_name("task", name, NAMES)
    return from_factory(name, **options) if ":" in name else from_gymnasium(name, **options)


def register() -> None:
    """Make the tasks known to Gymnasium as `nearsym/…-v0`; twice does no harm."""
    for name in DOMAINS:
        if f"{NAMESPACE}/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"{NAMESPACE}/{name}-v0",
                entry_point="nearsym.tasks.control.environment:ControlEnv",
                kwargs={"task": name},
                # The environment itself refuses bad actions and steps before a reset.
                order_enforce=False,
                disable_env_checker=True,
            )
    trading = f"{NAMESPACE}/{TradingTask.name}-v0"
    if trading not in gymnasium.registry:
        gymnasium.register(trading, entry_point="nearsym.tasks.trading.environment:make_trading")


def plain_name(task: str) -> str:
    """`cartpole-swingup` for Gymnasium's `nearsym/cartpole-swingup-v0`; other names as they are."""
    if not task.startswith(f"{NAMESPACE}/"):
        return task
    name = task.removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    if name not in NAMES:
        raise unknown_name("task", name, NAMES)
    return name


def is_task(value: object) -> bool:
    """Whether something is a task as a value."""
    return isinstance(value, tuple(KINDS.values()))


def options_of(kind: type[Any]) -> tuple[str, ...]:
    """The options of a family of tasks that a person may give."""
    hidden = ("name", "factory", "trusted", "_opened")
    return tuple(f.name for f in fields(kind) if f.name not in hidden)


def _is_custom(name: str) -> bool:
    return ":" in name or "/" in name or re.search(r"-v\d+$", name) is not None


def _known(kind: type[Any], name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    known = options_of(kind)
    for option in options:
        if option not in known:
            raise _unknown_option(option, name, known)
    if kind is CustomTask and not isinstance(options.get("symmetry"), Symmetry | None):
        raise UsageError(
            f"`symmetry` of an environment of one's own is a nearsym.Symmetry, got "
            f"{options['symmetry']!r}."
        )
    return dict(options)


def _refuse_foreign(name: str, options: Mapping[str, Any]) -> None:
    """Options of other families; the maker itself knows its own."""
    foreign = set(options_of(ControlTask)) - set(options_of(TradingTask))
    for option in options:
        if option in foreign:
            raise _unknown_option(option, name, ())


def _unknown_option(option: str, name: str, known: tuple[str, ...]) -> UsageError:
    owners = [label for label, kind in _LABELS.items() if option in options_of(kind)]
    if owners:
        return UsageError(f"`{option}` belongs to {' and '.join(owners)}, not to {name}.")
    return unknown_name(f"option of {name}", option, known)


def _name_of(task: Any) -> str:
    return getattr(task, "__name__", type(task).__name__)


def _checked_factory(task: Any) -> Factory:
    if isinstance(task, gymnasium.Env) or not callable(task):
        raise UsageError(
            "A task is a name, a class or a function that makes an environment, got "
            f"{type(task).__name__}. Training needs two environments, one of them to evaluate in."
        )
    return task


register()
