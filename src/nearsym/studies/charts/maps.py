"""Maps over a variant's strength: return, regret, and the ε that the audit measures there."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nearsym.studies.audited import MEASURES
from nearsym.studies.charts.chart import Chart, Line
from nearsym.studies.regret import Regret, model_sets, regret_of
from nearsym.studies.results import RunResult
from nearsym.studies.scores import at_end, by_seed
from nearsym.studies.selection import by_arm, by_scale
from nearsym.studies.statistics import Measured, mean_over_seeds
from nearsym.studies.sweeps import LEAST_STRENGTHS, Sweep, sweeps


def maps(results: list[RunResult]) -> list[Chart]:
    """For each sweep three charts over the same strengths."""
    return [chart for sweep in sweeps(results) for chart in _maps(sweep)]


def _maps(sweep: Sweep) -> list[Chart]:
    made = [_returns(sweep), _regrets(sweep), _audits(sweep)]
    return [chart for chart in made if chart is not None]


def _returns(sweep: Sweep) -> Chart | None:
    models = list(dict.fromkeys(arm for runs in sweep.runs.values() for arm in by_arm(runs)))
    lines: list[Line] = []
    every: list[Measured] = []
    for model in models:
        values = {s: by_seed(by_arm(r).get(model, []), at_end) for s, r in sweep.runs.items()}
        found = {s: mean_over_seeds(v) for s, v in values.items() if v}
        if len(found) < LEAST_STRENGTHS:
            continue  # a line from end to end would speak of strengths that nobody ran
        # Without single runs: with six models of ten seeds nothing else would be seen.
        lines.append(Line.of(model, list(found), list(found.values())))
        every += found.values()
    return _chart(sweep, "return", "return at the end", lines, every) if lines else None


def _regrets(sweep: Sweep) -> Chart | None:
    found = sweep.regret()
    if found is None:
        return None
    strengths = [s for s, world in sweep.worlds.items() if world in found.worlds]
    places = [found.worlds.index(sweep.worlds[s]) for s in strengths]
    points = {model: [found.gap(i, model) for i in places] for model in found.models}
    lines = [Line.of(model, strengths, some) for model, some in points.items()]
    every = [point for some in points.values() for point in some]
    return _chart(sweep, "regret", "regret, normalised", lines, every)


def _audits(sweep: Sweep) -> Chart | None:
    lines: list[Line] = []
    for quantity, name in MEASURES.items():
        values = sweep.measured(quantity)
        known = {strength: value for strength, value in values.items() if value is not None}
        line = Line(name, tuple(known), tuple(known.values()))
        if lines and (line.x, line.y) == (lines[-1].x, lines[-1].y):
            lines[-1] = replace(
                line, name=f"{lines[-1].name} and {name}"
            )  # it would hide the other
        elif known:
            lines.append(line)
    return (
        _chart(sweep, "audit", "what the audit says, in mean steps", lines, []) if lines else None
    )


def _chart(
    sweep: Sweep, kind: str, label: str, lines: Sequence[Line], points: Sequence[Measured]
) -> Chart:
    return Chart(
        name=f"sweep {sweep.task} {sweep.variant} {sweep.scale} {kind}",
        title=f"{sweep.title}: {label}",
        x_label=f"strength of {sweep.variant}",
        y_label=label,
        lines=tuple(lines),
        about=f"By strength of {sweep.variant}; 0 is the original.",
        points=tuple(points),
        group=f"sweep {sweep.task} {sweep.variant} {sweep.scale}",
    )


BESIDE = 0.1
"""Between the dots of two models."""


def worst(results: list[RunResult]) -> list[Chart]:
    """For each scale the mean and the worst regret of every model over worlds."""
    return [
        _over_worlds(found, str(scale))
        for scale, runs in by_scale(results).items()
        for models in model_sets(runs)
        for found in [regret_of(runs, models=models)]
        if found is not None and len(found.worlds) > 1
    ]


def _over_worlds(found: Regret, scale: str) -> Chart:
    points = [[found.mean(model), found.worst(model)] for model in found.models]
    shifts = BESIDE * (np.arange(len(found.models)) - (len(found.models) - 1) / 2)
    lines = [
        Line.of(model, [shift, 1 + shift], both)
        for model, shift, both in zip(found.models, shifts, points, strict=True)
    ]
    return Chart(
        name=f"regret {scale} {len(found.models)}",
        title=f"Regret over {len(found.worlds)} worlds of {_tasks(found)} ({scale})",
        x_label="",
        y_label="regret, normalised",
        lines=tuple(lines),
        about="Gap to the best model of each world, at the end of training.",
        points=tuple(point for both in points for point in both),
        ticks=("mean over worlds", "worst world"),
        dots=True,
        group="regret",
    )


def _tasks(found: Regret) -> str:
    return found.tasks[0] if len(found.tasks) == 1 else f"{len(found.tasks)} tasks"
