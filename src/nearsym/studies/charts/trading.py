"""Trading: portfolios and fees over the test part, weights of days and scales."""

from collections.abc import Sequence

import numpy as np

from nearsym.layers.scale import SCALES
from nearsym.studies.charts.chart import Chart, Line
from nearsym.studies.results import RunResult
from nearsym.studies.scores import final_weights
from nearsym.studies.selection import TRADING, by_arm, by_world
from nearsym.studies.statistics import Measured, mean_over_seeds

POINTS = 250
"""Days that are drawn, of as many as there are."""


def portfolios(results: list[RunResult]) -> list[Chart]:
    """The paper's Figure 6: value, and fees so far, day by day, mean of the sampled episodes."""
    charts = []
    for world, runs in by_world(results).items():
        told = [run for run in runs if run.details.get("value") and run.details.get("dates")]
        if world.task != TRADING or not told:
            continue
        days = [tuple(run.details["dates"]) for run in told]
        told = [run for run, dates in zip(told, days, strict=True) if dates == days[0]]
        kept = np.unique(np.linspace(0, len(days[0]) - 1, POINTS).astype(int))
        for key, label, unit in (("value", "value (mm)", 1e-6), ("costs", "fees (thousand)", 1e-3)):
            made = [_daily(arm, some, key, unit, kept) for arm, some in by_arm(told).items()]
            charts.append(
                Chart(
                    name=f"trading {key} {world.scale}",
                    title=f"Portfolio {label}" if key == "value" else f"Paid so far: {label}",
                    x_label="day of the test part",
                    y_label=label,
                    lines=tuple(line for line, _ in made),
                    about="Mean of the sampled episodes; thin lines are single runs.",
                    points=tuple(point for _, points in made for point in points),
                    dates=tuple(days[0][i] for i in kept),
                    group=f"trading {world.scale}",
                )
            )
    return charts


def _daily(
    arm: str, runs: Sequence[RunResult], key: str, unit: float, days: np.ndarray
) -> tuple[Line, list[Measured]]:
    each = [unit * np.mean(run.details[key], axis=0) for run in runs]
    lines = [(one.cumsum() if key == "costs" else one)[days] for one in each]
    points = [mean_over_seeds(dict(enumerate(column))) for column in np.transpose(lines).tolist()]
    return Line.of(arm, range(len(days)), points, lines if len(lines) > 1 else ()), points


def time_weights(results: list[RunResult]) -> list[Chart]:
    """The paper's Figure 7: relaxed weights of the encoder's first layer over days and scales."""
    charts = []
    for world, runs in by_world(results).items():
        if world.task != TRADING:
            continue
        for kind, label in (("time", "day of the window, the last is today"), ("scale", "scale")):
            arms = by_arm([run for run in runs if _layer(run, kind) is not None])
            made = [_weights(arm, some, kind) for arm, some in arms.items()]
            if made:
                charts.append(
                    Chart(
                        name=f"trading weights {kind} {world.scale}",
                        title=f"Relaxed weights over {kind}, first layer of the encoder",
                        x_label=label,
                        y_label="relaxed weight",
                        lines=tuple(line for line, _ in made),
                        about="At the end of training; thin lines are single runs.",
                        points=tuple(point for _, points in made for point in points),
                        group=f"trading weights {world.scale}",
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
