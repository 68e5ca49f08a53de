"""What is wrong with a price file, and what it gives nevertheless."""

from dataclasses import dataclass, field

import numpy as np

SMALLEST, LARGEST = 1e-6, 1e12
"""Prices between which accounts and features are exact enough."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a price file, and where."""

    kind: str
    """unreadable, order, duplicate, missing, late, non-positive, extreme, bars, index, no tickers,
    split, jump or spike."""
    text: str
    """The whole message for a person, with row and column."""
    column: str | None = None
    """The ticker it concerns; None for a date."""
    row: int | None = None
    """Row of the file, counted from 1 below the header; None if the file has no such row."""
    date: str | None = None
    """The day it concerns, ISO."""


@dataclass(frozen=True, eq=False)
class RawPrices:
    """Prices as a file gives them, sorted by day, with NaN where it gives none."""

    dates: np.ndarray
    """(days,) datetime64[D], strictly increasing."""
    tickers: tuple[str, ...]
    """Columns in the order of the file."""
    fields: dict[str, np.ndarray]
    """`close` and whichever of open, high, low exist: (days, tickers) float64."""
    rows: np.ndarray
    """(days, tickers): the row of the file that holds a price, 0 if there is none."""
    source: str
    """The file's name, for messages."""
    problems: tuple[Problem, ...] = field(default=())
    """What was wrong already in reading: unreadable cells, order, duplicates."""
    unused: tuple[str, ...] = field(default=())
    """Columns of the file that are no prices."""


def more(places: np.ndarray) -> str:
    """The end of a message about the first of several rows."""
    return f" ({len(places) - 1} more such rows.)" if len(places) > 1 else ""


def row_in_file(raw: RawPrices, day: int, column: int) -> int | None:
    """The row of the file that holds a price, if there is one."""
    row = int(raw.rows[day, column])
    return row if row > 0 else None
