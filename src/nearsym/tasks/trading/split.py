"""Train, validation and test: spans of days of a price table."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.trading.days import iso_day, row_of
from nearsym.tasks.trading.prices import PriceTable

Part = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class Split:
    """Train, validation and test as half-open spans of days: a border day opens the later part."""

    start: str | None
    """First day of training; None for the first day of the table."""
    validation: str
    """First day of validation."""
    test: str
    """First day of testing."""
    end: str | None
    """The day after the last one of testing; None for the end of the table."""

    def __post_init__(self) -> None:
        texts = (self.start, self.validation, self.test, self.end)
        borders = [iso_day(text) for text in texts if text is not None]
        if any(a >= b for a, b in pairwise(borders)):
            raise UsageError(f"The dates of a split must increase, got {self}.")

    @classmethod
    def parse(cls, text: str) -> "Split":
        """Four dates (start, validation, test, end) or two (validation, test), comma-separated.

        >>> str(Split.parse("2001-01-01,2019-01-01,2021-01-01,2024-07-01"))
        '2001-01-01,2019-01-01,2021-01-01,2024-07-01'
        >>> Split.parse("2010-01-01,2012-01-01").start is None
        True
        """
        dates = [part.strip() for part in text.split(",")]
        if len(dates) == 2:
            return cls(None, dates[0], dates[1], None)
        if len(dates) == 4:
            return cls(*dates)
        raise UsageError(
            f"A split is four dates START,VALIDATION,TEST,END or two VALIDATION,TEST, got {text!r}."
        )

    def days(self, table: PriceTable, part: Part | str) -> slice:
        """The rows of a table that belong to one part."""
        borders = {
            "train": (self.start, self.validation),
            "validation": (self.validation, self.test),
            "test": (self.test, self.end),
        }
        if part not in borders:
            raise unknown_name("part of the data", part, borders)
        low, high = borders[part]
        first = 0 if low is None else row_of(table.dates, low)
        last = len(table.dates) if high is None else row_of(table.dates, high)
        if last - first < 2:
            raise UsageError(
                f"The {part} part of the split {self} has {max(last - first, 0)} days in "
                f"{table.source} ({table.dates[0]}…{table.dates[-1]}): at least 2 are needed. "
                "Choose another `split`."
            )
        return slice(first, last)

    def __str__(self) -> str:
        inner = f"{self.validation},{self.test}"
        if self.start is None and self.end is None:
            return inner
        return f"{self.start},{inner},{self.end}"


PAPER_SPLIT = Split("2001-01-01", "2019-01-01", "2021-01-01", "2024-07-01")
"""Section 5.2 of the paper."""


def as_split(split: Split | str | None) -> Split:
    if split is None:
        return PAPER_SPLIT
    return Split.parse(split) if isinstance(split, str) else split
