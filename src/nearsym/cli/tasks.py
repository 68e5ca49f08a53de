"""`nearsym tasks`: what there is to train on. Reads tables only; no simulator is loaded."""

from dataclasses import dataclass
from typing import Any

from nearsym.tasks.registry import list_tasks


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """List the tasks, their symmetry groups and their symmetry-breaking variants."""


def run(args: Tasks) -> dict[str, Any]:
    """`{"tasks": [{"name", "group", "variants", "obs"}]}`."""
    return {"tasks": list_tasks()}


def show(result: dict[str, Any]) -> None:
    """The tasks for people."""
    header = {"name": "task", "group": "group", "variants": ["variants"], "obs": ["observations"]}
    for task in [header, *result["tasks"]]:
        obs, variants = ", ".join(task["obs"]), ", ".join(task["variants"])
        print(f"{task['name']:<24} {task['group']:<6} {obs:<14} {variants}".rstrip())
    print("\nAlso any Gymnasium id, and module:factory for an environment of yours.")
    print("A variant takes a strength: --variant gravity=0.5; 0 is the original task.")
