"""Configurations as version 0.1 wrote them, turned into today's."""

from dataclasses import fields
from typing import Any

from nearsym.tasks.control.task import ControlTask
from nearsym.tasks.registry import KINDS, find_task
from nearsym.tasks.trading.task import TradingTask

_RENAMED = {"splits": "jumps"}


def upgraded(plain: dict[str, Any]) -> dict[str, Any]:
    """A configuration of today; one of version 0.1 had all options of all tasks in one object."""
    task = plain.get("task")
    if not isinstance(task, dict) or "kind" in task or not isinstance(task.get("name"), str):
        return plain
    kind = find_task(task["name"]).kind
    own = {f.name for f in fields(KINDS[kind])}
    foreign = {f.name for other in (ControlTask, TradingTask) for f in fields(other)} - own
    renamed = {_RENAMED.get(name, name): value for name, value in task.items()}
    kept = {name: value for name, value in renamed.items() if name not in foreign}
    return {"agent": "drqv2"} | plain | {"task": {"kind": kind} | kept}
