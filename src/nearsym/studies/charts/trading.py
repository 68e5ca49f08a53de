"""Trading: portfolios and fees over the test part, weights of days and scales."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nearsym.layers.scale import SCALES
from nearsym.studies.charts.chart import Chart, Line
from nearsym.studies.luck import nulls_of
from nearsym.studies.results import RunResult
from nearsym.studies.scores import final_weights
from nearsym.studies.selection import by_arm, by_world, market_of
from nearsym.studies.statistics import Measured, mean_over_seeds

POINTS = 250
"""Days that are drawn, of as many as there are."""
MOST_NAMED = 6
"""Tickers that a chart of positions has lines for."""


Daily = Callable[[RunResult], np.ndarray]
"""A run to (episodes, days)."""


def _value(run: RunResult) -> np.ndarray:
    return 1e-6 * np.asarray(run.details["value"])


def _drawdown(run: RunResult) -> np.ndarray:
    value = np.asarray(run.details["value"])
    return 100 * (value / np.maximum.accumulate(value, axis=1) - 1)


def _exposure(run: RunResult) -> np.ndarray:
    return 100 * np.asarray(run.details["exposure"])


def _fees(run: RunResult) -> np.ndarray:
    return 1e-3 * np.asarray(run.details["costs"]).cumsum(axis=1)


DAILY: dict[str, tuple[str, str, str, Daily]] = {
    "value": ("value", "Portfolio value (mm)", "value (mm)", _value),
    "drawdown": ("value", "Drawdown from the highest value so far", "drawdown (%)", _drawdown),
    "exposure": ("exposure", "Invested share of the value", "exposure (%)", _exposure),
    "costs": ("costs", "Paid so far: fees (thousand)", "fees (thousand)", _fees),
}
"""What is drawn day by day: the record that it needs, title, label and numbers."""


class Market(NamedTuple):
    """Runs over the same days of one market."""

    name: str
    runs: list[RunResult]
    days: np.ndarray
    """Those that are drawn."""
    scale: str
    shared: dict[str, Any]
    """What all charts of it have in common."""


def _titled(title: str, market: str) -> str:
    """A title that says which market, unless it is the embedded one."""
    _, _, file = market.partition(" ")
    return f"{title}: {file}" if file else title


def _markets(results: list[RunResult]) -> Iterator[Market]:
    for world, runs in by_world(results).items():
        market = market_of(world)
        told = [run for run in runs if run.details.get("value") and run.details.get("dates")]
        if market is None or not told:
            continue
        dates = tuple(told[0].details["dates"])
        told = [run for run in told if tuple(run.details["dates"]) == dates]
        kept = np.unique(np.linspace(0, len(dates) - 1, POINTS).astype(int))
        shared = {
            "dates": tuple(dates[i] for i in kept),
            "group": f"{market} {world.scale}",
            "x_label": f"day of the {told[0].details.get('part', 'test')} part",
        }
        yield Market(market, told, kept, str(world.scale), shared)


def portfolios(results: list[RunResult]) -> list[Chart]:
    """What a tear sheet has: value, drawdown, exposure, fees and weights day by day, means of the
    sampled episodes."""
    charts = []
    for market in _markets(results):
        for key, (record, title, label, daily) in DAILY.items():
            having = [run for run in market.runs if run.details.get(record)]
            made = [_daily(arm, some, daily, market.days) for arm, some in by_arm(having).items()]
            if not made:
                continue
            beside = _beside(market.runs[0], market.days) if key == "value" else ()
            charts.append(
                Chart(
                    name=f"{market.name} {key} {market.scale}",
                    title=_titled(title, market.name),
                    y_label=label,
                    lines=(*(line for line, _ in made), *beside),
                    about="Mean of the sampled episodes; thin lines are single runs.",
                    points=tuple(point for _, points in made for point in points),
                    **market.shared,
                )
            )
        charts += _holdings(market)
    return charts


def rollouts(results: list[RunResult]) -> list[Chart]:
    """The paper's Figure 6: the sampled episodes of the best run of each model, its value and its
    fees. The validation part says which is best."""
    charts = []
    for market in _markets(results):
        for key in ("value", "costs"):
            record, title, label, daily = DAILY[key]
            having = [run for run in market.runs if run.details.get(record)]
            lines = [
                _episodes(arm, some, daily, market.days) for arm, some in by_arm(having).items()
            ]
            if not lines:
                continue
            beside = _beside(market.runs[0], market.days)[:2] if key == "value" else ()
            shared = market.shared | {"group": f"{market.name} rollouts {market.scale}"}
            charts.append(
                Chart(
                    name=f"{market.name} rollouts {key} {market.scale}",
                    title=_titled(f"{title}, best runs", market.name),
                    y_label=label,
                    lines=(*lines, *beside),
                    about="For each model the run that is best in the validation part: its sampled "
                    "episodes (thin) and their mean.",
                    **shared,
                )
            )
    return charts


def _episodes(arm: str, runs: Sequence[RunResult], daily: Daily, days: np.ndarray) -> Line:
    best = max(runs, key=lambda run: max(run.curve(), default=-np.inf))
    drawn = daily(best)[:, days]
    x, mean = tuple(map(float, range(len(days)))), tuple(drawn.mean(axis=0).tolist())
    return Line(arm, x, mean, each=tuple(map(tuple, drawn.tolist())), seeds=1)


def _daily(
    arm: str, runs: Sequence[RunResult], daily: Daily, days: np.ndarray
) -> tuple[Line, list[Measured]]:
    lines = [daily(run).mean(axis=0)[days] for run in runs]
    points = [mean_over_seeds(dict(enumerate(column))) for column in np.transpose(lines).tolist()]
    return Line.of(arm, range(len(days)), points, lines if len(lines) > 1 else ()), points


def _beside(run: RunResult, days: np.ndarray) -> list[Line]:
    """The first and the last baseline, uniform holding and the index; then what chance does."""
    values = run.details.get("baselines", {})
    names = list(dict.fromkeys([*list(values)[:1], *list(values)[-1:]]))
    x = tuple(map(float, range(len(days))))
    lines = [Line(n, x, tuple((1e-6 * np.asarray(values[n])[days]).tolist())) for n in names]
    for name, null in nulls_of([run]).items():
        low, middle, high = (1e-6 * np.asarray(null["band"])[:, days]).tolist()
        lines.append(Line(f"{name} (5 to 95 %)", x, tuple(middle), tuple(low), tuple(high)))
    return lines


def _holdings(market: Market) -> list[Chart]:
    """For each model the tickers that it holds most of."""
    charts, days = [], market.days
    for arm, some in by_arm([run for run in market.runs if run.details.get("weights")]).items():
        tickers = some[0].details["tickers"]
        same = [run for run in some if run.details["tickers"] == tickers]
        weights = 100 * np.mean([run.details["weights"] for run in same], axis=0)  # (days, tickers)
        x = tuple(map(float, range(len(days))))
        largest = np.argsort(-weights.mean(axis=0))[:MOST_NAMED]
        lines = [Line(tickers[i], x, tuple(weights[days, i].tolist())) for i in largest]
        charts.append(
            Chart(
                name=f"{market.name} weights of {arm} {market.scale}",
                title=_titled(f"Largest positions of {arm}", market.name),
                y_label="share of the value (%)",
                lines=tuple(lines),
                about=f"Mean of {len(same)} runs and their sampled episodes.",
                **(market.shared | {"group": f"{market.name} held {market.scale}"}),
            )
        )
    return charts


def time_weights(results: list[RunResult]) -> list[Chart]:
    """The paper's Figure 7: relaxed weights of the encoder's first layer over days and scales."""
    charts = []
    for world, runs in by_world(results).items():
        market = market_of(world)
        if market is None:
            continue
        for kind, label in (("time", "day of the window, the last is today"), ("scale", "scale")):
            arms = by_arm([run for run in runs if _layer(run, kind) is not None])
            made = [_weights(arm, some, kind) for arm, some in arms.items()]
            if made:
                charts.append(
                    Chart(
                        name=f"{market} weights {kind} {world.scale}",
                        title=_titled(f"Relaxed weights over {kind}, first layer", market),
                        x_label=label,
                        y_label="relaxed weight",
                        lines=tuple(line for line, _ in made),
                        about="At the end of training; thin lines are single runs.",
                        points=tuple(point for _, points in made for point in points),
                        group=f"{market} weights {world.scale}",
                    )
                )
    return charts


def _layer(run: RunResult, kind: str) -> str | None:
    names = [name for name in run.relaxed if name.startswith("encoder.")]
    return next((n for n in names if n.endswith("_scale") == (kind == "scale")), None)


def _weights(arm: str, runs: Sequence[RunResult], kind: str) -> tuple[Line, list[Measured]]:
    each = [final_weights(run, str(_layer(run, kind))).mean(axis=0) for run in runs]
    points = [mean_over_seeds(dict(enumerate(column))) for column in np.transpose(each).tolist()]
    x = SCALES if kind == "scale" else range(1, len(points) + 1)
    return Line.of(arm, list(x), points, each if len(each) > 1 else ()), points
