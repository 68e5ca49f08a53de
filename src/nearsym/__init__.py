"""Reinforcement learning for worlds that are almost symmetric.

>>> import nearsym
>>> env = nearsym.make("cartpole-swingup", variant="gravity", obs="state")
>>> env.unwrapped.symmetry.group
D1

Importing it makes the tasks known to Gymnasium as `nearsym/…-v0`. Public names and rooms
(`nearsym.groups`, `nearsym.layers`, …) are loaded when first used, so the import stays light:
neither torch nor a simulator.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from nearsym.tasks.registry import list_tasks, make
except KeyboardInterrupt:
    # The command comes through here before it can answer Ctrl-C itself; others get the exception.
    if sys.argv[0] != "-m" and sys.argv[0].rpartition("/")[2] != "nearsym":
        raise
    print("nearsym: stopped.", file=sys.stderr)
    raise SystemExit(1) from None

if TYPE_CHECKING:
    from nearsym import agents as agents
    from nearsym import audits as audits
    from nearsym import discovery as discovery
    from nearsym import groups as groups
    from nearsym import integrations as integrations
    from nearsym import layers as layers
    from nearsym import measures as measures
    from nearsym import networks as networks
    from nearsym import runs as runs
    from nearsym import studies as studies
    from nearsym import tasks as tasks
    from nearsym import theory as theory
    from nearsym import training as training
    from nearsym.audits.any_environment import audit as audit
    from nearsym.discovery.search import discover as discover
    from nearsym.errors import RunError as RunError
    from nearsym.errors import UsageError as UsageError
    from nearsym.groups.declared import Declared as Declared
    from nearsym.groups.symmetry import Symmetry as Symmetry
    from nearsym.measures.equivariance import equivariance_error as equivariance_error
    from nearsym.runs.run import Run as Run
    from nearsym.runs.start import train as train
    from nearsym.training.callbacks import Callback as Callback
    from nearsym.training.callbacks import ProgressBar as ProgressBar

__version__ = "0.2.0"

_HOMES = {
    "Callback": "nearsym.training.callbacks",
    "Declared": "nearsym.groups.declared",
    "ProgressBar": "nearsym.training.callbacks",
    "Run": "nearsym.runs.run",
    "RunError": "nearsym.errors",
    "Symmetry": "nearsym.groups.symmetry",
    "UsageError": "nearsym.errors",
    "audit": "nearsym.audits.any_environment",
    "discover": "nearsym.discovery.search",
    "equivariance_error": "nearsym.measures.equivariance",
    "train": "nearsym.runs.start",
}
_ROOMS = (
    "agents",
    "audits",
    "discovery",
    "groups",
    "integrations",
    "layers",
    "measures",
    "networks",
    "runs",
    "studies",
    "tasks",
    "theory",
    "training",
)

__all__ = [*_HOMES, *_ROOMS, "__version__", "list_tasks", "make"]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"nearsym.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nearsym' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
