"""The check of shapes that the suite puts around every function of nearsym that names them.

A shape is a jaxtyping annotation, such as `Float[Tensor, "batch group channels"]`. The arguments of
a function are judged together with its result, after the call: a function may refuse wrong
arguments by itself, with an error that says what to do, and tests of such errors need no exception
from the check.

jaxtyping's own import hook wraps every function there is, which made the suite a third slower; this
one wraps those that speak of shapes.
"""

import inspect
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, get_args

import numpy as np
from beartype import BeartypeConf, BeartypeHintOverrides, beartype
from jaxtyping import AbstractArray, jaxtyped

# A whole number will do for a real one, numpy's numbers for Python's, and for arrays without axes.
ALIKE = {
    int: int | np.integer,
    float: float | int | np.integer | np.floating,
    np.ndarray: np.ndarray | np.generic,
}

_typechecked = beartype(conf=BeartypeConf(hint_overrides=BeartypeHintOverrides(ALIKE)))


def install(package: str) -> None:
    """From now on, modules of a package are imported with the check."""
    if package in sys.modules:
        raise RuntimeError(f"{package} is imported already, without the check of its shapes.")
    sys.meta_path.insert(0, _Finder(package))


class _Finder(MetaPathFinder):
    def __init__(self, package: str):
        self.package = package

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.package and not name.startswith(f"{self.package}."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(value):
                _check_methods(value)
            elif inspect.isfunction(value):
                setattr(module, name, _checked(value))


def _check_methods(owner: type) -> None:
    for name, value in list(vars(owner).items()):
        if inspect.isfunction(value) and name != "__new__":
            setattr(owner, name, _checked(value))
        elif isinstance(value, property) and value.fget is not None:
            setattr(owner, name, value.getter(_checked(value.fget)))
        elif isinstance(value, staticmethod | classmethod):
            setattr(owner, name, type(value)(_checked(value.__func__)))


def _checked(function: Callable) -> Callable:
    hints = getattr(function, "__annotations__", {}).values()
    return jaxtyped(function, typechecker=_check) if any(map(_has_shape, hints)) else function


def _has_shape(hint: Any) -> bool:
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return True
    return any(map(_has_shape, get_args(hint)))


def _check(function: Callable) -> Callable:
    """Decorate what jaxtyping calls after a function (arguments and result), not what it calls
    before (arguments alone): only the first ends in a parameter for the result."""
    last = next(reversed(inspect.signature(function).parameters), "")
    return _typechecked(function) if last.startswith("ret") else function
