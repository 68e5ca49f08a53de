"""What makes a price table unfit to trade on, each finding with its row and column."""

from collections.abc import Iterator

import numpy as np

from nearsym.tasks.trading.files import Problem, RawPrices

SPLIT_RATIOS = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0, 50.0)
"""Common ratios of share splits; reverse splits are their inverses.

3:2 is left out: real falls and rises of a third are more common than such splits (PG lost a
third overnight in March 2000, AMD in October 2002).
"""
SPLIT_TOLERANCE = 0.03
"""How far a day's price ratio may lie from a split ratio and still look like that split."""
BAR_TOLERANCE = 2e-3
"""Slack for high ≥ open, close ≥ low: adjusted bars are rounded each on its own."""


def find_problems(raw: RawPrices) -> list[Problem]:
    """Everything wrong with a table: what reading found, then what its prices show.

    A ticker *starts late* if its first price comes after the table's first day. A *split* is
    suspected where a price moves overnight by a common split ratio within 3 %: a real crash can
    look the same, so that finding can be accepted by choice.
    """
    problems = list(raw.problems)
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
            problems += _splits(raw, column, first)
    return problems


def _late(raw: RawPrices, ticker: str, first: int) -> Problem:
    text = (
        f"column {ticker}: starts late, on {raw.dates[first]}; the table starts on "
        f"{raw.dates[0]}. Drop such tickers with `late='drop'` or start later; gaps are "
        "never back-filled."
    )
    return Problem("late", text, ticker, _row(raw, first, ticker), str(raw.dates[first]))


def _bad_cells(
    raw: RawPrices, column: int, label: str, prices: np.ndarray, first: int
) -> Iterator[Problem]:
    ticker = raw.tickers[column]
    used = prices[first:]
    for kind, bad, what in (
        ("missing", np.isnan(used), "the price is missing"),
        ("non-positive", used <= 0, "the price is not positive"),
    ):
        days = np.flatnonzero(bad) + first
        if not len(days):
            continue
        day = int(days[0])
        row = _row(raw, day, ticker)
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
        row = _row(raw, int(day), ticker)
        text = (
            f"row {row} ({raw.dates[day]}), column {ticker}: open or close lie outside the day's "
            "low to high. Are all four adjusted alike?"
        )
        yield Problem("bars", text, ticker, row, str(raw.dates[day]))


def _splits(raw: RawPrices, column: int, first: int) -> Iterator[Problem]:
    """Days on which the price moved overnight by nearly a common split ratio."""
    ticker = raw.tickers[column]
    close = raw.fields["close"][first:, column]
    after = raw.fields.get("open", raw.fields["close"])[first:, column]  # the day's first price
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = close[:-1] / after[1:]
    for size in (*SPLIT_RATIOS, *(1 / value for value in SPLIT_RATIOS)):
        for position in np.flatnonzero(np.abs(ratio / size - 1) < SPLIT_TOLERANCE):
            day = int(position) + 1 + first
            row = _row(raw, day, ticker)
            shown = f"{size:g}:1" if size > 1 else f"1:{1 / size:g}"
            text = (
                f"row {row} ({raw.dates[day]}), column {ticker}: the price goes from "
                f"{close[position]:g} to {after[position + 1]:g}, which looks like an unadjusted "
                f"{shown} split. Use adjusted prices, or take it for a real move with "
                "`jumps='accept'`."
            )
            yield Problem("split", text, ticker, row, str(raw.dates[day]))


def _row(raw: RawPrices, day: int, ticker: str) -> int | None:
    row = int(raw.rows[day, raw.tickers.index(ticker)])
    return row if row > 0 else None
