"""Daily prices from Yahoo Finance, kept in a local cache under the hash of their content.

A table in the cache is a Parquet file in long form named by its hash, and `index.json` says which
request gave it. Both are written aside and renamed, after the download has been judged: a failure
leaves the cache as it was.
"""

import json
import logging
import os
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nearsym.errors import MissingExtraError, UsageError
from nearsym.tasks.trading.columns import BARS
from nearsym.tasks.trading.days import import_pandas, iso_day
from nearsym.tasks.trading.files import read_prices
from nearsym.tasks.trading.judgement import content_hash

# fmt: off
DOW_30 = (
    "AAPL", "AMGN", "AMZN", "AXP", "BA", "CAT", "CRM", "CSCO", "CVX", "DIS", "DOW", "GS", "HD",
    "HON", "IBM", "INTC", "JNJ", "JPM", "KO", "MCD", "MMM", "MRK", "MSFT", "NKE", "PG", "TRV",
    "UNH", "V", "VZ", "WMT",
)
# fmt: on
"""The Dow Jones thirty of mid-2024. The paper does not say which list it used."""

Fetch = Callable[[Sequence[str], str, str], Any]
"""(tickers, start, end) → a long pandas frame: date, ticker, open, high, low, close."""


def default_cache() -> Path:
    """`$NEARSYM_CACHE`, or `nearsym` in the user's cache folder."""
    chosen = os.environ.get("NEARSYM_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nearsym"


def download(
    tickers: Sequence[str] = (*DOW_30, "^DJI"),
    start: str = "2000-01-01",
    end: str = "2024-07-01",
    *,
    cache: Path | None = None,
    refresh: bool = False,
    fetch: Fetch | None = None,
) -> Path:
    """Adjusted daily bars of some tickers from `start` to before `end`, as a file to load.

    A request that is in the cache is not fetched again unless `refresh` says so. Tickers that
    start late stay as they came, with gaps: dropping or refusing them is `load_prices`'s choice.
    """
    cache = default_cache() if cache is None else cache
    if iso_day(start) >= iso_day(end):
        raise UsageError(f"A download needs start before end, got {start} and {end}.")
    request = f"{','.join(tickers)} {start} {end}"
    with _said(cache):
        known = _index(cache).get(request)
    if known is not None and not refresh:
        path = cache / f"{known}.parquet"
        if path.is_file():
            return verified(path)
    frame = _fetched(fetch_yahoo if fetch is None else fetch, tickers, start, end, cache)
    with _said(cache):
        return _store(frame, request, cache)


@contextmanager
def _said(cache: Path) -> Iterator[None]:
    """Trouble with the cache's folder in words."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"The download cannot be kept in {cache}: {error.strerror or error}. Choose another "
            "folder with `cache` or $NEARSYM_CACHE."
        ) from error


def verified(path: Path) -> Path:
    """The path of a cached table, if it still holds what its name says."""
    if content_hash(read_prices(path)) != path.stem:
        raise UsageError(
            f"The cached prices {path} have changed since they were downloaded: their hash is no "
            "longer their name. Download them again with `refresh=True`."
        )
    return path


def fetch_yahoo(tickers: Sequence[str], start: str, end: str) -> Any:
    """Split- and dividend-adjusted bars by yfinance, in long form."""
    try:
        import yfinance
    except ImportError as error:
        raise MissingExtraError("The download of prices", "trading") from error
    with _quiet() as said:
        try:
            frame = yfinance.download(
                list(tickers), start=start, end=end, auto_adjust=True, progress=False, threads=False
            )
        except yfinance.exceptions.YFException as error:
            raise ConnectionError(str(error)) from error
    if frame is None or frame.empty:
        raise ConnectionError(said[-1] if said else "nothing arrived from Yahoo Finance")
    parts = []
    for ticker in dict.fromkeys(frame.columns.get_level_values(1)):
        part = frame.xs(ticker, axis=1, level=1).rename(columns=str.lower)
        parts.append(part.rename_axis("date").reset_index().assign(ticker=ticker))
    return import_pandas().concat(parts, ignore_index=True)


@contextmanager
def _quiet() -> Iterator[list[str]]:
    """Collects what yfinance would print, and lets its use of old pandas calls pass."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage().strip())  # type: ignore[method-assign]
    logger = logging.getLogger("yfinance")
    before = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [handler], False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield said
    finally:
        logger.handlers, logger.propagate = before


def _fetched(fetch: Fetch, tickers: Sequence[str], start: str, end: str, cache: Path) -> Any:
    """The frame of a download that is complete enough to keep."""
    advice = (
        f"The cache {cache} is unchanged. Try again later, or give your own prices as a file: "
        "nearsym data check FILE."
    )
    try:
        frame = fetch(tickers, start, end)
    except (OSError, RuntimeError, ValueError, LookupError, zlib.error) as error:
        if isinstance(error, UsageError):
            raise
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(f"The download failed: {reason[0].rstrip('.')}. {advice}") from error
    columns = ["date", "ticker", *BARS, "close"]
    lacking = [name for name in columns if name not in frame]
    if lacking:
        raise UsageError(f"The download failed: it has no column {lacking[0]!r}. {advice}")
    frame = frame[columns].dropna(subset="close")
    absent = sorted(set(tickers) - set(frame["ticker"]))
    if absent:
        raise UsageError(
            f"The download failed: no prices for {', '.join(absent)} from {start} to {end}. Are "
            f"the names those of Yahoo Finance? {advice}"
        )
    order = {ticker: place for place, ticker in enumerate(tickers)}
    frame = frame[frame["ticker"].isin(order)]
    days = import_pandas().DatetimeIndex(frame["date"]).tz_localize(None).normalize()
    frame = frame.assign(date=days, place=frame["ticker"].map(order))
    return frame.sort_values(["place", "date"]).drop(columns="place").reset_index(drop=True)


def _store(frame: Any, request: str, cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(suffix=".parquet", dir=cache)
    os.close(handle)
    try:
        frame.to_parquet(aside, index=False)
        sha256 = content_hash(read_prices(aside))
        path = cache / f"{sha256}.parquet"
        os.replace(aside, path)
    finally:
        Path(aside).unlink(missing_ok=True)
    index = _index(cache) | {request: sha256}
    handle, aside = tempfile.mkstemp(suffix=".json", dir=cache)
    with os.fdopen(handle, "w") as file:
        json.dump(index, file, indent=1)
    os.replace(aside, cache / "index.json")
    return path


def _index(cache: Path) -> dict[str, str]:
    path = cache / "index.json"
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text())
    except ValueError:
        return {}  # only a short cut: the tables themselves are safe under their hashes
    return found if isinstance(found, dict) else {}
