"""Learning curves over frames and over time, and performance profiles."""

from collections.abc import Callable, Sequence

import numpy as np

from nearsym.studies.charts.chart import Chart, Line
from nearsym.studies.comparison import not_far_too_short, timed_alike
from nearsym.studies.regret import regret_of
from nearsym.studies.results import RunResult
from nearsym.studies.selection import World, by_arm, by_scale, by_world
from nearsym.studies.statistics import Measured, mean_over_seeds, performance_profile

POINTS = 41
"""Thresholds of a performance profile."""


def curves(results: list[RunResult]) -> list[Chart]:
    """The paper's Figure 3: mean return of the evaluations in training, world by world."""
    return _charts(results, "curves", "frames", lambda run: [float(f) for f in run.frames])


def over_time(results: list[RunResult]) -> list[Chart]:
    """The same over minutes of training, for runs that were timed on the same hardware."""
    alike = [run for runs in by_world(results).values() for run in timed_alike(runs)]
    return _charts(alike, "time", "minutes of training", _minutes)


def _minutes(run: RunResult) -> list[float]:
    return [run.seconds / 60 * frames / run.frames[-1] for frames in run.frames]


def _charts(
    results: list[RunResult], name: str, x_label: str, place: Callable[[RunResult], list[float]]
) -> list[Chart]:
    trained = by_world([run for run in results if run.frames and run.returns])
    return [
        chart
        for world, runs in trained.items()
        if (chart := _chart(world, runs, name, x_label, place)).lines
    ]


def _chart(
    world: World,
    runs: list[RunResult],
    name: str,
    x_label: str,
    place: Callable[[RunResult], list[float]],
) -> Chart:
    found = [_line(arm, some, place) for arm, some in by_arm(runs).items()]
    return Chart(
        name=f"{name} {world} {world.scale}",
        title=f"{world} ({world.scale})",
        x_label=x_label,
        y_label="return",
        lines=tuple(line for line, _ in found),
        about="Mean return of the evaluations in training; thin lines are single runs.",
        points=tuple(point for _, points in found for point in points),
        group=f"{name} {world.scale}",
    )


def _line(
    arm: str, runs: Sequence[RunResult], place: Callable[[RunResult], list[float]]
) -> tuple[Line, list[Measured]]:
    """At the evaluations that all runs of an arm have made."""
    runs = not_far_too_short(runs)
    shared = sorted(set.intersection(*(set(run.frames) for run in runs)))
    tables = [dict(zip(run.frames, run.curve(), strict=True)) for run in runs]
    places = [dict(zip(run.frames, place(run), strict=True)) for run in runs]
    each = [[table[f] for f in shared] for table in tables]
    x = [float(np.mean([table[f] for table in places])) for f in shared]
    points = [mean_over_seeds(dict(enumerate(column))) for column in zip(*each, strict=True)]
    return Line.of(arm, x, points, each if len(each) > 1 else ()), points


def profiles(results: list[RunResult]) -> list[Chart]:
    """For each scale the share of runs above a normalised return, over all its worlds."""
    charts = []
    for scale, runs in by_scale(results).items():
        found = regret_of(runs)
        if found is None or len(found.worlds) < 2:
            continue
        thresholds = np.linspace(0, 1, POINTS).tolist()
        points = {
            model: performance_profile([score[i] for score in found.scores], thresholds)
            for i, model in enumerate(found.models)
        }
        charts.append(
            Chart(
                name=f"profile {scale}",
                title=f"All worlds ({scale})",
                x_label="normalised return",
                y_label="share of runs above it",
                lines=tuple(Line.of(model, thresholds, some) for model, some in points.items()),
                about=f"Performance profile over {len(found.worlds)} worlds.",
                points=tuple(point for some in points.values() for point in some),
                group="profile",
            )
        )
    return charts
