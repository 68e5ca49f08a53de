"""Reinforcement learning for worlds that are almost symmetric.

Importing it makes the tasks known to Gymnasium as `nearsym/…-v0`. Public names are loaded when
first used, so the import stays light: neither torch nor a simulator.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearsym.tasks.registry import make

if TYPE_CHECKING:
    from nearsym.errors import UsageError as UsageError
    from nearsym.groups.symmetry import Symmetry as Symmetry
    from nearsym.measures.equivariance import equivariance_error as equivariance_error

__version__ = "0.1.0"

_HOMES = {
    "Symmetry": "nearsym.groups.symmetry",
    "UsageError": "nearsym.errors",
    "equivariance_error": "nearsym.measures.equivariance",
}

__all__ = ["Symmetry", "UsageError", "__version__", "equivariance_error", "make"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nearsym' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
