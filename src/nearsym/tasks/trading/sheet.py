"""The cells of a price file: CSV (also gzipped) or Parquet, column by column.

Columns of text are read once for each different text, columns of prices straight into numbers, so
that ten million rows fit into little memory. Only a file with a cell that is no number is read
again as text, to say which.
"""

import csv
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nearsym.errors import MissingExtraError, UsageError, shown
from nearsym.tasks.trading.columns import INDEX_NAMES, Columns, plain
from nearsym.tasks.trading.days import Days, days_of_texts, import_pandas

SUFFIXES = (".csv", ".csv.gz", ".parquet")
_EMPTY = ["", "NA", "N/A", "NaN", "nan", "null", "None"]
_CORNERS_OF_YAHOO = ("price", "ticker", "attributes", "", "date")
_BARS_OF_YAHOO = ("close", "high", "low", "open", "volume", "adjclose")


class Texts(NamedTuple):
    """A column of text: row i says texts[codes[i]]."""

    codes: np.ndarray
    texts: list[str]


class Numbers(NamedTuple):
    """A column of numbers, NaN where a cell is empty or no number."""

    values: np.ndarray
    wrong: np.ndarray
    """Rows with something that is no number."""
    shown: Callable[[int], str]
    """What the cell of a row says."""


class Sheet:
    """One file, opened; `arrow` holds its columns."""

    def __init__(self, path: Path, columns: Columns, arrow: Any):
        self.path, self.columns, self._arrow = path, columns, arrow
        self.rows: int = arrow.num_rows

    def texts(self, name: str) -> Texts:
        """A column of tickers."""
        pa = _pyarrow()
        column = self._arrow.column(name)
        if not pa.types.is_dictionary(column.type):
            column = column.cast(pa.string()).dictionary_encode()
        column = column.combine_chunks()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        texts = [str(text) for text in column.dictionary.to_pylist()]
        return Texts(codes, [*texts, ""])  # the last is the empty cell, code −1

    def days(self, name: str) -> Days:
        pa = _pyarrow()
        column = self._arrow.column(name)
        if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
            return days_of_texts(*self.texts(name))
        pandas = import_pandas()
        clock = pandas.DatetimeIndex(column.to_pandas())  # wall clock of its zone
        values = np.asarray(clock.tz_localize(None), dtype="datetime64[D]")
        return Days(values, lambda row: shown(str(values[row])))

    def numbers(self, name: str) -> Numbers:
        """A column of prices."""
        pa = _pyarrow()
        column = self._arrow.column(name)
        if (
            pa.types.is_floating(column.type)
            or pa.types.is_integer(column.type)
            or pa.types.is_decimal(column.type)
        ):
            values = column.cast(pa.float64()).to_numpy().copy()
        else:
            return self._numbers_in_text(name, column)
        wrong = np.flatnonzero(np.isinf(values))
        values[wrong] = np.nan
        return Numbers(values, wrong, lambda row: str(column[row].as_py()))

    def _numbers_in_text(self, name: str, column: Any) -> Numbers:
        pa = _pyarrow()
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise UsageError(
                f"{self.path.name}: the column {name!r} holds {kind}, not prices. Leave it out."
            )
        text = column.to_pandas().astype(str).str.strip()
        empty = text.isin([*_EMPTY, "<NA>"]).to_numpy()
        values = import_pandas().to_numeric(text, errors="coerce").to_numpy(np.float64, copy=True)
        wrong = np.flatnonzero((np.isnan(values) & ~empty) | np.isinf(values))
        values[wrong] = np.nan
        return Numbers(values, wrong, lambda row: shown(text.iloc[row]))


def open_sheet(path: Path, recognise: Callable[[Sequence[str], str], Columns]) -> Sheet:
    """A price file, its columns recognised by their names."""
    import_pandas()
    if not path.is_file():
        raise UsageError(
            f"No price file {str(path)!r}. Give a CSV or Parquet file, or leave `data` out to use "
            "the embedded prices."
        )
    suffix = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]).lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path.name} is no price file: expected a name ending in .csv, .csv.gz or .parquet."
        )
    try:
        return (_parquet if suffix == ".parquet" else _csv)(path, recognise)
    except (ValueError, OSError, EOFError) as error:  # ArrowInvalid is a ValueError
        if isinstance(error, UsageError):
            raise
        reason = (str(error).strip().splitlines() or ["it is damaged"])[0]
        raise UsageError(f"{path.name} cannot be read as a price table: {reason}") from error


def _parquet(path: Path, recognise: Callable[[Sequence[str], str], Columns]) -> Sheet:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        names = [str(name) for name in file.schema_arrow.names]
        names.sort(key=lambda name: plain(name) not in INDEX_NAMES)  # an index is stored last
        columns = recognise(names, path.name)
        return _filled(Sheet(path, columns, file.read(_read_columns(columns), use_threads=False)))


def _csv(path: Path, recognise: Callable[[Sequence[str], str], Columns]) -> Sheet:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        top = [line for _, line in zip(range(3), lines, strict=False)]
    if not top or not any(top[0]):
        raise UsageError(f"{path.name} cannot be read as a price table: its first line is empty.")
    _refuse_stacked_header(top, path.name)
    columns = recognise(top[0], path.name)
    return _filled(Sheet(path, columns, _read_csv(path, top[0], columns)))


def _read_csv(path: Path, names: list[str], columns: Columns) -> Any:
    pa = _pyarrow()
    from pyarrow import csv as reader

    uneven: list[Any] = []

    def note(row: Any) -> str:
        uneven.append(row)
        return "error"

    text = pa.dictionary(pa.int32(), pa.string())
    texts = {name: text for name in (columns.date, columns.ticker) if name is not None}
    for price in (pa.float64(), text):  # a cell that is no number: all again, as text
        types = dict.fromkeys(columns.prices.values(), price) | texts
        try:
            return reader.read_csv(
                path,
                reader.ReadOptions(use_threads=False, column_names=names, skip_rows=1),
                reader.ParseOptions(invalid_row_handler=note),
                reader.ConvertOptions(
                    column_types=types, include_columns=list(types), null_values=_EMPTY
                ),
            )
        except pa.ArrowInvalid as error:
            if uneven:
                raise _uneven(path, uneven[0]) from error
            if price == text or "conversion error" not in str(error):
                raise
    raise AssertionError("text is always read")


def _uneven(path: Path, row: Any) -> UsageError:
    return UsageError(
        f"{path.name}: row {row.number - 1} has {row.actual_columns} cells, the header has "
        f"{row.expected_columns} columns. Is there a comma too many or too few, or one inside a "
        "number?"
    )


def _refuse_stacked_header(top: list[list[str]], source: str) -> None:
    """yfinance writes what it downloads with a line of prices above one of tickers."""
    kinds = [plain(name) for name in top[0]]
    second = top[1][1:] if len(top) > 1 else []
    is_text = bool(second) and all(cell and not _is_number(cell) for cell in second)
    is_yahoo = kinds[0] in _CORNERS_OF_YAHOO and all(k in _BARS_OF_YAHOO for k in kinds[1:])
    if is_text and is_yahoo:
        raise UsageError(
            f"{source} has a header of two rows, prices above tickers, as yfinance writes it. "
            "Save one row for each day and ticker, `frame.stack(level=1)`, or let "
            "`nearsym data download` fetch the prices."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_columns(columns: Columns) -> list[str]:
    names = [columns.date, *columns.prices.values()]
    return names if columns.ticker is None else [*names, columns.ticker]


def _filled(sheet: Sheet) -> Sheet:
    if not sheet.rows:
        raise UsageError(
            f"{sheet.path.name} has a header but no rows. Expected one row for each day."
        )
    return sheet


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("Market data", "trading") from error
    return pyarrow
