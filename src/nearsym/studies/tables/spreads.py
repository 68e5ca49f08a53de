"""How far the relaxed weights of each layer lie apart at the end of training."""

from functools import partial

from nearsym.studies.results import RunResult
from nearsym.studies.scores import by_seed, spread
from nearsym.studies.selection import by_arm, by_world
from nearsym.studies.statistics import mean_over_seeds
from nearsym.studies.tables.table import Cell, Table, tabled


def spreads(results: list[RunResult]) -> list[Table]:
    """Every layer of every world and arm that has relaxed weights."""
    rows: list[dict[str, Cell]] = []
    for world, runs in by_world([run for run in results if run.relaxed]).items():
        for arm, some in by_arm(runs).items():
            about: dict[str, Cell] = {"task": world.task, "variant": world.variant_name}
            about |= {"scale": str(world.scale), "run": arm}
            rows += [about | row for row in _layers(some)]
    caption = (
        "Spread of relaxed weights: their mean absolute difference from their mean over elements, "
        "over that mean. Sampling noise spreads them on symmetric tasks too."
    )
    return tabled("spread", caption, rows)


def _layers(runs: list[RunResult]) -> list[dict[str, Cell]]:
    shared = [name for name in runs[0].relaxed if all(name in run.relaxed for run in runs)]
    return [
        {"layer": name, "spread": mean_over_seeds(by_seed(runs, partial(spread, layer=name)))}
        for name in shared
    ]
