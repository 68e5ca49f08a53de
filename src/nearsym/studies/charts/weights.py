"""Relaxed weights at the end of training, as in the paper's Figure 5: variant beside variant."""

from collections.abc import Iterable

import numpy as np

from nearsym.studies.charts.chart import Chart, Line
from nearsym.studies.results import RunResult
from nearsym.studies.scores import final_weights, first_layer
from nearsym.studies.selection import Scale, World, by_arm, by_world, plain
from nearsym.studies.statistics import Measured, mean_over_seeds

PARTS = ("encoder", "actor", "critic")


def weights(results: list[RunResult]) -> list[Chart]:
    """For each task the first relaxed layer of each part of the networks, an element a line."""
    found: dict[tuple[str, Scale], dict[World, list[RunResult]]] = {}
    for world, runs in by_world(results).items():
        usual = by_arm(plain(runs)).get("approx", [])  # of all models, so that no treatment is
        approx = [run for run in usual if run.relaxed and run.elements]
        if approx:
            found.setdefault((world.task, world.scale), {})[world] = approx
    return [chart for (task, scale), worlds in found.items() for chart in _of(task, scale, worlds)]


def _of(task: str, scale: Scale, worlds: dict[World, list[RunResult]]) -> Iterable[Chart]:
    first = next(iter(worlds.values()))[0]
    for part in PARTS:
        layer = first_layer(first, part)
        if layer is None:
            continue
        elements = tuple(first.elements)
        having = {w: [run for run in runs if layer in run.relaxed] for w, runs in worlds.items()}
        made = [_line(i, elements, layer, having) for i in range(len(elements))]
        yield Chart(
            name=f"weights {task} {scale} {layer}",
            title=f"{task} ({scale}): {layer}",
            x_label="",
            y_label="relaxed weight w(g)",
            lines=tuple(line for line, _ in made),
            about="Relaxed weights of approx at the end, a small dot for each run. Equal weights "
            "are exact equivariance; sampling noise spreads them too.",
            points=tuple(point for _, points in made for point in points),
            ticks=tuple(w.variant_name for w in having),
            dots=True,
            group=f"weights {task} {scale}",
        )


def _line(
    i: int, elements: tuple[str, ...], layer: str, worlds: dict[World, list[RunResult]]
) -> tuple[Line, list[Measured]]:
    """One element's weight in every world, beside those of the other elements."""
    values = [
        {run.seed: float(final_weights(run, layer)[:, i].mean()) for run in runs}
        for runs in worlds.values()
    ]
    points = [mean_over_seeds(some) for some in values]
    shift = 0.5 * ((i + 0.5) / len(elements) - 0.5)
    most = max(map(len, values))
    each = [
        [list(some.values())[k] if k < len(some) else np.nan for some in values]
        for k in range(most)
    ]
    return Line.of(elements[i], [x + shift for x in range(len(values))], points, each), points
