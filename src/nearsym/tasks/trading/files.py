"""Reading price files of three shapes (`columns.py`) into plain arrays.

Nothing is repaired here: what cannot be read is listed as a problem with its row and column.
"""

from pathlib import Path

import numpy as np

from nearsym.errors import UsageError, shown
from nearsym.tasks.trading.columns import ADJUSTED, BARS, recognise
from nearsym.tasks.trading.days import sorted_days
from nearsym.tasks.trading.problems import Problem, RawPrices, more
from nearsym.tasks.trading.sheet import Numbers, Sheet, Texts, open_sheet


def read_prices(path: str | Path) -> RawPrices:
    """The prices of a file, unjudged; only a file that is no price table at all raises."""
    path = Path(path)
    if not path.name.isprintable():
        raise UsageError(f"The name of the price file, {shown(path.name)}, cannot be shown.")
    sheet = open_sheet(path, recognise)
    return _from_wide(sheet) if sheet.columns.wide else _from_long(sheet)


def _from_wide(sheet: Sheet) -> RawPrices:
    days = sheet.days(sheet.columns.date)
    order, problems = sorted_days(days, sheet.path.name, np.arange(sheet.rows))
    tickers = tuple(sheet.columns.prices)
    close = np.empty((len(order), len(tickers)))
    for i, (ticker, name) in enumerate(sheet.columns.prices.items()):
        column = sheet.numbers(name)
        close[:, i] = column.values[order]
        if len(column.wrong):
            problems.append(_unreadable(column, days.values, column.wrong, ticker, ticker))
    return RawPrices(
        dates=days.values[order],
        tickers=tickers,
        fields={"close": close},
        rows=np.broadcast_to((order + 1)[:, None], close.shape),
        source=sheet.path.name,
        problems=tuple(problems),
    )


def _from_long(sheet: Sheet) -> RawPrices:
    days = sheet.days(sheet.columns.date)
    named, problems = _named_tickers(sheet)
    owners = np.argsort(named.codes, kind="stable")
    borders = np.searchsorted(named.codes[owners], np.arange(len(named.texts) + 1))
    kept = []
    for i, ticker in enumerate(named.texts):
        rows = owners[borders[i] : borders[i + 1]]
        rows, found = sorted_days(days, sheet.path.name, rows, ticker)
        problems += found
        kept.append(rows)
    del owners
    all_rows = np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
    if not len(all_rows):
        raise UsageError(f"{sheet.path.name} names no ticker in {sheet.columns.ticker!r}.")
    dates, day_index = np.unique(days.values[all_rows], return_inverse=True)
    cells = (day_index, named.codes[all_rows])
    shape = (len(dates), len(named.texts))
    prices = {}
    for role, name in sheet.columns.prices.items():
        column = sheet.numbers(name)
        problems += _unreadable_prices(column, days.values, named, name)
        prices[role] = np.full(shape, np.nan)
        prices[role][cells] = column.values[all_rows]
    rows = np.zeros(shape, dtype=np.int64)
    rows[cells] = all_rows + 1
    return RawPrices(
        dates=dates,
        tickers=tuple(named.texts),
        fields=_adjusted(prices),
        rows=rows,
        source=sheet.path.name,
        problems=tuple(problems),
        unused=sheet.columns.unused,
    )


def _adjusted(prices: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Bars follow their close into adjusted prices."""
    if ADJUSTED not in prices:
        return prices
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = prices[ADJUSTED] / prices["close"]
        bars = {name: prices[name] * factor for name in BARS if name in prices}
    return {"close": prices[ADJUSTED], **bars}


def _named_tickers(sheet: Sheet) -> tuple[Texts, list[Problem]]:
    """The ticker of every row, in the order in which they come, −1 where there is none."""
    name = sheet.columns.ticker
    if name is None:
        ticker = sheet.path.name.split(".")[0].upper()
        return Texts(np.zeros(sheet.rows, dtype=np.int32), [ticker]), []
    column = sheet.texts(name)
    stripped = [text.strip() for text in column.texts]
    usable = dict.fromkeys(text for text in stripped if text and text.isprintable())
    place = {text: i for i, text in enumerate(usable)}
    new = np.array([place.get(text, -1) for text in stripped], dtype=np.int32)
    codes = new[column.codes]
    used, first = np.unique(codes, return_index=True)
    used = used[np.argsort(first)]  # in the order of the rows, whatever a dictionary lists
    used = used[used >= 0]
    compact = np.full(len(place) + 1, -1, dtype=np.int32)
    compact[used] = np.arange(len(used))
    texts = list(usable)
    problems = []
    lost = np.flatnonzero(codes < 0)
    if len(lost):
        row = int(lost[0])
        said = column.texts[column.codes[row]]
        what = "is empty" if not said.strip() else f"{shown(said)} cannot be shown"
        text = f"row {row + 1}, column {name}: the ticker {what}.{more(lost)}"
        problems.append(Problem("unreadable", text, None, row + 1))
    return Texts(compact[codes], [texts[i] for i in used]), problems


def _unreadable_prices(column: Numbers, days: np.ndarray, named: Texts, name: str) -> list[Problem]:
    """The first cell of every ticker that is no number."""
    problems = []
    owners = named.codes[column.wrong]
    for code in dict.fromkeys(owners[owners >= 0].tolist()):
        ticker = named.texts[code]
        if ticker.startswith("^") and name.lower() in BARS:
            continue  # of an index only the closes are used
        rows = column.wrong[owners == code]
        problems.append(_unreadable(column, days, rows, ticker, f"{ticker} {name}"))
    return problems


def _unreadable(
    column: Numbers, days: np.ndarray, rows: np.ndarray, ticker: str, label: str
) -> Problem:
    row = int(rows[0])
    day = None if np.isnat(days[row]) else str(days[row])
    text = f"row {row + 1} ({day}), column {label}: {column.shown(row)} is no number.{more(rows)}"
    return Problem("unreadable", text, ticker, row + 1, day)
