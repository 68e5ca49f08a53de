"""What the columns of a price file are: recognised by name, refused where a name could mislead.

- wide: a date column and one column of closes for each ticker;
- long: date, ticker, close and, where they exist, open, high, low (one row a day and ticker);
- single: date, close and, where they exist, open, high, low (one ticker, named by the file).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nearsym.errors import UsageError, shown

BARS = ("open", "high", "low")
"""The prices of a day beside its close."""
ADJUSTED = "adjusted close"
INDEX_NAMES = ("", "index", "level0", "indexlevel0")
"""What an index without a name is called by those who write it to a file."""

_ROLES = {
    "date": ("date", "datetime", "timestamp", "day"),
    "ticker": ("tic", "ticker", "symbol"),
    "close": ("close",),
    **{name: (name,) for name in BARS},
    ADJUSTED: ("adjclose", "adjustedclose", "closeadj", "closeadjusted"),
}
_COMPANIONS = (
    *("volume", "adjvolume", "adjustedvolume", "adjopen", "adjhigh", "adjlow", "vwap"),
    *("dividend", "dividends", "divcash", "dividendamount", "stocksplits", "splitfactor"),
    *("splitcoefficient", "capitalgains", "change", "changepercent"),
)
"""Columns that vendors put beside the prices of a ticker; they are no prices of a ticker."""


@dataclass(frozen=True)
class Columns:
    """Which column is what."""

    date: str
    ticker: str | None
    """The column of tickers in a long file."""
    prices: dict[str, str]
    """Long and single: close, open, high, low, adjusted close, as far as they exist, and their
    columns. Wide: every ticker and its column."""
    wide: bool
    unused: tuple[str, ...]
    """Columns of a long or single file that are not read."""


def recognise(names: Sequence[str], source: str) -> Columns:
    """What the columns of a header are."""
    _refuse_names(names, source)
    found = _roles(names, source)
    date = found.pop("date", None) or _unnamed_days(names)
    if date is None:
        raise UsageError(
            f"{source} needs a column named date (ISO days such as 2001-01-02), got columns "
            f"{_some(names)}. Rename the column that holds the days."
        )
    rest = [name for name in names if name != date]
    _refuse_index(rest, source)
    if "ticker" not in found and "close" not in found and ADJUSTED not in found:
        return Columns(date, None, _tickers(rest, source), wide=True, unused=())
    ticker = found.pop("ticker", None)
    unused = tuple(name for name in rest if name != ticker and name not in found.values())
    if ticker is None:
        _refuse_strangers(unused, source)
    return Columns(date, ticker, _closes(found, names, source), wide=False, unused=unused)


def plain(name: str) -> str:
    """A name without case, spaces and punctuation: Adj Close, adjClose and adj_close are one."""
    text = re.sub(r"[^a-z0-9^]", "", name.lower())
    return "" if re.fullmatch(r"unnamed\d*", text) else text


def _refuse_names(names: Sequence[str], source: str) -> None:
    if len(names) == 1:
        raise UsageError(
            f"{source} has a single column {names[0]!r}. Expected a date column and prices, "
            "separated by commas."
        )
    for number, name in enumerate(names, 1):
        if not name.isprintable():
            raise UsageError(
                f"{source}: the name of column {number} has a character that cannot be shown, "
                f"{shown(name)}. Correct the header."
            )
        if names.index(name) + 1 < number:
            raise UsageError(f"{source} has the column {name!r} twice. Leave one of them out.")


def _roles(names: Sequence[str], source: str) -> dict[str, str]:
    """The column of each role that a name stands for."""
    found: dict[str, str] = {}
    for role, spellings in _ROLES.items():
        for spelling in spellings:  # `date` before `day`, which may be a day of the week
            these = [name for name in names if plain(name) == spelling]
            # With capitals, and no close beside them, OPEN and LOW are tickers.
            if len(these) > 1 or (these and role in found and role not in ("date", "ticker")):
                both = [*([found[role]] if role in found else []), *these]
                raise UsageError(
                    f"{source} has two columns for the {role}, {both[0]!r} and {both[1]!r}. "
                    "Leave one of them out."
                )
            if these and role not in found:
                found[role] = these[0]
    return found


def _unnamed_days(names: Sequence[str]) -> str | None:
    """An unnamed first column may hold the days: a table saved with its index."""
    return names[0] if plain(names[0]) in INDEX_NAMES else None


def _refuse_index(names: Sequence[str], source: str) -> None:
    for name in names:
        if plain(name) in INDEX_NAMES:
            what = "without a name" if not name.strip() else f"named {name!r}"
            raise UsageError(
                f"{source} has a column {what} beside the date: it looks like the index of a "
                "pandas table. Save the table with index=False, or leave the column out."
            )


def _tickers(names: Sequence[str], source: str) -> dict[str, str]:
    """The tickers of a wide file."""
    found: dict[str, str] = {}
    for name in names:
        ticker, kind = name.strip(), plain(name)
        if kind in _COMPANIONS or (kind in BARS and ticker != ticker.upper()):
            raise UsageError(
                f"{source} has no close column, so each column should be the closes of a ticker; "
                f"{name!r} is none. Leave it out, or name the column of closes close."
            )
        if ticker in found:
            raise UsageError(
                f"{source} has the ticker {ticker!r} twice, as {found[ticker]!r} and {name!r}. "
                "Leave one of them out."
            )
        found[ticker] = name
    return found


def _refuse_strangers(unused: Sequence[str], source: str) -> None:
    """A file of one ticker has nothing but its prices: anything else could be another ticker."""
    strange = [name for name in unused if plain(name) not in _COMPANIONS]
    if strange:
        raise UsageError(
            f"{source} has a close column and also {strange[0]!r}: is it a ticker? For several "
            "tickers, name every column by its ticker, or give a column tic and one row for "
            "each day and ticker; otherwise leave it out."
        )


def _closes(found: dict[str, str], names: Sequence[str], source: str) -> dict[str, str]:
    prices = {role: found[role] for role in ("close", *BARS, ADJUSTED) if role in found}
    if list(prices) == [ADJUSTED]:  # nothing else to adjust
        return {"close": prices[ADJUSTED]}
    if "close" not in prices:
        raise UsageError(f"{source} has no close column, got {_some(names)}. Add one.")
    return prices


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
