"""Every chart by its name, and those of each study."""

from collections.abc import Callable, Iterable

from nearsym.errors import unknown_name
from nearsym.studies.charts.chart import Chart
from nearsym.studies.charts.curves import curves, over_time, profiles
from nearsym.studies.charts.maps import maps, worst
from nearsym.studies.charts.trading import portfolios, rollouts, time_weights
from nearsym.studies.charts.weights import weights
from nearsym.studies.planted import planted_charts
from nearsym.studies.results import RunResult
from nearsym.studies.selection import unique

CHARTS: dict[str, Callable[[list[RunResult]], list[Chart]]] = {
    "curves": curves,
    "regret": worst,
    "sweeps": maps,
    "profiles": profiles,
    "weights": weights,
    "rollouts": rollouts,
    "trading": portfolios,
    "trading-weights": time_weights,
    "planted": planted_charts,
    "wall-clock": over_time,
}
"""Each gives no chart where the results have nothing for it."""


def charts_of(results: Iterable[RunResult], names: Iterable[str] | None = None) -> list[Chart]:
    """The charts with some names, or all, that the results have something for."""
    runs = unique(results)
    wanted = tuple(CHARTS) if names is None else tuple(names)
    for name in wanted:
        if name not in CHARTS:
            raise unknown_name("figure", name, CHARTS)
    return [chart for name in wanted for chart in CHARTS[name](runs)]
