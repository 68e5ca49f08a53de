"""Somebody's own environment as a task: a Gymnasium id, module:factory, a class or a function."""

import hashlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import gymnasium
from gymnasium.envs.registration import load_env_creator

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.declared import Declared
from nearsym.groups.symmetry import Symmetry, symmetry_of
from nearsym.tasks.adapted import adapted
from nearsym.tasks.task import (
    Noise,
    Part,
    PlainEvaluation,
    Settings,
    Task,
    Traits,
    follows_scales,
)

Factory = Callable[..., gymnasium.Env]
_OF_GYMNASIUM = tuple(inspect.signature(gymnasium.make).parameters)


@dataclass(frozen=True, kw_only=True)
class CustomTask(PlainEvaluation):
    """An environment of one's own, flattened to what agents read."""

    kind: ClassVar[str] = "custom"
    agents: ClassVar[tuple[str, ...]] = ("drqv2", "sac")
    rounds_away: ClassVar[bool] = False
    light: ClassVar[bool] = False
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
    _opened: list[gymnasium.Env] = field(default_factory=list, compare=False, repr=False)
    """an environment that was built to look at it; changed copies of the task share it"""

    def traits(self) -> Traits:
        """What the environment says of itself. It is kept for the first `make`, since building one
        may take long."""
        if not self._opened:
            self._opened.append(self._build(None))
        env = adapted(self.name, self._declare(self._opened[0]))
        images = len(env.observation_space.shape or ()) == 3
        return Traits(images, symmetric=isinstance(symmetry_of(env), Symmetry))

    def suited_to(self, agent: str | None) -> Self:
        return self

    def check_given(self, names: Collection[str]) -> None:
        """Every option has an effect."""

    def with_noise(self, noise: Noise) -> Self:
        raise UsageError("`noise` belongs to tasks of nearsym; add it in the environment itself.")

    def make(self, part: Part = "train", *, render_mode: str | None = None) -> gymnasium.Env:
        """The environment; every part is the same task."""
        looked_at = bool(self._opened) and part == "train" and render_mode is None
        env = self._opened.pop() if looked_at else self._build(render_mode)
        return adapted(self.name, self._declare(env))

    def make_plain(self, *, render_mode: str | None = None) -> gymnasium.Env:
        """The environment as its author made it, with its declared or given symmetry."""
        return self._declare(self._build(render_mode))

    def make_for_audit(self) -> gymnasium.Env:
        return self.make_plain()

    def defaults(self, preset: str, agent: str, model: str) -> Settings:
        return follows_scales(preset, agent)

    def source(self) -> str | None:
        """A digest of the file in which the class or function stands; None where there is none."""
        made_by: Any = self.factory
        if made_by is not None and _place_of(made_by) != self.name:
            return None  # handed over in the place of what the run was begun with
        if made_by is None and ":" in self.name and self.trusted:
            made_by = _imported(self.name)
        made_by = getattr(made_by, "func", made_by)  # of a partial
        try:
            path = inspect.getsourcefile(made_by)
            content = b"" if path is None else Path(path).read_bytes()
        except (TypeError, OSError):  # made by no file, or not any more
            return None
        return hashlib.sha256(content).hexdigest()[:16] if content else None

    def _build(self, render_mode: str | None) -> gymnasium.Env:
        if self.factory is not None:
            return _called(self.name, self.factory)
        if ":" in self.name:
            self._check_trust()
            return from_factory(self.name)
        return from_gymnasium(self.name, render_mode)

    def _declare(self, env: gymnasium.Env) -> gymnasium.Env:
        return env if self.symmetry is None else Declared(env, self.symmetry)

    def _check_trust(self) -> None:
        if not self.trusted:
            module, _, factory = self.name.partition(":")
            raise UsageError(
                f"Opening this run would import the module {module!r} and call {factory!r} from "
                "it. If you trust it, pass `trust_task=True`; in Python you may hand over the "
                "environment instead: nearsym.Run(path, task=MyEnv)."
            )


@contextmanager
def closed_if_refused(task: Task) -> Iterator[None]:
    """Closes the environment that was built to look at a task, where the block ends in an error
    before somebody has taken it."""
    try:
        yield
    except BaseException:
        while isinstance(task, CustomTask) and task._opened:
            task._opened.pop().close()
        raise


def custom_task(made_by: str | Factory, symmetry: Symmetry | None = None) -> CustomTask:
    """The task of a Gymnasium id, a module:factory, a class or a function."""
    if isinstance(made_by, str):
        return CustomTask(name=made_by, symmetry=symmetry)
    return CustomTask(name=_place_of(made_by), symmetry=symmetry, factory=made_by)


def _place_of(made_by: Factory) -> str:
    name = getattr(made_by, "__qualname__", type(made_by).__name__)
    return f"{getattr(made_by, '__module__', '?')}:{name}"


def reopened(saved: CustomTask, made_by: str | Factory | None, trusted: bool) -> CustomTask:
    """A task read from a run folder, with what the user hands over to open it."""
    if callable(made_by):
        return replace(saved, factory=made_by, _opened=[])
    if made_by is not None and made_by != saved.name:
        raise UsageError(f"This run was trained on {saved.name}, got the `task` {made_by}.")
    return replace(saved, trusted=trusted or made_by is not None)


def from_gymnasium(task: str, render_mode: str | None = None, **options: Any) -> gymnasium.Env:
    """An environment by its Gymnasium id."""
    if render_mode is not None:
        options["render_mode"] = render_mode
    try:
        _check_gymnasium_options(task, options)
        return gymnasium.make(task, **options)
    except gymnasium.error.UnregisteredEnv as error:
        raise UsageError(f"{error} nearsym's own tasks: nearsym.list_tasks().") from error
    except gymnasium.error.DependencyNotInstalled as error:
        raise UsageError(f"{task} needs something that is not installed: {error}") from error
    except gymnasium.error.Error as error:
        raise UsageError(f"Gymnasium cannot make {task}: {error}") from error


def _check_gymnasium_options(task: str, options: Mapping[str, Any]) -> None:
    own = [name for name in options if name not in (*_OF_GYMNASIUM, "render_mode")]
    spec = gymnasium.registry.get(task)
    if own and spec is not None and spec.entry_point is not None:
        place: Any = spec.entry_point
        maker = load_env_creator(place) if isinstance(place, str) else place
        _check_options(task, maker, {name: options[name] for name in own}, spec.kwargs)


def from_factory(task: str | Factory, **options: Any) -> gymnasium.Env:
    """An environment by module:factory, or by the class or function itself."""
    if isinstance(task, str):
        return _called(task, _imported(task), **options)
    return _called(_place_of(task), task, **options)


def _imported(task: str) -> Factory:
    module_name, _, factory_name = task.partition(":")
    if not factory_name or not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(f"A task of your own is module:factory, got {task!r}.")
    try:
        module = import_module(module_name)
    except SystemExit as left:
        raise _left(f"Importing {module_name!r}", left) from left
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
    _check_options(task, factory, options)
    try:
        env = factory(**options)
    except SystemExit as left:
        raise _left(f"Calling {task}", left) from left
    if not isinstance(env, gymnasium.Env):
        raise UsageError(f"{task} has to return a Gymnasium environment, got {type(env).__name__}.")
    return env


def _left(doing: str, exit: SystemExit) -> UsageError:
    """An exit that nobody asked for must not pass for success."""
    return UsageError(
        f"{doing} asked the program to exit (code {exit.code}), where an environment was expected. "
        "Name a function that returns one."
    )


def _check_options(
    task: str, maker: Callable[..., Any], options: Mapping[str, Any], others: Mapping[str, Any] = {}
) -> None:
    """Refuse options that a maker, which gets others beside them, does not take."""
    try:
        inspect.signature(maker).bind(**{**others, **options})
    except TypeError as error:
        given = f"the options {', '.join(options)}" if options else "no arguments"
        raise UsageError(f"{task} is called with {given}: {error}.") from None
