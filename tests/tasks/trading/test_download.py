"""The download: a fake vendor, the cache, and what a failure leaves behind."""

import zlib

import numpy as np
import pandas as pd
import pytest
import yfinance

from nearsym.errors import UsageError
from nearsym.tasks.trading.download import default_cache, download, fetch_yahoo, verified
from nearsym.tasks.trading.prices import load_prices

DAYS = pd.bdate_range("2001-01-02", periods=5)


def vendor(tickers, start, end, *, scale=1.0):
    """What a vendor sends: unsorted tickers, bars, a late start of the last ticker."""
    parts = []
    for i, ticker in enumerate(reversed(tickers)):
        close = scale * (10.0 + i + np.arange(len(DAYS)) / 10)
        bars = {"open": close, "high": close + 1, "low": close - 1, "close": close}
        parts.append(pd.DataFrame({"date": DAYS, "ticker": ticker} | bars))
    return pd.concat(parts, ignore_index=True)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_download_can_be_loaded_and_is_named_by_its_hash(tmp_path):
    path = download(
        ["AAA", "BBB", "^IDX"], "2001-01-01", "2001-02-01", cache=tmp_path, fetch=vendor
    )
    table = load_prices(path)
    assert table.tickers == ("AAA", "BBB")
    assert table.index_name == "^IDX"
    assert table.sha256 == path.stem
    assert table.high is not None


def test_a_cached_request_is_not_fetched_again_unless_asked(tmp_path):
    calls = []

    def counted(*request):
        calls.append(request)
        return vendor(*request)

    request = (["AAA", "BBB"], "2001-01-01", "2001-02-01")
    first = download(*request, cache=tmp_path, fetch=counted)
    assert download(*request, cache=tmp_path, fetch=counted) == first
    assert len(calls) == 1
    download(*request, cache=tmp_path, fetch=counted, refresh=True)
    assert len(calls) == 2


def failing(*_):
    raise ConnectionError("Could not resolve host")


def empty(*request):
    return vendor(*request).iloc[:0]


def partial(tickers, start, end):
    return vendor(tickers[:1], start, end)


def garbled(*_):
    return zlib.decompress(b"no zip")


def shapeless(*_):
    return pd.DataFrame({"date": DAYS})


@pytest.mark.parametrize(
    ("fetch", "text"),
    [
        (failing, "The download failed: Could not resolve host"),
        (garbled, "The download failed: Error -3 while decompressing data"),
        (empty, "no prices for AAA, BBB"),
        (partial, "no prices for BBB"),
        (shapeless, "it has no column 'ticker'"),
    ],
)
def test_a_failure_leaves_the_cache_untouched_and_says_what_to_do(tmp_path, fetch, text):
    request = (["AAA", "BBB"], "2001-01-01", "2001-02-01")
    download(*request, cache=tmp_path, fetch=vendor)
    before = contents(tmp_path)
    with pytest.raises(UsageError, match=text) as caught:
        download(*request, cache=tmp_path, fetch=fetch, refresh=True)
    assert "is unchanged. Try again later, or give your own prices" in str(caught.value)
    assert contents(tmp_path) == before


def test_a_failure_on_a_fresh_machine_makes_no_cache(tmp_path):
    with pytest.raises(UsageError, match="The download failed"):
        download(["AAA"], cache=tmp_path / "cache", fetch=failing)
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        UsageError, match=r"cannot be kept in .*file: .* another folder with `cache`"
    ):
        download(["AAA"], cache=tmp_path / "file", fetch=vendor)


def test_new_prices_go_beside_the_old_ones(tmp_path):
    request = (["AAA"], "2001-01-01", "2001-02-01")
    old = download(*request, cache=tmp_path, fetch=vendor)
    new = download(*request, cache=tmp_path, fetch=lambda *r: vendor(*r, scale=2.0), refresh=True)
    assert old != new
    assert old.is_file()
    assert download(*request, cache=tmp_path, fetch=failing) == new


def test_a_table_that_was_tampered_with_is_refused(tmp_path):
    path = download(["AAA"], "2001-01-01", "2001-02-01", cache=tmp_path, fetch=vendor)
    frame = pd.read_parquet(path)
    frame.loc[2, "close"] *= 1.01
    frame.to_parquet(path, index=False)
    with pytest.raises(UsageError, match=r"hash is no longer their name.*`refresh=True`"):
        verified(path)
    with pytest.raises(UsageError, match="hash is no longer their name"):
        download(["AAA"], "2001-01-01", "2001-02-01", cache=tmp_path, fetch=vendor)


def test_yahoos_frame_becomes_long(monkeypatch, tmp_path):
    """yfinance answers with (price, ticker) columns and NaN before a ticker starts."""
    names = pd.MultiIndex.from_product([["Close", "High", "Low", "Open", "Volume"], ["A", "B"]])
    frame = pd.DataFrame(7.0, index=DAYS.rename("Date"), columns=names)
    frame.loc[DAYS[:2], (slice(None), "B")] = np.nan
    asked = {}

    def answer(tickers, **options):
        asked.update(options, tickers=tickers)
        return frame

    monkeypatch.setattr(yfinance, "download", answer)
    path = download(["A", "B"], "2001-01-01", "2001-02-01", cache=tmp_path)
    assert asked["auto_adjust"] is True
    assert asked["tickers"] == ["A", "B"]
    with pytest.raises(UsageError, match="column B: starts late, on 2001-01-04"):
        load_prices(path)
    assert load_prices(path, late="drop").tickers == ("A",)


def test_yahoos_silence_is_a_failure_with_its_reason(monkeypatch):
    monkeypatch.setattr(yfinance, "download", lambda *_, **__: pd.DataFrame())
    with pytest.raises(ConnectionError, match="nothing arrived"):
        fetch_yahoo(["A"], "2001-01-01", "2001-02-01")


def test_dates_of_a_request_are_checked(tmp_path):
    with pytest.raises(UsageError, match="start before end"):
        download(["A"], "2002-01-01", "2001-01-01", cache=tmp_path, fetch=vendor)


def test_the_cache_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("NEARSYM_CACHE", str(tmp_path))
    assert default_cache() == tmp_path
