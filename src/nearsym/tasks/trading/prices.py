"""Market data that has been checked: a complete, positive, dated table.

table = load_prices()                                # the embedded 20 stocks
table = load_prices("mine.parquet", late="drop")
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nearsym.errors import MissingExtraError, UsageError, unknown_name
from nearsym.tasks.trading.checks import find_problems
from nearsym.tasks.trading.files import BARS, Problem, RawPrices, read_prices, row_of

Late = Literal["refuse", "drop"]
Jumps = Literal["refuse", "accept"]

EMBEDDED = "embedded"
"""The name of the default data: the 20 US stocks that the skfolio wheel ships."""


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
            if not (np.isfinite(values).all() and (values > 0).all()):
                row, *column = np.argwhere(~(np.isfinite(values) & (values > 0)))[0]
                where = self.tickers[column[0]] if column else self.index_name
                raise UsageError(
                    f"A price table needs positive {name} prices, got {values[row, *column]} on "
                    f"{self.dates[row]}, column {where}."
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
    accepted by `jumps`. Every other problem is refused. Nothing is ever filled in.
    """
    for name, value, choices in (
        ("choice for late tickers", late, ("refuse", "drop")),
        ("choice for suspected splits", jumps, ("refuse", "accept")),
    ):
        if value not in choices:
            raise unknown_name(name, value, choices)
    raw = select(read_raw(data), tickers=tickers, start=start, end=end)
    if str(data) == EMBEDDED:
        jumps = "accept"  # one suspect, RRC on 1990-04-10, long before the paper's years
    kept, dropped, refused = judge(raw, late, jumps)
    if refused:
        more = (
            f" (and {len(refused) - 1} more; `nearsym data check` lists all)"
            if len(refused) > 1
            else ""
        )
        raise UsageError(f"{raw.source}: {refused[0].text}{more}")
    return _as_table(kept, dropped)


def judge(
    raw: RawPrices, late: Late, jumps: Jumps
) -> tuple[RawPrices, tuple[str, ...], list[Problem]]:
    """What the reader's two choices leave of a table, whom they drop, and what is wrong with it."""
    problems = find_problems(raw)
    dropped: tuple[str, ...] = ()
    if late == "drop":
        found = {problem.column for problem in problems if problem.kind == "late"}
        dropped = tuple(name for name in raw.tickers if name in found)
    if dropped == raw.tickers:
        raise UsageError(f"{raw.source} leaves no ticker to trade: all of them start late.")
    if dropped:
        raw = _without(raw, dropped)
        problems = find_problems(raw)
    accepted = "split" if jumps == "accept" else None
    return raw, dropped, [problem for problem in problems if problem.kind != accepted]


def _without(raw: RawPrices, dropped: tuple[str, ...]) -> RawPrices:
    """The table without some tickers, and without days that only they have."""
    columns = [i for i, name in enumerate(raw.tickers) if name not in dropped]
    days = np.flatnonzero(~np.isnan(raw.fields["close"][:, columns]).all(axis=1))
    return _cut(raw, days, columns, [p for p in raw.problems if p.column not in dropped])


def _cut(
    raw: RawPrices, days: np.ndarray | slice, columns: list[int], problems: list[Problem]
) -> RawPrices:
    """Some days and columns of a table, with the problems that remain."""
    return RawPrices(
        dates=raw.dates[days],
        tickers=tuple(raw.tickers[i] for i in columns),
        fields={name: values[days][:, columns] for name, values in raw.fields.items()},
        rows=raw.rows[days][:, columns],
        source=raw.source,
        problems=tuple(problems),
    )


def read_raw(data: str | Path | PriceTable) -> RawPrices:
    """Any source of prices, unjudged."""
    if isinstance(data, PriceTable):
        return _as_raw(data)
    return _as_raw(_embedded()) if str(data) == EMBEDDED else read_prices(data)


def select(
    raw: RawPrices, *, tickers: Sequence[str] | None, start: str | None, end: str | None
) -> RawPrices:
    """The wanted tickers (an index column stays) and days; rows keep their number in the file."""
    columns = list(range(len(raw.tickers)))
    if tickers is not None:
        missing = [name for name in tickers if name not in raw.tickers]
        if missing:
            raise unknown_name(f"ticker in {raw.source}", missing[0], raw.tickers)
        indices = [i for i in columns if raw.tickers[i].startswith("^")]
        wanted = [raw.tickers.index(name) for name in tickers]
        columns = list(dict.fromkeys(wanted + indices))
    first = 0 if start is None else row_of(raw.dates, start)
    last = len(raw.dates) if end is None else row_of(raw.dates, end)
    if last - first < 2:
        raise UsageError(
            f"{raw.source} has {max(last - first, 0)} days from {start or 'its start'} to "
            f"{end or 'its end'}: it covers {raw.dates[0]}…{raw.dates[-1]}."
        )
    days, names = slice(first, last), {raw.tickers[i] for i in columns}
    low, high = str(raw.dates[first]), str(raw.dates[last - 1])

    def inside(problem: Problem) -> bool:
        kept = problem.column is None or problem.column in names
        return kept and (problem.date is None or low <= problem.date <= high)

    return _cut(raw, days, columns, [problem for problem in raw.problems if inside(problem)])


def content_hash(raw: RawPrices) -> str:
    """SHA-256 over tickers, days and prices in one fixed byte layout; of an index the closes."""
    order = sorted(range(len(raw.tickers)), key=lambda i: raw.tickers[i].startswith("^"))
    names = [raw.tickers[i] for i in order]
    digest = hashlib.sha256("\n".join(names).encode())
    digest.update(raw.dates.astype("datetime64[D]").astype("<i8").tobytes())
    for field_name in sorted(raw.fields):
        digest.update(field_name.encode())
        for i in order:
            source = "close" if raw.tickers[i].startswith("^") else field_name
            digest.update(np.ascontiguousarray(raw.fields[source][:, i], dtype="<f8").tobytes())
    return digest.hexdigest()


def _as_table(raw: RawPrices, dropped: tuple[str, ...]) -> PriceTable:
    stocks = [i for i, name in enumerate(raw.tickers) if not name.startswith("^")]
    indices = [i for i, name in enumerate(raw.tickers) if name.startswith("^")]
    if len(indices) > 1:
        names = ", ".join(raw.tickers[i] for i in indices)
        raise UsageError(f"{raw.source} holds several indices ({names}). Leave all but one out.")
    if not stocks:
        raise UsageError(f"{raw.source} leaves no ticker to trade.")
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
