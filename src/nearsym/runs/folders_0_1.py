"""Configurations as version 0.1 wrote them, turned into today's."""

from dataclasses import fields
from typing import Any

from nearsym.tasks.registry import KINDS, find_task

_RENAMED = {"splits": "jumps"}


def upgraded(plain: dict[str, Any]) -> dict[str, Any]:
    """A configuration of today; one of version 0.1 had all options of all tasks in one object."""
    task = plain.get("task")
    if not isinstance(task, dict) or "kind" in task or not isinstance(task.get("name"), str):
        return plain
    kind = find_task(task["name"]).kind
    known = {f.name for f in fields(KINDS[kind])}
    renamed = {_RENAMED.get(name, name): value for name, value in task.items()}
    if kind == "custom":  # there `symmetry` was that of trading, and never set
        renamed["symmetry"] = None
    kept = {name: value for name, value in renamed.items() if name in known}
    return {"agent": "drqv2"} | plain | {"task": {"kind": kind} | kept}
