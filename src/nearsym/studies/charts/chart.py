"""A chart as a value: lines with bands, single runs behind them, dots over categories."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearsym.studies.selection import MODELS
from nearsym.studies.statistics import Measured
from nearsym.studies.tables.table import said_of

PALETTE = ("#5b6470", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7a5ccc")
"""Okabe and Ito's colours, which everybody can tell apart, with a darker yellow, grey for black and
a violet. The page has the same in its style, and lighter ones for the dark."""


LEAST_FOR_A_BAND = 3
"""Seeds. The interval of two is 13 standard errors wide and would hide everything else; tables
have it."""


@dataclass(frozen=True)
class Line:
    """A name, its points, their intervals, and the single runs that they are the mean of."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    """Lower ends of the intervals; empty where there are none."""
    high: tuple[float, ...] = ()
    each: tuple[tuple[float, ...], ...] = ()
    """For each run its y at the same x."""
    seeds: int = 0

    @classmethod
    def of(
        cls,
        name: str,
        x: Sequence[float],
        points: Sequence[Measured],
        each: Sequence[Sequence[float]] = (),
    ) -> "Line":
        """From numbers that know their intervals."""
        ends = [point.ci95 for point in points]
        whole = [pair for pair in ends if pair is not None]
        seeds = min((point.seeds for point in points), default=0)
        known = len(whole) == len(ends) and all(map(_narrow, points))
        return cls(
            name,
            tuple(map(float, x)),
            tuple(point.value for point in points),
            tuple(low for low, _ in whole) if known else (),
            tuple(high for _, high in whole) if known else (),
            tuple(tuple(map(float, one)) for one in each),
            seeds,
        )


def inner_range(lines: Sequence[Line], dots: bool) -> tuple[float, float] | None:
    """What the y axis has to show: means and single runs; intervals only where there are no runs.
    The interval of three seeds is many times wider than the runs, and is cut."""
    values = [y for line in lines for one in (line.y, *line.each) for y in one]
    if dots or not any(line.each for line in lines):
        values += [y for line in lines for y in (*line.low, *line.high)]
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return None
    pad = 0.05 * (max(known) - min(known)) or 0.5 * abs(known[0]) or 0.5
    return min(known) - pad, max(known) + pad


@dataclass(frozen=True)
class Chart:
    """Lines over one pair of axes."""

    name: str
    """Unique among the charts of a page, and the name of its file."""
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    about: str
    """What is drawn; the caption adds what it rests on."""
    points: tuple[Measured, ...] = ()
    """The numbers behind the lines."""
    ticks: tuple[str, ...] = ()
    """Names of the places 0, 1, … on the x axis, where that has categories."""
    dots: bool = False
    """Points that no line connects."""
    dates: tuple[str, ...] = ()
    """What the places 0, 1, … on the x axis are called, where these are days."""
    group: str = ""
    """Charts with the same are drawn together."""

    @property
    def caption(self) -> str:
        """What is drawn, over how many seeds, with which interval."""
        return f"{self.about} {rests_on(self.points)}".strip()

    def as_json(self) -> dict[str, Any]:
        """Plain data with four digits, which is more than a screen shows."""
        about = {n: getattr(self, n) for n in ("name", "title", "x_label", "y_label", "caption")}
        about |= {"ticks": list(self.ticks), "dots": self.dots, "dates": list(self.dates)}
        pairs = zip(self.lines, colours([line.name for line in self.lines]), strict=True)
        return about | {"lines": [_plain(line, colour) for line, colour in pairs]}


def _plain(line: Line, colour: int) -> dict[str, Any]:
    short = {name: [_short(v) for v in getattr(line, name)] for name in ("x", "y", "low", "high")}
    each = [[_short(value) for value in one] for one in line.each]
    return {"name": line.name, "seeds": line.seeds, "colour": colour, **short, "each": each}


def _short(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None


def _narrow(point: Measured) -> bool:
    """Whether an interval rests on enough to be drawn."""
    return point.seeds >= LEAST_FOR_A_BAND


def rests_on(points: Sequence[Measured]) -> str:
    """What the points of a chart rest on, for its caption."""
    few = any(point.ci95 is not None and not _narrow(point) for point in points)
    said = said_of(points)
    return f"{said} Intervals are drawn from three seeds on." if few else said


def colours(names: Sequence[str]) -> list[int]:
    """A colour for each line of a chart: the first line that is called after a model has that
    model's, which is the same in every chart; all others take the last that is free, so that no
    group element looks like one of the usual models.

    >>> colours(["none", "exact ST", "exact T", "approx ST"]), colours(["e", "mirror_x"])
    ([0, 1, 7, 2], [7, 6])
    """
    models = [name.replace(",", " ").split(" ")[0] for name in names]
    chosen = {models.index(model): MODELS.index(model) for model in MODELS if model in models}
    free = [colour for colour in reversed(range(len(PALETTE))) if colour not in chosen.values()]
    others = [place for place in range(len(names)) if place not in chosen]
    chosen |= {place: (free or [0])[i % max(1, len(free))] for i, place in enumerate(others)}
    return [chosen[place] for place in range(len(names))]
