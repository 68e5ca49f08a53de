"""Days of a price file: ISO text or dates, in order and each once."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nearsym.errors import MissingExtraError, UsageError, shown
from nearsym.tasks.trading.problems import Problem, more

_DAY = re.compile(
    r"\s*(\d{4}-\d{2}-\d{2})"
    r"([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?\s*"
)
"""An ISO day; only the day counts, so a clock time or a zone after it is allowed and cut off."""


class Days(NamedTuple):
    """The days of every row of a file."""

    values: np.ndarray
    """(rows,) datetime64[D], NaT where a cell is no day."""
    shown: Callable[[int], str]
    """What the cell of a row says, for messages."""


def days_of_texts(codes: np.ndarray, texts: list[str]) -> Days:
    """From a column in which row i says texts[codes[i]]."""
    parsed = np.array([parse_day(text) for text in texts], dtype="datetime64[D]")
    return Days(parsed[codes], lambda row: shown(texts[codes[row]]))


def parse_day(text: str) -> np.datetime64:
    """The day that a cell names, or NaT.

    >>> str(parse_day("2001-01-02 16:00:00-05:00")), str(parse_day("2001-01-021"))
    ('2001-01-02', 'NaT')
    """
    found = _DAY.fullmatch(text)
    try:
        return np.datetime64(found[1] if found else "NaT", "D")
    except ValueError:  # 2001-13-45
        return np.datetime64("NaT")


def sorted_days(
    days: Days, source: str, rows: np.ndarray, ticker: str | None = None
) -> tuple[np.ndarray, list[Problem]]:
    """Those of some rows that have a readable day, in increasing order, each day once; and what was
    wrong with the others."""
    values = days.values[rows]
    readable = ~np.isnat(values)
    problems: list[Problem] = []
    where = "" if ticker is None else f" of {ticker}"

    def note(kind: str, these: np.ndarray, text: Callable[[int], str]) -> None:
        """The first of some rows with the same fault, and how many more there are."""
        if len(these):
            row, day = int(these[0]) + 1, days.values[these[0]]
            message = f"row {row}, date column{where}: {text(int(these[0]))}{more(these)}"
            date = None if np.isnat(day) else str(day)
            problems.append(Problem(kind, message, ticker, row, date))

    note("unreadable", rows[~readable], lambda r: f"{days.shown(r)} is no ISO day like 2001-01-02.")
    rows, values = rows[readable], values[readable]
    if not len(rows):
        raise UsageError(f"{source} has no readable day{where}. Expected ISO days: 2001-01-02.")
    falling = np.flatnonzero(values[1:] < values[:-1]) + 1
    before = {int(rows[at]): values[at - 1] for at in falling[:1]}
    note(
        "order",
        rows[falling],
        lambda r: f"{days.values[r]} comes after {before[r]}. Sort by date.",
    )
    order = np.argsort(values, kind="stable")
    rows, values = rows[order], values[order]
    repeated = np.flatnonzero(values[1:] == values[:-1]) + 1
    note(
        "duplicate",
        rows[repeated],
        lambda r: f"{days.values[r]} appears twice. Keep one row a day.",
    )
    return np.delete(rows, repeated), problems


def iso_day(text: str) -> np.datetime64:
    """A day from its ISO text.

    >>> str(iso_day("2001-01-02"))
    '2001-01-02'
    """
    day = parse_day(text) if len(text) == 10 else np.datetime64("NaT")
    if np.isnat(day):
        raise UsageError(f"Expected an ISO day such as 2001-01-02, got {shown(text)}.")
    return day


def row_of(dates: np.ndarray, day: str) -> int:
    """The first row on or after a day; one past the end if there is none."""
    return int(np.searchsorted(dates, iso_day(day)))


def import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("Market data", "trading") from error
    return pandas
