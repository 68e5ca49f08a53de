"""What was run and what it cost: runs, parameters, time."""

from collections.abc import Callable

import numpy as np

from nearsym.studies.comparison import timed_alike
from nearsym.studies.results import RunResult
from nearsym.studies.scores import (
    by_seed,
    median_seconds_to,
    nearly_best,
    seconds_per_frame,
    seconds_to,
)
from nearsym.studies.selection import World, by_arm, by_world, model_order, plain
from nearsym.studies.statistics import mean_over_seeds
from nearsym.studies.tables.returns import of_one_length
from nearsym.studies.tables.table import Cell, Table, tabled

CLOCK = "processor time, or with a GPU the time on the clock; of runs on one kind of hardware"


def what_was_run(results: list[RunResult]) -> list[Table]:
    """How many seeds of what, how long, and the hours they took."""
    rows: list[dict[str, Cell]] = []
    for world, runs in by_world(results).items():
        for arm, some in by_arm(runs).items():
            row: dict[str, Cell] = {"task": world.task, "variant": world.variant_name, "run": arm}
            row |= {"scale": str(world.scale), "seeds": len({run.seed for run in some})}
            row |= {"frames": max((run.frames[-1] for run in some if run.frames), default=0)}
            rows.append(row | {"hours": sum(run.seconds for run in some) / 3600})
    return tabled("runs", "What was run; hours are those of training, all seeds together.", rows)


def spent(results: list[RunResult]) -> list[Table]:
    """The hours of each task, in one row."""
    found: dict[tuple[str, str], dict[World, list[RunResult]]] = {}
    for world, runs in by_world(run for run in results if run.seconds).items():
        found.setdefault((world.task, str(world.scale)), {})[world] = runs
    rows = [_spent(task, scale, worlds) for (task, scale), worlds in found.items()]
    return tabled(
        "spent",
        "Runs of each task that are kept, and the core-hours that training them took.",
        rows,
    )


def _spent(task: str, scale: str, worlds: dict[World, list[RunResult]]) -> dict[str, Cell]:
    every = [run for runs in worlds.values() for run in runs]
    counts = {
        len({r.seed for r in some}) for runs in worlds.values() for some in by_arm(runs).values()
    }
    models = sorted({run.model for run in every}, key=model_order)
    return {
        "task": task,
        "scale": scale,
        "worlds": len(worlds),
        "models": ", ".join(models),
        "seeds": " to ".join(map(str, sorted({min(counts), max(counts)}))),
        "runs": len(every),
        "hours": sum(run.seconds for run in every) / 3600,
    }


def parameters(results: list[RunResult]) -> list[Table]:
    """Learned numbers of each part of the networks."""
    rows: dict[tuple[str, ...], dict[str, Cell]] = {}
    for world, runs in by_world(results).items():
        for arm, some in by_arm(runs).items():
            counts = some[0].parameters
            if counts:
                about: dict[str, Cell] = {"task": world.task, "scale": str(world.scale)}
                rows.setdefault((world.task, str(world.scale), arm), about | {"run": arm, **counts})
    return tabled("parameters", "Learned numbers of the networks.", list(rows.values()))


def tasks(results: list[RunResult]) -> list[Table]:
    """The worlds and the elements of their groups."""
    rows: list[dict[str, Cell]] = [
        {
            "task": world.task,
            "variant": world.variant_name,
            "observations": world.scale.obs or "",
            "elements": ", ".join(runs[0].elements),
        }
        for world, runs in by_world(results).items()
    ]
    return tabled("tasks", "Tasks, variants, and the elements of the declared groups.", rows)


def wall_clock(results: list[RunResult]) -> list[Table]:
    """Time per frame, and time to nine tenths of the best model's return."""
    speeds: list[dict[str, Cell]] = []
    waits: list[dict[str, Cell]] = []
    for world, runs in by_world(results).items():
        for about, some in of_one_length(world, plain(runs)):
            arms = by_arm(timed_alike(some))
            if not arms:
                continue
            scores = {a: by_seed(each, _milliseconds) for a, each in arms.items()}
            speeds.append(about | {a: mean_over_seeds(values) for a, values in scores.items()})
            level = nearly_best(by_arm(some).values())  # the best may have run on other hardware
            reached = {a: _waited(each, level) for a, each in arms.items()}
            waits.append({**about, "return": level, **reached})
    per_frame = f"Milliseconds of training per frame, evaluations included; {CLOCK}."
    to_return = (
        "Minutes of training until an evaluation first reaches nine tenths of the best model's "
        "final return: median over seeds, where one that never does counts as longer than any "
        f"(–: half of them or more), and how many got there; {CLOCK}."
    )
    return [*tabled("wall-clock", per_frame, speeds), *tabled("time to return", to_return, waits)]


_milliseconds: Callable[[RunResult], float] = lambda run: 1000 * seconds_per_frame(run)  # noqa: E731


def _waited(runs: list[RunResult], level: float) -> str:
    median = median_seconds_to(runs, level)
    arrived = sum(np.isfinite(seconds_to(run, level)) for run in runs)
    return f"{f'{median / 60:.2g}' if np.isfinite(median) else '–'} ({arrived} of {len(runs)})"
