"""Market data that has been checked: a complete, positive, dated table.

table = load_prices()                                # the embedded 20 stocks
table = load_prices("mine.parquet", late="drop")
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.errors import MissingExtraError, UsageError
from nearsym.tasks.trading.columns import BARS
from nearsym.tasks.trading.files import read_prices
from nearsym.tasks.trading.judgement import Judged, Jumps, Late, accepted, content_hash, judge
from nearsym.tasks.trading.problems import LARGEST, SMALLEST, RawPrices

EMBEDDED = "embedded"
"""The name of the default data: the 20 US stocks that the skfolio wheel ships."""


def is_file(data: str | Path) -> bool:
    """Whether a name of data is that of a file."""
    return str(data) != EMBEDDED and not str(data).startswith("planted:")


@dataclass(frozen=True, eq=False)
class PriceTable:
    """Daily prices, every cell positive, every day once and in order; all arrays are read-only."""

    dates: np.ndarray
    """(days,) datetime64[D], strictly increasing."""
    tickers: tuple[str, ...]
    """What can be traded; the order of the columns and of an action."""
    close: np.ndarray
    """(days, tickers) adjusted closes, float64."""
    open: np.ndarray | None = None
    """(days, tickers), or None in data of closes only; `high` and `low` likewise."""
    high: np.ndarray | None = None
    low: np.ndarray | None = None
    index: np.ndarray | None = None
    """(days,) closing level of the market index (a column named like ^DJI): never traded."""
    index_name: str = ""
    source: str = "memory"
    """Where the prices came from, for messages and records."""
    dropped: tuple[str, ...] = field(default=())
    """Tickers left out because they start late, by the reader's choice."""

    def __post_init__(self) -> None:
        days, stocks = len(self.dates), len(self.tickers)
        object.__setattr__(self, "dates", _frozen(self.dates, "datetime64[D]"))
        object.__setattr__(self, "tickers", tuple(self.tickers))
        for name, shape in {
            "close": (days, stocks),
            **dict.fromkeys(BARS, (days, stocks)),
            "index": (days,),
        }.items():
            values = getattr(self, name)
            if values is None:
                continue
            values = _frozen(values, np.float64)
            if values.shape != shape:
                raise UsageError(
                    f"A price table of {days} days and {stocks} tickers needs {name} of shape "
                    f"{shape}, got {values.shape}."
                )
            sane = (values >= SMALLEST) & (values <= LARGEST)  # false for NaN
            if not sane.all():
                row, *column = np.argwhere(~sane)[0]
                where = self.tickers[column[0]] if column else self.index_name
                raise UsageError(
                    f"A price table needs {name} prices from {SMALLEST:g} to {LARGEST:g}, got "
                    f"{values[row, *column]} on {self.dates[row]}, column {where}."
                )
            object.__setattr__(self, name, values)
        if len(set(self.tickers)) < stocks:
            raise UsageError(
                f"A price table needs each ticker once, got {', '.join(self.tickers)}."
            )
        if self.index is not None and not self.index_name.startswith("^"):
            raise UsageError(f"An index needs a name that starts with ^, got {self.index_name!r}.")
        if days < 2 or stocks < 1 or not (np.diff(self.dates) > np.timedelta64(0, "D")).all():
            raise UsageError(
                "A price table needs at least one ticker and two days in increasing order, each "
                f"once; got {days} days, {stocks} tickers."
            )

    @cached_property
    def sha256(self) -> str:
        """Hash of days, tickers and prices: the same numbers hash alike from any file format."""
        return content_hash(_as_raw(self))

    def rows(self, days: slice) -> "PriceTable":
        """The same table over some of its days."""
        names = ("dates", "close", *BARS, "index")
        values = {name: getattr(self, name) for name in names}
        cut: dict[str, Any] = {k: None if v is None else v[days] for k, v in values.items()}
        return replace(self, **cut)

    def bar(self, name: str) -> np.ndarray:
        """The opens, highs or lows of data that has them."""
        values = getattr(self, name)
        if values is None:
            raise UsageError(f"{self.source} has no {name} prices: give OHLC data.")
        return values

    def __repr__(self) -> str:
        return (
            f"PriceTable({len(self.tickers)} tickers, {len(self.dates)} days "
            f"{self.dates[0]}…{self.dates[-1]}, from {self.source})"
        )


def load_prices(
    data: str | Path | PriceTable = EMBEDDED,
    *,
    tickers: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    late: Late = "refuse",
    jumps: Jumps = "refuse",
) -> PriceTable:
    """A checked table from the embedded data, a file, or a table that exists already.

    `tickers`, `start` and `end` (exclusive) cut the table before it is judged. Tickers that start
    late are refused or dropped by `late`; jumps that look like unadjusted splits are refused or
    accepted by `jumps`, and so are other moves that prices hardly make. Every other problem is
    refused. Nothing is ever filled in.
    """
    raw = accepted(judged := judged_prices(data, tickers, start, end, late, jumps))
    return _as_table(raw, judged.dropped)


def judged_prices(
    data: str | Path | PriceTable,
    tickers: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    late: Late = "refuse",
    jumps: Jumps = "refuse",
) -> Judged:
    """What `load_prices` would load, with all that is wrong with it."""
    if str(data) == EMBEDDED and jumps == "refuse":
        jumps = "accept"  # one suspect, RRC on 1990-04-10, long before the paper's years
    chosen: dict[str, Any] = {"start": start, "end": end, "late": late, "jumps": jumps}
    return judge(read_raw(data), tickers=tickers, **chosen)


def read_raw(data: str | Path | PriceTable) -> RawPrices:
    """Any source of prices, unjudged."""
    from nearsym.tasks.trading.planted import is_planted, parse_planted  # it makes tables

    if isinstance(data, PriceTable):
        return _as_raw(data)
    if is_planted(data):
        return _as_raw(parse_planted(str(data)).table)
    return _as_raw(_embedded()) if str(data) == EMBEDDED else read_prices(data)


def _as_table(raw: RawPrices, dropped: tuple[str, ...]) -> PriceTable:
    stocks = [i for i, name in enumerate(raw.tickers) if not name.startswith("^")]
    indices = [i for i, name in enumerate(raw.tickers) if name.startswith("^")]
    fields = {name: values[:, stocks] for name, values in raw.fields.items()}
    return PriceTable(
        dates=raw.dates,
        tickers=tuple(raw.tickers[i] for i in stocks),
        index=raw.fields["close"][:, indices[0]] if indices else None,
        index_name=raw.tickers[indices[0]] if indices else "",
        source=raw.source,
        dropped=dropped,
        **fields,
    )


def _as_raw(table: PriceTable) -> RawPrices:
    fields = {name: getattr(table, name) for name in ("close", *BARS)}
    fields = {name: values for name, values in fields.items() if values is not None}
    names = table.tickers
    if table.index is not None:  # rides along as one more column, whatever bars the others have
        fields = {name: np.column_stack([v, table.index]) for name, v in fields.items()}
        names = (*names, table.index_name)
    rows = np.broadcast_to(np.arange(1, len(table.dates) + 1)[:, None], fields["close"].shape)
    return RawPrices(table.dates, names, fields, rows, table.source)


@lru_cache(maxsize=1)
def _embedded() -> PriceTable:
    try:
        from skfolio.datasets import load_sp500_dataset, load_sp500_index
    except ImportError as error:
        raise MissingExtraError("The embedded market data", "trading") from error
    prices = load_sp500_dataset()
    return PriceTable(
        dates=prices.index.to_numpy(),
        tickers=tuple(prices.columns),
        close=prices.to_numpy(),
        index=load_sp500_index().reindex(prices.index).to_numpy()[:, 0],
        index_name="^GSPC",
        source="embedded (skfolio, 20 US stocks)",
    )


def _frozen(values: np.ndarray, dtype: np.typing.DTypeLike) -> np.ndarray:
    values = np.array(values, dtype=dtype)
    values.flags.writeable = False
    return values
