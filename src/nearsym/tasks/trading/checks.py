"""What makes a price table unfit to trade on, each finding with its row and column."""

from collections.abc import Iterator

import numpy as np

from nearsym.tasks.trading.moves import suspicious_moves
from nearsym.tasks.trading.problems import LARGEST, SMALLEST, Problem, RawPrices, row_in_file

BAR_TOLERANCE = 2e-3
"""Slack for high ≥ open, close ≥ low: adjusted bars are rounded each on its own."""


def find_problems(raw: RawPrices) -> list[Problem]:
    """Everything wrong with a table: what reading found, then what its prices show.

    A ticker *starts late* if its first price comes after the table's first day. A *split* is
    suspected where a price moves overnight by a common split ratio within 3 %, a *jump* is any
    factor of about 5 or more, a *spike* a move by half that the next day takes back.
    """
    problems = [*raw.problems, *_wrong_columns(raw)]
    for column, ticker in enumerate(raw.tickers):
        close = raw.fields["close"][:, column]
        priced = np.flatnonzero(~np.isnan(close))
        if not len(priced):
            text = f"column {ticker}: no price at all. Leave the ticker out."
            problems.append(Problem("missing", text, ticker))
            continue
        first = int(priced[0])
        if first > 0:
            problems.append(_late(raw, ticker, first))
        # Of an index only the closes are used: it is never traded.
        fields = ("close",) if ticker.startswith("^") else tuple(raw.fields)
        for name in fields:
            prices = raw.fields[name]
            label = ticker if len(raw.fields) == 1 else f"{ticker} {name}"
            problems += _bad_cells(raw, column, label, prices[:, column], first)
        if not ticker.startswith("^"):
            problems += _bad_bars(raw, column, first)
        problems += suspicious_moves(raw, column, first)
    return problems


def _wrong_columns(raw: RawPrices) -> Iterator[Problem]:
    """A table needs something to trade, and has one index at most."""
    indices = [name for name in raw.tickers if name.startswith("^")]
    if len(indices) > 1:
        names = ", ".join(indices)
        text = f"columns {names}: several indices. Leave all but one out."
        yield Problem("index", text, indices[1])
    if len(indices) == len(raw.tickers):
        text = f"column {', '.join(indices)}: an index cannot be traded, and there is nothing else."
        yield Problem("no tickers", text, indices[0] if indices else None)


def _late(raw: RawPrices, ticker: str, first: int) -> Problem:
    start = raw.dates[first]
    text = (
        f"column {ticker}: starts late, on {start}; the table starts on {raw.dates[0]}. Leave such "
        f"tickers out with `late='drop'`; `start='{start}'` would keep it. Gaps are never "
        "back-filled."
    )
    return Problem(
        "late", text, ticker, row_in_file(raw, first, raw.tickers.index(ticker)), str(start)
    )


def _bad_cells(
    raw: RawPrices, column: int, label: str, prices: np.ndarray, first: int
) -> Iterator[Problem]:
    ticker = raw.tickers[column]
    used = prices[first:]
    sane = (used >= SMALLEST) & (used <= LARGEST)
    for kind, bad, what in (
        ("missing", np.isnan(used), "the price is missing"),
        ("non-positive", used <= 0, "the price is not positive"),
        ("extreme", (used > 0) & ~sane, f"no price from {SMALLEST:g} to {LARGEST:g}"),
    ):
        days = np.flatnonzero(bad) + first
        if not len(days):
            continue
        day = int(days[0])
        row = row_in_file(raw, day, column)
        date = raw.dates[day]
        place = f"row {row} ({date})" if row is not None else f"no row for {date}"
        value = "" if kind == "missing" else f", got {prices[day]:g}"
        more = f" ({len(days) - 1} more such days)" if len(days) > 1 else ""
        text = f"{place}, column {label}: {what}{value}{more}. Correct it or leave the ticker out."
        yield Problem(kind, text, ticker, row, str(date))


def _bad_bars(raw: RawPrices, column: int, first: int) -> Iterator[Problem]:
    """The first day on which open or close leave the range from low to high."""
    if "high" not in raw.fields or "low" not in raw.fields:
        return
    high = raw.fields["high"][first:, column] * (1 + BAR_TOLERANCE)
    low = raw.fields["low"][first:, column] * (1 - BAR_TOLERANCE)
    inner = [raw.fields[name][first:, column] for name in ("open", "close") if name in raw.fields]
    outside = np.logical_or.reduce([(high < price) | (low > price) for price in inner])
    for day in np.flatnonzero(outside)[:1] + first:
        ticker = raw.tickers[column]
        row = row_in_file(raw, int(day), column)
        text = (
            f"row {row} ({raw.dates[day]}), column {ticker}: open or close lie outside the day's "
            "low to high. Are all four adjusted alike?"
        )
        yield Problem("bars", text, ticker, row, str(raw.dates[day]))
