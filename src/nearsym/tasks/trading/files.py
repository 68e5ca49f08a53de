"""Reading price files: CSV (also gzipped) or Parquet, in one of three shapes, into plain arrays.

- wide: a date column and one column of closes for each ticker;
- long: date, ticker, close and, where they exist, open, high, low (one row a day and ticker);
- single: date, close and, where they exist, open, high, low (one ticker, named by the file).

Nothing is repaired here: what cannot be read is listed as a problem with its row and column.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.errors import MissingExtraError, UsageError

BARS = ("open", "high", "low")
"""The prices of a day beside its close."""

_DATE_NAMES = ("date", "datetime", "timestamp", "day", "")
_TICKER_NAMES = ("tic", "ticker", "symbol")
_EMPTY_CELLS = ["", "NA", "N/A", "NaN", "nan", "null", "None"]


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a price file, and where."""

    kind: str
    """unreadable, order, duplicate, missing, late, non-positive, bars or split."""
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


def read_prices(path: str | Path) -> RawPrices:
    """The prices of a file, unjudged; only a file that is no price table at all raises."""
    path = Path(path)
    frame = _read_frame(path)
    columns = {_plain(name): name for name in frame.columns}
    date_name = next((columns[name] for name in _DATE_NAMES if name in columns), None)
    if date_name is None:
        raise UsageError(
            f"{path.name} needs a column named date (ISO days such as 2001-01-02), got columns "
            f"{_some(frame.columns)}. Rename the column that holds the days."
        )
    if frame.empty:
        raise UsageError(f"{path.name} has a header but no rows. Expected one row for each day.")
    ticker_name = next((columns[name] for name in _TICKER_NAMES if name in columns), None)
    if ticker_name is not None or "close" in columns:
        names = {key: columns[key] for key in ("close", *BARS, "adj close") if key in columns}
        if "close" not in names:
            raise UsageError(
                f"{path.name} is in long form (column {ticker_name!r}) but has no close column, "
                f"got {_some(frame.columns)}. Add one."
            )
        tickers = _single_name(path) if ticker_name is None else frame[ticker_name].astype(str)
        return _from_long(frame, date_name, tickers, names, path.name)
    return _from_wide(frame, date_name, path.name)


def _read_frame(path: Path) -> Any:
    pd = import_pandas()
    if not path.is_file():
        raise UsageError(
            f"No price file {str(path)!r}. Give a CSV or Parquet file, or leave `data` out to use "
            "the embedded prices."
        )
    suffix = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]).lower()
    if suffix not in (".csv", ".csv.gz", ".parquet"):
        raise UsageError(
            f"{path.name} is no price file: expected a name ending in .csv, .csv.gz or .parquet."
        )
    try:
        if suffix == ".parquet":
            frame = pd.read_parquet(path)
            return frame.reset_index() if frame.index.name is not None else frame
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
        names = [str(name) for name in header.iloc[0]]
        _refuse_header(names, path.name)
        empty = {name: _EMPTY_CELLS for name in names if _plain(name) not in _TICKER_NAMES}
        text = {name: str for name in names if _plain(name) in (*_DATE_NAMES, *_TICKER_NAMES)}
        return pd.read_csv(
            path, header=0, names=names, dtype=text, keep_default_na=False, na_values=empty
        )
    except (ValueError, OSError, EOFError) as error:  # parser errors of pandas are ValueErrors
        if isinstance(error, UsageError):
            raise
        reason = str(error).strip().splitlines()[0]
        raise UsageError(f"{path.name} cannot be read as a price table: {reason}") from error


def _refuse_header(names: list[str], source: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{source} has the column {twice[0]!r} twice. Leave one of them out.")
    if len(names) == 1:
        raise UsageError(
            f"{source} has a single column {names[0]!r}. Expected a date column and prices, "
            "separated by commas."
        )


def _from_wide(frame: Any, date_name: str, source: str) -> RawPrices:
    order, dates, problems = _sorted_days(frame[date_name], source)
    names = [name for name in frame.columns if name != date_name]
    close, unreadable = _numbers(frame, names, date_name)
    rows = np.broadcast_to((order + 1)[:, None], (len(order), len(names)))
    return RawPrices(
        dates=dates,
        tickers=tuple(str(name).strip() for name in names),
        fields={"close": close[order]},
        rows=rows,
        source=source,
        problems=(*problems, *unreadable),
    )


def _from_long(
    frame: Any, date_name: str, tickers: Any, names: dict[str, str], source: str
) -> RawPrices:
    pd = import_pandas()
    tickers = pd.Series(tickers, index=frame.index).str.strip()
    values, unreadable = _numbers(frame, list(names.values()), date_name, tickers)
    prices = dict(zip(names, values.T, strict=True))
    if "adj close" in prices:  # bars follow their close into adjusted prices
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = prices.pop("adj close") / prices["close"]
        prices = {key: value * factor for key, value in prices.items()}

    problems: list[Problem] = []
    kept, days = [], np.full(len(frame), np.datetime64("NaT"), dtype="datetime64[D]")
    for ticker, rows in tickers.groupby(tickers, sort=False).indices.items():
        order, dates, found = _sorted_days(frame[date_name].iloc[rows], source, rows, str(ticker))
        problems += found
        kept.append(rows[order])
        days[rows[order]] = dates
    all_rows = np.concatenate(kept)
    dates, day_index = np.unique(days[all_rows], return_inverse=True)
    ticker_codes, ticker_names = pd.factorize(tickers)
    shape = (len(dates), len(ticker_names))
    cells = (day_index, ticker_codes[all_rows])
    rows = np.zeros(shape, dtype=np.int64)
    rows[cells] = all_rows + 1
    fields = {key: np.full(shape, np.nan) for key in prices}
    for key, value in prices.items():
        fields[key][cells] = value[all_rows]
    return RawPrices(
        dates=dates,
        tickers=tuple(str(name) for name in ticker_names),
        fields=fields,
        rows=rows,
        source=source,
        problems=(*problems, *unreadable),
    )


def _sorted_days(
    column: Any, source: str, rows: np.ndarray | None = None, ticker: str | None = None
) -> tuple[np.ndarray, np.ndarray, list[Problem]]:
    """Positions of the readable days in increasing order, each day once, and what was wrong."""
    pd = import_pandas()
    rows = np.arange(len(column)) if rows is None else rows
    if pd.api.types.is_datetime64_any_dtype(column):
        parsed = pd.DatetimeIndex(column).tz_localize(None)
    else:  # only the day counts: a clock time or a zone after it is cut off
        parsed = pd.to_datetime(
            column.astype(str).str.strip().str[:10], format="ISO8601", errors="coerce"
        )
    days = np.asarray(parsed, dtype="datetime64[D]")
    readable = np.flatnonzero(~np.isnat(days))
    problems = []
    where = "" if ticker is None else f" of {ticker}"

    def note(kind: str, positions: np.ndarray, text: Callable[[int], str]) -> None:
        """The first of some rows with the same fault, and how many more there are."""
        if not len(positions):
            return
        at = int(positions[0])
        row = int(rows[at]) + 1
        day = None if np.isnat(days[at]) else str(days[at])
        message = f"row {row}, date column{where}: {text(at)}{_more(positions)}"
        problems.append(Problem(kind, message, ticker, row, day))

    strange = np.flatnonzero(np.isnat(days))
    note("unreadable", strange, lambda at: f"{column.iloc[at]!r} is no ISO day like 2001-01-02.")
    before = dict(zip(readable[1:], readable[:-1], strict=True))
    falling = readable[1:][days[readable[1:]] < days[readable[:-1]]]
    note("order", falling, lambda at: f"{days[at]} comes after {days[before[at]]}. Sort by date.")
    order = readable[np.argsort(days[readable], kind="stable")]
    repeated = np.flatnonzero(days[order][1:] == days[order][:-1]) + 1
    note("duplicate", order[repeated], lambda at: f"{days[at]} appears twice. Keep one row a day.")
    order = np.delete(order, repeated)
    if not len(order):
        raise UsageError(f"{source} has no readable day{where}. Expected ISO days: 2001-01-02.")
    return order, days[order], problems


def _numbers(
    frame: Any, names: list[str], date_name: str, tickers: Any = None
) -> tuple[np.ndarray, list[Problem]]:
    """(rows, names) float64, NaN where a cell is empty or no number, and the latter as problems."""
    pd = import_pandas()
    problems = []
    columns = []
    for name in names:
        column = frame[name]
        number = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, copy=True)
        wrong = (np.isnan(number) & column.notna().to_numpy()) | np.isinf(number)
        owners = np.full(len(frame), str(name)) if tickers is None else tickers.to_numpy(str)
        for ticker in dict.fromkeys(owners[wrong]):
            if ticker.startswith("^") and str(name).lower() in BARS:
                continue  # of an index only the closes are used
            places = np.flatnonzero(wrong & (owners == ticker))
            row = int(places[0])
            label = ticker if tickers is None else f"{ticker} {name}"
            day = str(frame[date_name].iloc[row])[:10]
            arrived = column.iloc[row]
            text = f"row {row + 1} ({day}), column {label}: {arrived!r} is no number."
            problems.append(Problem("unreadable", text + _more(places), str(ticker), row + 1, day))
        number[wrong] = np.nan
        columns.append(number)
    return np.stack(columns, axis=1), problems


def iso_day(text: str) -> np.datetime64:
    """A day from its ISO text.

    >>> str(iso_day("2001-01-02"))
    '2001-01-02'
    """
    try:
        day = np.datetime64(text, "D")
    except ValueError as error:
        raise UsageError(f"Expected an ISO day such as 2001-01-02, got {text!r}.") from error
    if len(text) != 10:  # numpy would read 2001 as its first of January
        raise UsageError(f"Expected an ISO day such as 2001-01-02, got {text!r}.")
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


def _more(places: np.ndarray) -> str:
    return f" ({len(places) - 1} more such rows.)" if len(places) > 1 else ""


def _plain(name: object) -> str:
    text = str(name).strip().lower().replace("_", " ")
    return "" if text.startswith("unnamed:") or text == "index" else text


def _single_name(path: Path) -> str:
    return path.name.split(".")[0].upper()


def _some(names: Any) -> str:
    shown = [str(name) for name in names]
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "")
