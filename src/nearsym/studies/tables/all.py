"""Every table by its name."""

from collections.abc import Callable, Iterable

from nearsym.errors import unknown_name
from nearsym.studies.planted import planted_table
from nearsym.studies.results import RunResult
from nearsym.studies.selection import unique
from nearsym.studies.tables.costs import parameters, spent, tasks, wall_clock, what_was_run
from nearsym.studies.tables.regrets import aggregates, regrets, regrets_compared, strengths
from nearsym.studies.tables.returns import (
    areas,
    compared,
    end,
    final,
    noise_trained,
    settings,
    shares,
    tau_sweep,
)
from nearsym.studies.tables.spreads import spreads
from nearsym.studies.tables.table import Table
from nearsym.studies.tables.trading import months, trading

TABLES: dict[str, Callable[[list[RunResult]], list[Table]]] = {
    "runs": what_was_run,
    "spent": spent,
    "final": final,
    "noise": shares,
    "noise-trained": noise_trained,
    "end": end,
    "area": areas,
    "differences": compared,
    "settings": settings,
    "rpp-tau": tau_sweep,
    "trading": trading,
    "months": months,
    "planted": planted_table,
    "regret": regrets,
    "regret-compared": regrets_compared,
    "aggregates": aggregates,
    "sweeps": strengths,
    "spread": spreads,
    "parameters": parameters,
    "wall-clock": wall_clock,
    "tasks": tasks,
}
"""Each gives no table where the results have nothing for it."""


def tables_of(results: Iterable[RunResult], names: Iterable[str] | None = None) -> list[Table]:
    """The tables with some names, or all, that the results have something for."""
    runs = unique(results)
    wanted = tuple(TABLES) if names is None else tuple(names)
    for name in wanted:
        if name not in TABLES:
            raise unknown_name("table", name, TABLES)
    return [table for name in wanted for table in TABLES[name](runs)]
