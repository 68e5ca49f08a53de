"""The relaxed weights of runs as a picture: w(g) for every element g, layer by layer.

The paper's Figure 5 shows them at the end of training, over all runs of a model. Equal weights mean
exact equivariance; how far they lie apart is how far a layer has relaxed it. Sampling noise spreads
them on a symmetric task too: read the picture beside that of such a run.
"""

from collections.abc import Sequence
from contextlib import closing
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from nearsym.errors import MissingExtraError, UsageError, unknown_name
from nearsym.groups.symmetry import Symmetry, TimeSymmetry, symmetry_of
from nearsym.layers.scale import SCALES
from nearsym.runs.one_model import runs_of_one_model
from nearsym.runs.plot import title_of, write_figure
from nearsym.runs.run import Run, StrPath
from nearsym.training.untrusted import as_label

When = Literal["training", "end"]
COLUMNS = 4
"""Panels in a row. Each part of the networks (encoder, actor, critic) begins a new one."""
LEAST_SPREAD = 0.05
"""Share of the mean that panels show on either side of it at least: noise of a few per cent
must not fill them."""
# Okabe and Ito's palette, which everybody can tell apart, with grey for its yellow.
COLOURS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#8c8c8c")


class Layer(NamedTuple):
    """The relaxed weights of one layer in all runs."""

    name: str
    labels: tuple[str, ...]
    """What each weight belongs to: an element, a day or a scale."""
    frames: Float[np.ndarray, "evaluations"]
    weights: Float[np.ndarray, "rows evaluations labels"]
    """A row for each filter of each run."""


def plot_relaxed(
    runs: Run | StrPath | Sequence[Run | StrPath],
    path: StrPath | None = None,
    *,
    when: When = "training",
) -> Any:
    """The relaxed weights of a run, or of several of one model, as a matplotlib figure.

    A panel for each layer, a colour for each element, by name. Over `when='training'` they are
    lines, thick for the mean over runs and filters, thin for each; at the `when='end'` they are
    points, as in the paper's Figure 5. With a `path` the figure is also written to a file.
    """
    if when not in DRAWN:
        raise unknown_name("value of `when`", when, DRAWN)
    opened = runs_of_one_model(runs)
    _refuse_empty(opened)
    symmetry = _symmetry(opened[0])
    several = "" if len(opened) == 1 else f", {len(opened)} runs"
    title = f"Relaxed weights w(g): {title_of(opened[0])}{several}"
    figure = draw_layers(_layers(opened, symmetry), title, when=when, dashed=_reversing(symmetry))
    return write_figure(figure, path)


def draw_layers(
    layers: list[Layer],
    title: str,
    *,
    when: When = "training",
    dashed: frozenset[str] = frozenset(),
) -> Any:
    """Relaxed weights as a matplotlib figure: a panel for each layer, a colour for each label."""
    layers = [_labelled(layer) for layer in layers]
    figure, panels = _panels(layers, share_x=when == "training")
    styles = _styles(layers, dashed)
    for layer, axes in zip(layers, panels, strict=True):
        axes.tick_params(labelsize=8)
        axes.set_title(layer.name, fontsize=9)
        DRAWN[when](axes, layer, styles)
    panels[0].set_ylim(*_limits(layers))  # of all: they share it
    if when == "training":
        _explain(figure, panels, styles)
    figure.suptitle(as_label(title), fontsize=11)
    return figure


def _labelled(layer: Layer) -> Layer:
    return layer._replace(name=as_label(layer.name), labels=tuple(map(as_label, layer.labels)))


def _refuse_empty(runs: list[Run]) -> None:
    for run in runs:
        if not len(run.curve().frames):
            raise UsageError(f"{run.path} has nothing to plot before its first evaluation.")
        if not run.relaxed_weights():
            model = run.config.network.model
            raise UsageError(
                f"{run.path} has no relaxed weights: its model is {model}, not approx."
            )


def _symmetry(run: Run) -> Symmetry | TimeSymmetry:
    with closing(run.task.make("test")) as env:
        declared = symmetry_of(env)
    assert declared is not None  # relaxed weights were built from it
    return declared


def _layers(runs: list[Run], symmetry: Symmetry | TimeSymmetry) -> list[Layer]:
    """Every layer, at the evaluations that all runs have made."""
    found = [run.relaxed_weights() for run in runs]
    count = min(len(run.curve().frames) for run in runs)
    frames = np.mean([run.curve().frames[:count] for run in runs], axis=0)
    named = {name: _labels(symmetry, w.shape[-1]) for name, w in found[0].items()}
    for run, weights in zip(runs, found, strict=True):
        for name, labels in named.items():
            if name not in weights or weights[name].shape[2:][-1:] != (len(labels),):
                raise UsageError(f"The weights of {name} in {run.path} are not of {symmetry}.")
    return [
        Layer(name, labels, frames, np.concatenate([rows_of(w[name][:count]) for w in found]))
        for name, labels in named.items()
    ]


def rows_of(
    weights: Float[np.ndarray, "evaluations filters *basis labels"],
) -> Float[np.ndarray, "filters evaluations labels"]:
    """A row for each filter; steerable layers have weights for each kernel of their basis, of which
    the mean is shown."""
    inner = tuple(range(2, weights.ndim - 1))
    return weights.mean(axis=inner).swapaxes(0, 1)


def _labels(symmetry: Symmetry | TimeSymmetry, count: int) -> tuple[str, ...]:
    """What the weights of a layer belong to; day 0 is today."""
    if isinstance(symmetry, Symmetry):
        return symmetry.group.elements
    if count == symmetry.window:
        return tuple(f"day {day - count + 1}" for day in range(count))
    return tuple(f"scale {scale:g}" for scale in SCALES)


def _reversing(symmetry: Symmetry | TimeSymmetry) -> frozenset[str]:
    """The elements that reverse orientation, which are drawn dashed."""
    plane = symmetry.group.plane if isinstance(symmetry, Symmetry) else None
    if plane is None:
        return frozenset()
    return frozenset(_labels(symmetry, 0)[i] for i in np.flatnonzero(np.linalg.det(plane) < 0))


def _styles(layers: list[Layer], dashed: frozenset[str]) -> dict[str, dict[str, Any]]:
    from matplotlib import colormaps

    labels = list(dict.fromkeys(label for layer in layers for label in layer.labels))
    shades = [colormaps["viridis"](x) for x in np.linspace(0, 0.95, len(labels))]
    colours = COLOURS if len(labels) <= len(COLOURS) else shades
    return {
        label: {"color": colours[i], "linestyle": "--" if label in dashed else "-"}
        for i, label in enumerate(labels)
    }


def _limits(layers: list[Layer]) -> tuple[float, float]:
    """Room for all weights, and for no less than `LEAST_SPREAD` around their mean."""
    everything = np.concatenate([layer.weights.ravel() for layer in layers])
    mean = float(everything.mean())
    least = LEAST_SPREAD * abs(mean)
    low, high = min(everything.min(), mean - least), max(everything.max(), mean + least)
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _panels(layers: list[Layer], *, share_x: bool) -> tuple[Any, list[Any]]:
    """A figure and the axes of each layer, in rows of `COLUMNS`, every part in rows of its own."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A plot", "plots") from error
    places: list[tuple[int, int]] = []
    row, column, part = -1, COLUMNS, ""
    for layer in layers:
        now = layer.name.partition(".")[0]
        if now != part or column == COLUMNS:
            row, column, part = row + 1, 0, now
        places.append((row, column))
        column += 1
    height = 1.9 if share_x else 2.5  # names of elements stand below each panel
    figure = Figure(figsize=(2.7 * COLUMNS, 0.9 + height * (row + 1)), layout="constrained")
    grid: Any = figure.subplots(row + 1, COLUMNS, sharex=share_x, sharey=True, squeeze=False)
    for unused in set(np.ndindex(grid.shape)) - set(places):
        grid[unused].remove()
    return figure, [grid[place] for place in places]


def _over_training(axes: Any, layer: Layer, styles: dict[str, dict[str, Any]]) -> None:
    thousands = layer.frames / 1000
    for i, label in enumerate(layer.labels):
        each = layer.weights[:, :, i]
        if len(each) > 1:
            axes.plot(thousands, each.T, **styles[label], linewidth=0.7, alpha=0.35)
        axes.plot(thousands, each.mean(axis=0), **styles[label], linewidth=1.6)


def _at_end(axes: Any, layer: Layer, styles: dict[str, dict[str, Any]]) -> None:
    for i, label in enumerate(layer.labels):
        each, colour = layer.weights[:, -1, i], styles[label]["color"]
        axes.plot(np.full(len(each), i), each, "o", color=colour, markersize=3.5, alpha=0.6)
        axes.plot(i, each.mean(), "_", color=colour, markersize=14, markeredgewidth=2)
    axes.set_xticks(range(len(layer.labels)), layer.labels, rotation=90)
    axes.margins(x=0.1)


DRAWN = {"training": _over_training, "end": _at_end}


def _explain(figure: Any, panels: list[Any], styles: dict[str, dict[str, Any]]) -> None:
    """What the x axis is, below the lowest panel of each column, and whose the lines are."""
    from matplotlib.lines import Line2D

    lowest = {axes.get_subplotspec().colspan.start: axes for axes in panels}
    for axes in lowest.values():
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("thousand frames", fontsize=8)
    lines = [Line2D([], [], linewidth=1.6, label=label, **style) for label, style in styles.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=8, fontsize=9, frameon=False)
