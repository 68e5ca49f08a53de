"""From a name to a task or an environment, and the ids under which Gymnasium knows the tasks."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import ENV_ID_RE

from nearsym.errors import UsageError, shown, unknown_name
from nearsym.groups.space import declare_on_space
from nearsym.groups.symmetry import TIME_KINDS, Symmetry
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.task import OBSERVATIONS, ControlTask
from nearsym.tasks.control.variants import VARIANTS
from nearsym.tasks.craft.task import CraftTask
from nearsym.tasks.craft.variants import VARIANTS as CRAFT_VARIANTS
from nearsym.tasks.custom import CustomTask, Factory, custom_task, from_factory, from_gymnasium
from nearsym.tasks.robots.domains import DOMAINS as ROBOTS
from nearsym.tasks.robots.task import RobotTask
from nearsym.tasks.robots.variants import strengths_of
from nearsym.tasks.strength import ORIGINAL
from nearsym.tasks.task import Task
from nearsym.tasks.trading.make import make_trading
from nearsym.tasks.trading.task import TradingTask

NAMESPACE = "nearsym"
KINDS: dict[str, type[Any]] = {
    t.kind: t for t in (CraftTask, ControlTask, RobotTask, TradingTask, CustomTask)
}
"""The families of tasks, by the tag with which they are saved."""
_MAKERS: dict[str, Callable[..., Task]] = {
    CraftTask.name: CraftTask,
    **{name: partial(ControlTask, name=name) for name in DOMAINS},
    **{name: partial(RobotTask, name=name) for name in ROBOTS},
    TradingTask.name: TradingTask,
}
NAMES = tuple(_MAKERS)
_LABELS = {
    "the task craft": CraftTask,
    "the control tasks": ControlTask,
    "the robots": RobotTask,
    "the task trading": TradingTask,
    "environments of one's own": CustomTask,
}


def list_tasks() -> list[dict[str, Any]]:
    """Every task of nearsym: name, group, variants, kinds of observation.

    >>> [task["name"] for task in list_tasks()][:2]
    ['craft', 'acrobot-swingup']
    """
    seen: dict[str, Any] = {"obs": list(OBSERVATIONS)}
    craft = {"name": CraftTask.name, "group": "D4", "variants": list(CRAFT_VARIANTS)} | seen
    control = [
        {"name": d.name, "group": str(d.group), "variants": list(VARIANTS)} | seen
        for d in DOMAINS.values()
    ]
    robots = [
        {"name": d.name, "group": str(d.group), "variants": [ORIGINAL, *strengths_of(d)]}
        | {"obs": ["state"]}
        for d in ROBOTS.values()
    ]
    trading = {"name": TradingTask.name, "group": ", ".join(TIME_KINDS)}
    return [craft, *control, *robots, trading | {"variants": [], "obs": ["window"]}]


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
    if name in NAMES:
        maker = _MAKERS[name]
        return maker(**_known(_kind_of(name), name, options))
    _refuse_no_name(name)
    return custom_task(name, **_known(CustomTask, name, options))


def make(task: str | Factory, **options: Any) -> gymnasium.Env:
    """An environment by name.

    `task` is `craft`, with the options of `CraftTask`; one of the control tasks
    (`acrobot-swingup`, `cartpole-swingup`, `ball_in_cup-catch`, `reacher-hard`), with those of
    `ControlTask`; one of Gymnasium's MuJoCo tasks with its symmetry (`walker2d`, `ant`, …, see
    `list_tasks`), with those of `RobotTask`; `trading`, with those of `make_trading`; any Gymnasium
    id; or a function that returns a Gymnasium environment, as such or as `module:function`. The
    latter three take their own options, and an environment of yours need not declare a `symmetry`
    here: whoever uses one asks for it.

    >>> make("cartpole-swingup", variant="gravity", obs="state").observation_space.shape
    (5,)
    """
    if not isinstance(options.get("render_mode"), str | None):
        raise UsageError(f"`render_mode` is text or None, got {shown(options['render_mode'])}.")
    return declare_on_space(_made(task, options))


def _made(task: str | Factory, options: dict[str, Any]) -> gymnasium.Env:
    if not isinstance(task, str):
        return from_factory(_checked_factory(task), **options)
    name = plain_name(task)
    if name == TradingTask.name:
        refuse_foreign(name, options)
        return make_trading(**options)
    if name in NAMES:
        render_mode = options.pop("render_mode", None)
        return find_task(name, **options).make(render_mode=render_mode)
    _refuse_no_name(name)
    return from_factory(name, **options) if ":" in name else from_gymnasium(name, **options)


def register() -> None:
    """Make the tasks known to Gymnasium as `nearsym/…-v0`; twice does no harm."""
    control = "nearsym.tasks.control.environment:ControlEnv"
    for name in DOMAINS:
        _register(name, entry_point=control, kwargs={"task": name})
    for name in ROBOTS:
        entry = "nearsym.tasks.robots.environment:RobotEnv"
        _register(name, entry_point=entry, kwargs={"task": name})
    _register(
        CraftTask.name,
        entry_point="nearsym.tasks.craft.environment:CraftEnv",
        vector_entry_point="nearsym.tasks.craft.vector:CraftVectorEnv",
    )
    _register(TradingTask.name, entry_point="nearsym.tasks.trading.make:make_trading")


def _register(name: str, **options: Any) -> None:
    # The environments themselves refuse bad actions and steps before a reset.
    if f"{NAMESPACE}/{name}-v0" not in gymnasium.registry:
        options |= {"order_enforce": False, "disable_env_checker": True}
        gymnasium.register(f"{NAMESPACE}/{name}-v0", **options)


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


def _kind_of(name: str) -> type[Any]:
    maker = _MAKERS[name]
    return maker.func if isinstance(maker, partial) else maker  # type: ignore[return-value]


def _refuse_no_name(name: str) -> None:
    """Refuse what can be neither module:factory nor a Gymnasium id."""
    if ":" in name:
        return
    if "/" in name and Path(name, "config.json").is_file():
        again = f"`nearsym.Run({name!r}).resume()`"
        raise UsageError(f"{name} is a run folder, not a task: continue it with {again}.")
    if ENV_ID_RE.fullmatch(name) and ("/" in name or re.search(r"-v\d+$", name)):
        return
    if "/" in name:
        raise UsageError(f"{name} is neither a task nor a run folder: it has no config.json.")
    raise unknown_name("task", name, NAMES)


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


def refuse_foreign(name: str, options: Iterable[str]) -> None:
    """Refuse options that other families have and this task has not; what nobody has may pass."""
    kind = _kind_of(name) if name in NAMES else CustomTask
    own = {*options_of(kind)}
    if kind is TradingTask:
        own |= {*inspect.signature(make_trading).parameters}
    for option in options:
        if option not in own and any(option in options_of(other) for other in KINDS.values()):
            raise _unknown_option(option, name, ())


def _unknown_option(option: str, name: str, known: tuple[str, ...]) -> UsageError:
    owners = [label for label, kind in _LABELS.items() if option in options_of(kind)]
    if owners:
        return UsageError(f"`{option}` belongs to {_listed(owners)}, not to {name}.")
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


def _listed(names: list[str]) -> str:
    """a, b and c."""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])
