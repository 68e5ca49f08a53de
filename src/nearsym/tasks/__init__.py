"""Worlds to learn in: the craft, control tasks, robots, trading, and environments of one's own.

| name | what it is |
|---|---|
| `make`, `list_tasks`, `find_task` | by name: an environment, what there is, a task |
| `Task` | what runs need of a task |
| `CraftTask`, `ControlTask`, `RobotTask`, `TradingTask`, `CustomTask` | the families, as values |
"""

from nearsym.tasks.control.task import ControlTask
from nearsym.tasks.craft.task import CraftTask
from nearsym.tasks.custom import CustomTask
from nearsym.tasks.registry import find_task, list_tasks, make
from nearsym.tasks.robots.task import RobotTask
from nearsym.tasks.task import Task
from nearsym.tasks.trading.task import TradingTask

__all__ = [
    "ControlTask",
    "CraftTask",
    "CustomTask",
    "RobotTask",
    "Task",
    "TradingTask",
    "find_task",
    "list_tasks",
    "make",
]
