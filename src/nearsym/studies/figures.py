"""Figures for papers: the charts of results as SVG files, and pictures of tasks and data."""

import hashlib
import io
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.errors import MissingExtraError, unknown_name
from nearsym.runs.relaxed_figure import Layer, draw_layers, rows_of
from nearsym.studies.charts.all import CHARTS
from nearsym.studies.charts.chart import PALETTE, Chart, Line, colours, inner_range
from nearsym.studies.comparison import not_far_too_short
from nearsym.studies.results import RunResult
from nearsym.studies.selection import by_arm, by_world, plain, unique
from nearsym.studies.task_pictures import draw_orbits, draw_prices, draw_variants
from nearsym.tasks.control.domains import DOMAINS
from nearsym.training import atomic
from nearsym.training.untrusted import as_label

COLUMNS = 4
"""Panels in a row."""
TITLE_WIDTH = 50
"""Characters that fit above a panel, or below it."""
MARKED = 60
"""Lines with fewer points show each."""
LONGEST_NAME = 150
"""Bytes of a file's name, without its ending."""

Drawn = dict[str, Any]
"""Figures by the names of their files."""


def draw_charts(charts: Sequence[Chart]) -> Any:
    """Charts as the panels of one matplotlib figure, with one legend and one caption."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A figure", "plots") from error
    charts = _told_once([_labelled(chart) for chart in charts])
    columns = min(COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    names = list(dict.fromkeys(line.name for chart in charts for line in chart.lines))
    beside = _side_by_side(names, columns)
    more = max(0, -(-len(names) // beside) - 1)  # lines of the legend
    size = (0.6 + 3.4 * columns, 0.9 + 2.7 * rows + 0.2 * more)
    figure = Figure(figsize=size, layout="constrained")
    grid: Any = figure.subplots(rows, columns, squeeze=False)
    # Of all panels together: one legend, so a colour has one meaning.
    inks = {name: PALETTE[place] for name, place in zip(names, colours(names), strict=True)}
    handles: dict[str, Any] = {}
    for axes, chart in zip(grid.flat, charts, strict=False):
        _draw(axes, chart, inks, handles)
    for unused in grid.flat[len(charts) :]:
        unused.remove()
    style = {"fontsize": 8, "frameon": False, "ncols": beside}
    figure.legend(handles.values(), handles, loc="outside upper center", **style)
    whole = replace(charts[0], points=tuple(point for chart in charts for point in chart.points))
    figure.supxlabel(textwrap.fill(whole.caption, 60 * columns), fontsize=7)
    return figure


def _side_by_side(names: Iterable[str], columns: int) -> int:
    """How many entries of a legend fit beside each other: a letter takes a 60th of a panel, what
    stands before a name six of them."""
    widest = max((len(name) for name in names), default=0) + 6
    return min(3 * columns, max(1, 60 * columns // widest))


def _labelled(chart: Chart) -> Chart:
    """The chart with all its texts as labels: names come from files, perhaps of somebody else."""
    return replace(
        chart,
        title=as_label(chart.title),
        x_label=as_label(chart.x_label),
        y_label=as_label(chart.y_label),
        lines=tuple(replace(line, name=as_label(line.name)) for line in chart.lines),
        about=as_label(chart.about, 500),
        ticks=tuple(map(as_label, chart.ticks)),
        dates=tuple(map(as_label, chart.dates)),
    )


def _told_once(charts: Sequence[Chart]) -> list[Chart]:
    """What all titles have in brackets, such as the scale, goes to the caption."""
    first, *others = (re.findall(r" \(([^()]+)\)", chart.title) for chart in charts)
    found = list(charts)
    for words in first:
        if all(words in each for each in others):
            said = f"{words[0].upper()}{words[1:]}."
            found = [
                replace(
                    chart,
                    title=chart.title.replace(f" ({words})", ""),
                    about=f"{chart.about} {said}",
                )
                for chart in found
            ]
    return found


def _draw(axes: Any, chart: Chart, inks: dict[str, str], handles: dict[str, Any]) -> None:
    for line in chart.lines:
        draw_line = _draw_dots if chart.dots else _draw_line
        handles.setdefault(line.name, draw_line(axes, line, inks[line.name]))
    axes.set_ylim(inner_range(chart.lines, chart.dots))
    if not chart.ticks and not chart.dates:
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(lambda value, _: _in_thousands(value))
    if chart.ticks:
        crowded = sum(map(len, chart.ticks)) > TITLE_WIDTH
        turned = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        axes.set_xticks(range(len(chart.ticks)), chart.ticks, fontsize=7, **turned)
        axes.set_xlim(-0.5, len(chart.ticks) - 0.5)
    if chart.dates:
        shown = np.linspace(0, len(chart.dates) - 1, 4).astype(int)
        axes.set_xticks(shown, [chart.dates[i] for i in shown], fontsize=7)
    axes.set_title(textwrap.fill(chart.title, TITLE_WIDTH), fontsize=8)
    axes.set_xlabel(chart.x_label, fontsize=8)
    axes.set_ylabel(chart.y_label, fontsize=8)
    axes.tick_params(labelsize=7)


def _in_thousands(value: float) -> str:
    return f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value:g}"


def _draw_line(axes: Any, line: Line, colour: str) -> Any:
    for one in line.each:
        axes.plot(line.x, one, color=colour, linewidth=0.5, alpha=0.3)
    if line.low:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
    marker = "." if len(line.x) < MARKED else None
    return axes.plot(line.x, line.y, color=colour, linewidth=1.6, marker=marker, markersize=3)[0]


def _draw_dots(axes: Any, line: Line, colour: str) -> Any:
    for one in line.each:
        axes.plot(line.x, one, "o", color=colour, markersize=2.5, alpha=0.4)
    if line.low:
        axes.vlines(line.x, line.low, line.high, color=colour, linewidth=1.2)
    return axes.plot(line.x, line.y, "o", color=colour, markersize=5)[0]


def _grouped(name: str, results: list[RunResult]) -> Drawn:
    """A figure for each group of charts."""
    groups: dict[str, list[Chart]] = {}
    for chart in CHARTS[name](results):
        groups.setdefault(chart.group, []).append(chart)
    return {group: draw_charts(charts) for group, charts in groups.items()}


def _layers_over_training(results: list[RunResult]) -> Drawn:
    """Every relaxed layer of every world over training, as `plot_relaxed` draws one run."""
    found = {}
    for world, runs in by_world(run for run in results if run.relaxed and run.elements).items():
        approx = by_arm(plain(runs)).get("approx", [])
        if approx:
            title = f"Relaxed weights w(g): {world} ({world.scale}), approx, {len(approx)} runs"
            name = f"relaxed {world} {world.scale}"
            found[name] = draw_layers(_layers(approx), title)
    return found


def _layers(runs: Sequence[RunResult]) -> list[Layer]:
    runs = not_far_too_short(runs)
    count = min(len(run.frames) for run in runs)
    frames = np.mean([run.frames[:count] for run in runs], axis=0)
    labels = tuple(runs[0].elements)
    shared = [name for name in runs[0].relaxed if all(name in run.relaxed for run in runs)]
    return [
        Layer(
            name,
            labels,
            frames,
            np.concatenate([rows_of(np.asarray(run.relaxed[name][:count])) for run in runs]),
        )
        for name in shared
    ]


def _tasks_and_variants(results: list[RunResult]) -> Drawn:
    """Of the control tasks that the results are about; of all where there are no results."""
    shown = {run.task for run in results} or set(DOMAINS)
    tasks = [task for task in DOMAINS if task in shown]
    return {"tasks": draw_orbits(tasks), "variants": draw_variants(tasks)} if tasks else {}


FIGURES: dict[str, Callable[[list[RunResult]], Drawn]] = {
    **{name: partial(_grouped, name) for name in CHARTS},
    "relaxed": _layers_over_training,
    "tasks": _tasks_and_variants,
    "prices": lambda results: {"prices": draw_prices()},
}
"""Figures by name. Those of results give nothing where there is nothing to draw."""


def write_figures(
    results: Iterable[RunResult], folder: str | PathLike[str], names: Iterable[str] | None = None
) -> list[Path]:
    """Write figures as SVG files; by default all that results have. Equal results, equal files."""
    wanted = tuple(CHARTS) if names is None else tuple(names)
    for name in wanted:
        if name not in FIGURES:
            raise unknown_name("figure", name, FIGURES)
    runs, place = unique(results), Path(folder)
    atomic.make_place(place, "folder")
    written = []
    for name in wanted:
        for title, figure in FIGURES[name](runs).items():
            written.append(place / f"{file_name(title)}.svg")
            save(figure, written[-1])
    return written


def save(figure: Any, path: Path) -> None:
    """Without a date and with names that repeat."""
    import matplotlib

    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "nearsym"}), warnings.catch_warnings():
        # Names may have letters that the font lacks, or leave no room: they are not ours.
        warnings.filterwarnings("ignore", message="Glyph .* missing|constrained_layout not applied")
        figure.savefig(picture, format="svg", metadata={"Date": None})
    with atomic.explain_errors("Writing a figure", path.parent, advice=atomic.TRY_AGAIN):
        atomic.replace(path, picture.getvalue())


def file_name(title: str) -> str:
    """A title as a name that every file system takes.

    >>> file_name("curves laptop, state, sac")
    'curves-laptop-state-sac'
    """
    name = re.sub(r"[^\w.=+-]+", "-", title).strip("-.").encode()
    if len(name) <= LONGEST_NAME:
        return name.decode()
    digest = hashlib.sha256(name).hexdigest()[:8]
    return f"{name[:LONGEST_NAME].decode(errors='ignore')}-{digest}"
