"""Somebody's own environment as a task: a Gymnasium id, module:factory, a class or a function."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.declared import Declared
from nearsym.groups.symmetry import Symmetry, symmetry_of
from nearsym.tasks.task import Part, PlainEvaluation, Settings, Traits

Factory = Callable[..., gymnasium.Env]


@dataclass(frozen=True, kw_only=True)
class CustomTask(PlainEvaluation):
    """An environment of one's own, flattened to what agents read."""

    kind: ClassVar[str] = "custom"
    agents: ClassVar[tuple[str, ...]] = ("drqv2", "sac")
    rounds_away: ClassVar[bool] = False
    variant: ClassVar[None] = None
    noise: ClassVar[float] = 0.0
    frames_per_step: ClassVar[int] = 1
    stacked: ClassVar[int] = 1

    name: str
    """a Gymnasium id, module:factory, or the place of the class or function that was given"""
    symmetry: Symmetry | None = None
    """given with the task, in place of one that its environment declares"""
    factory: Factory | None = field(default=None, compare=False, repr=False)
    """what makes the environment, where it was given as an object; not saved with a run"""
    trusted: bool = field(default=True, compare=False, repr=False)
    """whether `name` may be imported: somebody named it, rather than a file"""
    _opened: list[gymnasium.Env] = field(
        default_factory=list, init=False, compare=False, repr=False
    )

    def traits(self) -> Traits:
        """What the environment says of itself. It is kept for the first `make`, since building one
        may take long."""
        if not self._opened:
            self._opened.append(self._build(None))
        env = self._opened[0]
        images = len(env.observation_space.shape or ()) == 3
        return Traits(images, symmetric=isinstance(symmetry_of(env), Symmetry))

    def suited_to(self, agent: str | None) -> Self:
        return self

    def check_given(self, names: Collection[str]) -> None:
        """Every option has an effect."""

    def with_noise(self, noise: float) -> Self:
        raise UsageError("`noise` belongs to tasks of nearsym; add it in the environment itself.")

    def make(self, part: Part = "train", *, render_mode: str | None = None) -> gymnasium.Env:
        """The environment; every part is the same task."""
        if part == "train" and render_mode is None and self._opened:
            return self._opened.pop()
        return self._build(render_mode)

    def make_for_audit(self) -> gymnasium.Env:
        return self.make_plain()

    def defaults(self, preset: str, agent: str, model: str) -> Settings:
        return {}

    def _build(self, render_mode: str | None) -> gymnasium.Env:
        env = self.make_plain(render_mode=render_mode)
        return adapted(self.name, env)

    def make_plain(self, *, render_mode: str | None = None) -> gymnasium.Env:
        """The environment as its author made it, with its declared or given symmetry."""
        if self.factory is not None:
            env = _called(self.name, self.factory)
        elif ":" in self.name:
            self._check_trust()
            env = _called(self.name, _imported(self.name))
        else:
            env = from_gymnasium(self.name, render_mode)
        return env if self.symmetry is None else Declared(env, self.symmetry)

    def _check_trust(self) -> None:
        if not self.trusted:
            module, _, factory = self.name.partition(":")
            raise UsageError(
                f"Opening this run would import the module {module!r} and call {factory!r} from "
                "it. Hand over the environment as `task`, or, if you trust the folder, pass "
                "`trust_task=True`."
            )


def custom_task(made_by: str | Factory, symmetry: Symmetry | None = None) -> CustomTask:
    """The task of a Gymnasium id, a module:factory, a class or a function."""
    if isinstance(made_by, str):
        return CustomTask(name=made_by, symmetry=symmetry)
    name = getattr(made_by, "__qualname__", type(made_by).__name__)
    module = getattr(made_by, "__module__", "?")
    return CustomTask(name=f"{module}:{name}", symmetry=symmetry, factory=made_by)


def reopened(saved: CustomTask, made_by: str | Factory | None, trusted: bool) -> CustomTask:
    """A task read from a run folder, with what the user hands over to open it."""
    if callable(made_by):
        return replace(saved, factory=made_by)
    if made_by is not None and made_by != saved.name:
        raise UsageError(f"This run was trained on {saved.name}, got the `task` {made_by}.")
    return replace(saved, trusted=trusted or made_by is not None)


def adapted(name: str, env: gymnasium.Env) -> gymnasium.Env:
    """An environment with actions in [−1, 1]ⁿ and float32 or uint8 observations."""
    obs, action = env.observation_space, env.action_space
    if not isinstance(obs, gymnasium.spaces.Box) or len(obs.shape) not in (1, 3):
        raise UsageError(f"{name} must observe a vector or an image (a Box), got {obs}.")
    if not isinstance(action, gymnasium.spaces.Box) or not action.is_bounded():
        raise UsageError(f"{name} must take bounded continuous actions (a Box), got {action}.")
    if len(action.shape) != 1 or 0 in (*obs.shape, *action.shape):
        raise UsageError(
            f"{name} must take actions as a vector, and neither actions nor observations may be "
            f"empty; got actions of the shape {action.shape} and observations of {obs.shape}."
        )
    if not (np.all(action.low == -1) and np.all(action.high == 1)):
        env = UnitActions(env, np.float32(-1), np.float32(1))
    if len(obs.shape) == 3 and obs.dtype != np.uint8:
        raise UsageError(f"{name} must show images as uint8, got {obs.dtype}.")
    if len(obs.shape) == 1 and obs.dtype != np.float32:
        single = np.float32  # Gymnasium's DtypeObservation does the same with a warning
        space = gymnasium.spaces.Box(obs.low.astype(single), obs.high.astype(single), dtype=single)
        env = SingleObservations(env, lambda x: x.astype(single), space)
    return env


class UnitActions(gymnasium.wrappers.RescaleAction):
    """Actions in [−1, 1]ⁿ around an environment that has other units."""


class SingleObservations(gymnasium.wrappers.TransformObservation):
    """Observations in float32 around an environment that shows other numbers."""


def own_spaces(env: gymnasium.Env) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """The spaces of observations and actions in the units of the environment's author."""
    while isinstance(env, UnitActions | SingleObservations):
        env = env.env
    observation, action = env.observation_space, env.action_space
    assert isinstance(observation, gymnasium.spaces.Box)
    assert isinstance(action, gymnasium.spaces.Box)
    return observation, action


def from_gymnasium(task: str, render_mode: str | None = None, **options: Any) -> gymnasium.Env:
    """An environment by its Gymnasium id."""
    if render_mode is not None:
        options["render_mode"] = render_mode
    try:
        return gymnasium.make(task, **options)
    except gymnasium.error.UnregisteredEnv as error:
        raise UsageError(f"{error} nearsym's own tasks: nearsym.list_tasks().") from error
    except gymnasium.error.DependencyNotInstalled as error:
        raise UsageError(f"{task} needs something that is not installed: {error}") from error


def from_factory(task: str, **options: Any) -> gymnasium.Env:
    """An environment by module:factory."""
    return _called(task, _imported(task), **options)


def _imported(task: str) -> Factory:
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
    factory: Any = module
    for part in factory_name.split("."):
        factory = getattr(factory, part, None)
    if not callable(factory):
        public = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise unknown_name(f"factory in {module_name}", factory_name, public)
    return factory


def _called(task: str, factory: Factory, **options: Any) -> gymnasium.Env:
    try:
        inspect.signature(factory).bind(**options)
    except TypeError as error:
        given = f"the options {', '.join(options)}" if options else "no arguments"
        raise UsageError(f"{task} is called with {given}: {error}.") from None
    env = factory(**options)
    if not isinstance(env, gymnasium.Env):
        raise UsageError(f"{task} has to return a Gymnasium environment, got {type(env).__name__}.")
    return env
