"""From a task's name to an environment, and the ids under which Gymnasium knows the tasks."""

import inspect
import re
from importlib import import_module
from typing import Any

import gymnasium as gym

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.control.domains import DOMAINS

NAMESPACE = "nearsym"
TRADING = "trading"
_TRADING_FACTORY = "nearsym.tasks.trading.environment:make_trading"
_CONTROL_DEFAULTS: dict[str, Any] = {
    "variant": None,
    "obs": "pixels",
    "size": 85,
    "action_repeat": 2,
    "frame_stack": 3,
    "noise": 0.0,
    "background": False,
}


def make(
    task: str,
    *,
    variant: str | None = None,
    obs: str = "pixels",
    size: int = 85,
    action_repeat: int = 2,
    frame_stack: int = 3,
    noise: float = 0.0,
    background: bool = False,
    **options: Any,
) -> gym.Env:
    """An environment by name.

    `task` is one of nearsym's control tasks (`acrobot-swingup`, `cartpole-swingup`,
    `ball_in_cup-catch`, `reacher-hard`), which take the named options; `trading`; any Gymnasium
    id; or `module:factory`, a function that returns a Gymnasium environment. The latter three take
    their own `options`, and an environment of yours need not declare a `symmetry` here: whoever
    uses one asks for it.
    """
    named: dict[str, Any] = {
        "variant": variant,
        "obs": obs,
        "size": size,
        "action_repeat": action_repeat,
        "frame_stack": frame_stack,
        "noise": noise,
        "background": background,
    }
    task = plain_name(task)
    if task in DOMAINS:
        _refuse_unknown(task, options)
        return gym.make(f"{NAMESPACE}/{task}-v0", **named, **options)
    _refuse_control_options(task, named)
    if task == TRADING:
        trading: Any = import_module("nearsym.tasks.trading.environment")
        return trading.make_trading(**options)
    if ":" in task:
        return _from_factory(task, options)
    if re.search(r"-v\d+$", task) or "/" in task:
        return _from_gymnasium(task, options)
    raise unknown_name("task", task, [*DOMAINS, TRADING])


def register() -> None:
    """Make the tasks known to Gymnasium as `nearsym/…-v0`; twice does no harm."""
    for name in DOMAINS:
        if f"{NAMESPACE}/{name}-v0" not in gym.registry:
            gym.register(
                f"{NAMESPACE}/{name}-v0",
                entry_point="nearsym.tasks.control.environment:ControlEnv",
                kwargs={"task": name},
                # The environment itself refuses bad actions and steps before a reset.
                order_enforce=False,
                disable_env_checker=True,
            )
    if f"{NAMESPACE}/{TRADING}-v0" not in gym.registry:
        gym.register(
            f"{NAMESPACE}/{TRADING}-v0",
            entry_point="nearsym.tasks.trading.environment:make_trading",
        )


def plain_name(task: str) -> str:
    """`cartpole-swingup` for Gymnasium's `nearsym/cartpole-swingup-v0`; other names as they are."""
    if not task.startswith(f"{NAMESPACE}/"):
        return task
    name = task.removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    if name not in (*DOMAINS, TRADING):
        raise unknown_name("task", name, [*DOMAINS, TRADING])
    return name


def _refuse_unknown(task: str, options: dict[str, Any]) -> None:
    allowed = {*_CONTROL_DEFAULTS, "render_mode"}
    for name in options:
        if name not in allowed:
            raise unknown_name(f"option of {task}", name, allowed)


def _refuse_control_options(task: str, named: dict[str, Any]) -> None:
    for name, value in named.items():
        if value != _CONTROL_DEFAULTS[name]:
            raise UsageError(
                f"{name}={value!r} is an option of the control tasks "
                f"({', '.join(DOMAINS)}), and {task!r} is none of them. Leave it out."
            )


def _from_factory(task: str, options: dict[str, Any]) -> gym.Env:
    module_name, _, factory_name = task.partition(":")
    if not (module_name and factory_name):
        raise UsageError(f"A task of your own is module:factory, got {task!r}.")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        raise UsageError(
            f"No module {module_name!r} for the task {task!r}. It has to be importable: "
            "install it, or run where it lies."
        ) from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        public = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise unknown_name(f"factory in {module_name}", factory_name, public)
    try:
        inspect.signature(factory).bind(**options)
    except TypeError as error:
        given = f"the options {', '.join(options)}" if options else "no arguments"
        raise UsageError(f"{task} is called with {given}: {error}.") from None
    env = factory(**options)
    if not isinstance(env, gym.Env):
        raise UsageError(f"{task} has to return a Gymnasium environment, got {type(env).__name__}.")
    return env


def _from_gymnasium(task: str, options: dict[str, Any]) -> gym.Env:
    try:
        return gym.make(task, **options)
    except gym.error.UnregisteredEnv as error:
        raise UsageError(f"{error} Tasks of nearsym: {', '.join([*DOMAINS, TRADING])}.") from error
    except gym.error.DependencyNotInstalled as error:
        raise UsageError(f"{task} needs something that is not installed: {error}") from error


register()
