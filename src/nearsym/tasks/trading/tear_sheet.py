"""A tear sheet: how a portfolio did, day by day, on one page beside the baselines."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.errors import MissingExtraError, UsageError
from nearsym.training import atomic
from nearsym.training.untrusted import as_label

AGENT, OTHERS = "#d55e00", ("#0072b2", "#009e73", "#cc79a7", "#b58900", "#5b6470")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
ENDINGS = (".png", ".svg", ".pdf")
MOST_NAMED = 8
"""Tickers with a colour of their own among the weights; the others are one area."""


def write_tear_sheet(result: Mapping[str, Any], path: Path) -> None:
    """The picture of an evaluation (`Run.evaluate`), in the format of the file's ending."""
    import io

    if path.suffix not in ENDINGS:
        raise UsageError(f"A tear sheet ends in {', '.join(ENDINGS)}, got {path.name}.")
    atomic.make_place(path.parent, "tear_sheet")
    picture = io.BytesIO()
    draw_tear_sheet(result).savefig(picture, format=path.suffix[1:], dpi=130)
    with atomic.explain_errors("Writing the tear sheet", path.parent, advice=atomic.TRY_AGAIN):
        atomic.replace(path, picture.getvalue())


def draw_tear_sheet(result: Mapping[str, Any]) -> Any:
    """Value, drawdown, exposure, turnover and fees, weights and monthly returns of the sampled
    episodes of an evaluation, as a matplotlib figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A tear sheet", "plots") from error
    figure = Figure(figsize=(11, 12), layout="constrained")
    grid: Any = figure.add_gridspec(4, 2, height_ratios=[1.5, 1, 1, 1.2])
    value = np.asarray(result["value"], dtype=np.float64)
    _draw_value(figure.add_subplot(grid[0, :]), result, value)
    _draw_drawdown(figure.add_subplot(grid[1, 0]), result, value)
    _draw_exposure(figure.add_subplot(grid[1, 1]), result)
    _draw_turnover(figure.add_subplot(grid[2, 0]), result)
    _draw_costs(figure.add_subplot(grid[2, 1]), result)
    _draw_weights(figure.add_subplot(grid[3, 0]), result)
    _draw_months(figure.add_subplot(grid[3, 1]), result, value)
    first, last = result["dates"][0], result["dates"][-1]
    name = str(result["metrics"][0]["name"])
    figure.suptitle(f"{name}: {result['part']} part, {first} to {last}", fontsize=12)
    return figure


def monthly_returns(dates: list[str], value: np.ndarray) -> dict[tuple[int, int], float]:
    """The return of each calendar month, from the last value before it.

    >>> monthly_returns(["2001-01-30", "2001-01-31", "2001-02-01"], np.array([100.0, 110.0, 99.0]))
    {(2001, 1): 0.1, (2001, 2): -0.1}
    """
    found: dict[tuple[int, int], float] = {}
    months = [(int(day[:4]), int(day[5:7])) for day in dates]
    before = value[0]
    for i, month in enumerate(months):
        if i + 1 == len(months) or months[i + 1] != month:
            found[month] = round(float(value[i] / before - 1), 10)
            before = value[i]
    return found


def _days(axes: Any, result: Mapping[str, Any], title: str) -> np.ndarray:
    """The days as numbers, with a few of them named on the axis."""
    dates = result["dates"]
    shown = np.linspace(0, len(dates) - 1, 5).astype(int)
    axes.set_xticks(shown, [dates[i][:7] for i in shown], fontsize=7)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.margins(x=0)
    return np.arange(len(dates))


def _draw_value(axes: Any, result: Mapping[str, Any], value: np.ndarray) -> None:
    days = _days(axes, result, "Value (mm)")
    for (name, null), strength in zip(result.get("null", {}).items(), (0.16, 0.08), strict=False):
        low, _, high = np.asarray(null["band"]) / 1e6
        style = {"color": "#5b6470", "alpha": strength, "linewidth": 0}
        axes.fill_between(days, low, high, label=f"{name}, 5 to 95 %", **style)
    for name, colour in zip(result["baselines"], OTHERS, strict=False):
        line = np.asarray(result["baselines"][name]) / 1e6
        axes.plot(days, line, color=colour, linewidth=1.0, label=as_label(name))
    for episode in value:
        axes.plot(days, episode / 1e6, color=AGENT, linewidth=0.5, alpha=0.4)
    name = str(result["metrics"][0]["name"])
    axes.plot(days, value.mean(axis=0) / 1e6, color=AGENT, linewidth=2.0, label=name)
    axes.legend(fontsize=7, ncols=2, frameon=False)


def _draw_drawdown(axes: Any, result: Mapping[str, Any], value: np.ndarray) -> None:
    days = _days(axes, result, "Drawdown (%)")
    names = list(result["baselines"])
    lines = {name: np.asarray(result["baselines"][name]) for name in (*names[:1], *names[-1:])}
    for name, line in lines.items():
        style = {"color": OTHERS[names.index(name)], "linewidth": 0.9}
        axes.plot(days, _drawdown(line), **style, label=as_label(name))
    each = np.array([_drawdown(episode) for episode in value])
    axes.plot(days, each.mean(axis=0), color=AGENT, linewidth=1.6)
    axes.fill_between(days, each.mean(axis=0), color=AGENT, alpha=0.15, linewidth=0)
    axes.legend(fontsize=7, frameon=False)


def _drawdown(value: np.ndarray) -> np.ndarray:
    return 100 * (value / np.maximum.accumulate(value) - 1)


def _draw_exposure(axes: Any, result: Mapping[str, Any]) -> None:
    days = _days(axes, result, "Exposure: invested share of the value (%)")
    exposure = 100 * np.asarray(result["exposure"])
    axes.plot(days, exposure.mean(axis=0), color=AGENT, linewidth=1.4)
    axes.fill_between(days, exposure.min(axis=0), exposure.max(axis=0), color=AGENT, alpha=0.15)
    axes.set_ylim(0, 105)


def _draw_turnover(axes: Any, result: Mapping[str, Any]) -> None:
    days = _days(axes, result, "Turnover a day (% of the value), mean of 21 days")
    turnover = 100 * np.asarray(result["turnover"]).mean(axis=0)
    width = min(21, len(turnover))
    axes.plot(days, turnover, color=AGENT, linewidth=0.4, alpha=0.4)
    smooth = np.convolve(turnover, np.ones(width) / width, mode="valid")
    axes.plot(days[width - 1 :], smooth, color=AGENT, linewidth=1.6)


def _draw_costs(axes: Any, result: Mapping[str, Any]) -> None:
    days = _days(axes, result, "Fees paid so far (thousand)")
    costs = np.asarray(result["costs"]).cumsum(axis=1) / 1e3
    axes.plot(days, costs.mean(axis=0), color=AGENT, linewidth=1.6)
    for episode in costs:
        axes.plot(days, episode, color=AGENT, linewidth=0.4, alpha=0.4)


def _draw_weights(axes: Any, result: Mapping[str, Any]) -> None:
    """The largest positions one by one, the others together; what is left is cash."""
    days = _days(axes, result, "Weights (%), mean of the episodes; the rest is cash")
    weights = 100 * np.asarray(result["weights"])
    order = np.argsort(-weights.mean(axis=0))
    named, rest = order[:MOST_NAMED], order[MOST_NAMED:]
    areas = [*weights[:, named].T, *([weights[:, rest].sum(axis=1)] if len(rest) else [])]
    labels = [as_label(result["tickers"][i]) for i in named] + (["others"] if len(rest) else [])
    axes.stackplot(days, areas, labels=labels, alpha=0.8, linewidth=0)
    axes.set_ylim(0, 105)
    axes.legend(fontsize=6, ncols=5, loc="lower center", framealpha=0.7)


def _draw_months(axes: Any, result: Mapping[str, Any], value: np.ndarray) -> None:
    found = monthly_returns(result["dates"], value.mean(axis=0))
    years = sorted({year for year, _ in found})
    cells = np.full((len(years), 12), np.nan)
    for (year, month), change in found.items():
        cells[years.index(year), month - 1] = 100 * change
    largest = max(1e-9, float(np.nanmax(np.abs(cells))))
    axes.imshow(cells, cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto")
    for row, column in np.argwhere(~np.isnan(cells)):
        strong = abs(cells[row, column]) > 0.6 * largest
        colour = "white" if strong else "black"
        text = f"{cells[row, column]:.1f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    axes.set_xticks(range(12), MONTHS, fontsize=7)
    axes.set_yticks(range(len(years)), [str(year) for year in years], fontsize=7)
    axes.set_title("Monthly returns (%), mean of the episodes", fontsize=9)
