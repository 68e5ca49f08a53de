"""Packages that import their public names when these are first used.

    __getattr__, __dir__, __all__ = attach(__name__, {"Symmetry": ".symmetry"})

A package written so is light to import, whatever its modules need. Type checkers do not run this;
tell them the same names under `if TYPE_CHECKING:`. A name must differ from every module of its
package, which would hide it once imported.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` for a package whose names live in other modules.

    `homes` maps each public name to the module that defines it: in full, or relative to the package
    with a leading dot.

    >>> getter, directory, public = attach("nearsym", {"UsageError": ".errors"})
    >>> getter("UsageError").__module__, public
    ('nearsym.errors', ['UsageError'])
    """
    public = sorted(homes)

    def getter(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name], package), name)

    return getter, lambda: public, public
