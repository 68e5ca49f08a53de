"""Mutated price files: each is refused with one sentence that names the place, or read rightly.

Whatever `nearsym data check` says, loading says too.
"""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsym.cli.data import Data, exit_code, run
from nearsym.errors import UsageError
from nearsym.tasks.trading.prices import judged_prices, load_prices

DAYS = [str(day) for day in np.busday_offset("2010-01-04", np.arange(12))]
WIDE = "date,AAA,BBB\n" + "".join(f"{d},{10 + i},{30 - i}\n" for i, d in enumerate(DAYS))
LONG = "date,tic,open,high,low,close,volume\n" + "".join(
    f"{d},{tic},{p},{p + 1},{p - 1},{p},100\n"
    for i, d in enumerate(DAYS)
    for tic, p in (("AAA", 10 + i), ("BBB", 30 - i))
)
SINGLE = "date,close\n" + "".join(f"{d},{10 + i}\n" for i, d in enumerate(DAYS))


def refused(act, *args):
    """The error that something meets, or None."""
    try:
        act(*args)
    except UsageError as error:
        return error
    return None


def loaded(folder, text, name="prices.csv"):
    """The table of a file, after a look at whether everybody judges it alike."""
    path = folder / name
    path.write_text(text)
    refusal = refused(load_prices, path)
    if refusal is not None:
        assert "\n" not in str(refusal)
        assert str(refusal).isprintable()
        checked = refused(lambda: run(Data(action="check", file=str(path)))["problems"][0])
        assert checked is None or str(checked) == str(refusal)
        assert str(refused(run, Data(action="show", file=str(path)))) == str(refusal)
        raise refusal
    table = load_prices(path)
    checked = run(Data(action="check", file=str(path)))
    assert exit_code(checked) == 0
    assert checked["sha256"] == table.sha256 == run(Data(action="show", file=str(path)))["sha256"]
    return table


def with_column(text, name, values, at=None):
    frame = pd.read_csv(io.StringIO(text), dtype=str)
    values = [values] * len(frame) if isinstance(values, str) else values
    frame.insert(len(frame.columns) if at is None else at, name, values)
    return frame.to_csv(index=False)


@pytest.mark.parametrize("text", [WIDE, LONG, SINGLE], ids=["wide", "long", "single"])
def test_the_files_that_are_mutated_are_good(tmp_path, text):
    table = loaded(tmp_path, text)
    assert table.close[0, 0] == 10
    assert len(table.dates) == 12


@pytest.mark.parametrize(
    "name", ["Adj Close", "AdjClose", "adjClose", "adjusted_close", "ADJ_CLOSE", "closeadj"]
)
def test_every_spelling_of_adjusted_closes_is_used(tmp_path, name):
    half = [str(float(p) / 2) for p in pd.read_csv(io.StringIO(LONG)).close]
    table = loaded(tmp_path, with_column(LONG, name, half))
    assert table.close[:2].tolist() == [[5, 15], [5.5, 14.5]]
    assert table.high[0].tolist() == [5.5, 15.5]
    single = loaded(tmp_path, with_column(SINGLE, name, half[::2]))
    assert single.close[:2, 0].tolist() == [5, 5.5]


def test_adjusted_closes_alone_are_closes(tmp_path):
    table = loaded(tmp_path, SINGLE.replace("close", "Adj Close"))
    assert table.close[0, 0] == 10


HEADERS = {
    "another ticker beside a close": (
        with_column(SINGLE, "MSFT", "7"),
        "has a close column and also 'MSFT': is it a ticker",
    ),
    "volume in a wide file": (with_column(WIDE, "volume", "9"), "'volume' is none"),
    "Volume in a wide file": (with_column(WIDE, "Volume", "9"), "'Volume' is none"),
    "low in a wide file": (with_column(WIDE, "low", "9"), "'low' is none"),
    "the same ticker with a space": (
        with_column(WIDE, " AAA", "9"),
        "has the ticker 'AAA' twice, as 'AAA' and ' AAA'",
    ),
    "two closes": (with_column(SINGLE, "Close", "9"), "two columns for the close"),
    "two adjusted closes": (
        with_column(with_column(SINGLE, "adj_close", "9"), "AdjClose", "9"),
        "two columns for the adjusted close, 'adj_close' and 'AdjClose'",
    ),
    "a pandas index": (
        with_column(WIDE, "", [str(i) for i in range(12)], 0),
        "looks like the index of a pandas table",
    ),
    "a pandas index with its name": (
        with_column(WIDE, "Unnamed: 0", [str(i) for i in range(12)], 0),
        "looks like the index of a pandas table",
    ),
    "an escape sequence": (WIDE.replace("BBB", "B\x1b[31mB"), "column 3 has a character that"),
    "no date": (WIDE.replace("date", "when"), "needs a column named date"),
    "semicolons": (WIDE.replace(",", ";"), "single column .*separated by commas"),
    "an empty file": ("", "its first line is empty"),
    "bars without closes": (LONG.replace("close", "last"), "has no close column"),
    "two rows of header, several tickers": (
        "Price,Close,Close\nTicker,AAA,BBB\nDate,,\n2010-01-04,1,2\n",
        "header of two rows, prices above tickers, as yfinance writes it",
    ),
    "two rows of header, one ticker": (
        "Price,Close,High,Low,Open,Volume\nTicker,A,A,A,A,A\nDate,,,,,\n2010-01-04,1,2,1,1,9\n",
        "as yfinance writes it",
    ),
    "two rows of header, older": (
        ",Adj Close,Adj Close,Close,Close\n,A,B,A,B\nDate,,,,\n2010-01-04,1,2,1,1\n",
        "as yfinance writes it",
    ),
    "a header alone": ("date,AAA\n", "has a header but no rows"),
    "only an index": (WIDE.replace("AAA,BBB", "^AAA,^BBB"), "several indices"),
    "one index and nothing else": (SINGLE.replace("close", "^DJI"), "an index cannot be traded"),
    "two indices": (
        with_column(with_column(WIDE, "^A", "5"), "^B", "5"),
        r"columns \^A, \^B: several indices",
    ),
}


@pytest.mark.parametrize(("text", "error"), HEADERS.values(), ids=list(HEADERS))
def test_headers_that_would_mislead_are_refused(tmp_path, text, error):
    with pytest.raises(UsageError, match=error):
        loaded(tmp_path, text)


def test_capital_names_of_bars_are_tickers_in_a_wide_file(tmp_path):
    assert loaded(tmp_path, WIDE.replace("AAA", "LOW")).tickers == ("LOW", "BBB")


def test_columns_beside_the_prices_of_a_long_file_are_shown_as_unused(tmp_path, capsys):
    path = tmp_path / "prices.csv"
    path.write_text(with_column(LONG, "macd", "0.1"))
    assert run(Data(action="check", file=str(path)))["unused"] == ["volume", "macd"]


CELLS = {
    "a day with a digit too many": (WIDE, 7, "2010-01-131", "row 8, date column: .* no ISO day"),
    "a day with garbage": (WIDE, 0, "2010-01-04garbage", "row 1, date column: .* no ISO day"),
    "a day that does not exist": (WIDE, 7, "2010-02-30", "row 8, date column: .* no ISO day"),
    "a month": (WIDE, 7, "2010-01", "row 8, date column: .* no ISO day"),
    "a day the other way round": (WIDE, 7, "13/01/2010", "row 8, date column: .* no ISO day"),
    "no day": (WIDE, 7, "", "row 8, date column: '' is no ISO day"),
}


@pytest.mark.parametrize(("text", "row", "day", "error"), CELLS.values(), ids=list(CELLS))
def test_days_are_whole_iso_days(tmp_path, text, row, day, error):
    with pytest.raises(UsageError, match=error):
        loaded(tmp_path, text.replace(DAYS[row], day))


def test_clock_times_and_zones_are_cut_off(tmp_path):
    for clock in (" 00:00:00", "T16:00:00Z", " 00:00:00-05:00", " 09:30", "T09:30:00.000+0100"):
        text = "".join(f"{line}\n".replace(",", f"{clock},", 1) for line in WIDE.splitlines())
        table = loaded(tmp_path, text.replace(f"date{clock}", "date"))
        assert [str(day) for day in table.dates] == DAYS


@pytest.mark.parametrize("factor", [2, 3, 4, 5, 7, 9, 12, 25, 100, 1000])
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_factors_overnight_are_suspected_and_can_be_accepted(tmp_path, factor, up):
    prices = [30 + i for i in range(12)]
    moved = [p * factor if (i >= 6) == up else p for i, p in enumerate(prices)]
    text = "date,AAA\n" + "".join(f"{d},{p}\n" for d, p in zip(DAYS, moved, strict=True))
    with pytest.raises(UsageError, match=r"row 7 \(2010-01-12\), column AAA: the price goes from"):
        loaded(tmp_path, text)
    assert load_prices(tmp_path / "prices.csv", jumps="accept").close[6, 0] == moved[6]


@pytest.mark.parametrize("factor", [1.6, 0.6, 10, 0.01, 1000])
def test_a_spike_that_reverts_is_one_problem(tmp_path, factor):
    text = WIDE.replace(",24\n", f",{24 * factor}\n")
    with pytest.raises(UsageError, match=r"row 7 .* column BBB: .* and back to 23: the cell looks"):
        loaded(tmp_path, text)
    assert len(judged_prices(tmp_path / "prices.csv").problems) == 1


def test_moves_that_prices_make_are_no_suspects(tmp_path):
    prices = [10, 14.5, 9.8, 6.6, 9.2, 13, 19.1, 12.9, 12.8, 12.9, 19, 13.6]
    text = "date,AAA\n" + "".join(f"{d},{p}\n" for d, p in zip(DAYS, prices, strict=True))
    assert loaded(tmp_path, text).close[:, 0].tolist() == prices


@pytest.mark.parametrize("price", ["1e300", "1e308", "1e-320", "1e13", "1e-7"])
def test_prices_beyond_what_accounts_can_hold_are_refused(tmp_path, price):
    with pytest.raises(UsageError, match=r"row 7 .*column AAA: no price from 1e-06 to 1e\+12, got"):
        loaded(tmp_path, WIDE.replace(",16,", f",{price},"))
    with pytest.raises(UsageError, match="column AAA"):
        loaded(tmp_path, "date,AAA\n" + "".join(f"{day},{price}\n" for day in DAYS))


@pytest.mark.parametrize("cell", ["abc", "1e400", "inf", "1 2", "$16", "0x10", "16-", "1_6", "--"])
def test_cells_that_are_no_numbers_are_refused(tmp_path, cell):
    with pytest.raises(UsageError, match=r"row 7 \(2010-01-12\), column AAA: .* is no number"):
        loaded(tmp_path, WIDE.replace(",16,", f",{cell},"))


@pytest.mark.parametrize("text", [WIDE, LONG, SINGLE], ids=["wide", "long", "single"])
@pytest.mark.parametrize("row", [1, 2, 7, 12])
def test_a_cell_too_many_or_too_few_is_named(tmp_path, text, row):
    lines = text.splitlines()
    count = lines[0].count(",") + 1
    more = [*lines[:row], lines[row] + ",5", *lines[row + 1 :]]
    with pytest.raises(
        UsageError, match=f"row {row} has {count + 1} cells, the header has {count}"
    ):
        loaded(tmp_path, "\n".join(more))
    fewer = [*lines[:row], lines[row].rpartition(",")[0], *lines[row + 1 :]]
    with pytest.raises(UsageError, match=f"row {row} has {count - 1} cells|no row|single|missing"):
        loaded(tmp_path, "\n".join(fewer))


def test_a_comma_inside_a_number_is_a_cell_too_many(tmp_path):
    with pytest.raises(
        UsageError, match=r"row 7 has 4 cells, the header has 3 columns\. Is there a"
    ):
        loaded(tmp_path, WIDE.replace(",16,", ",1,600,"))


@pytest.mark.parametrize(
    ("ticker", "error"),
    [
        ("", "row 3, column tic: the ticker is empty"),
        ("   ", "row 3, column tic: the ticker is empty"),
        ("A\x1b[2JA", r"row 3, column tic: the ticker 'A\\x1b\[2JA' cannot be shown"),
    ],
)
def test_tickers_that_are_no_names_are_refused(tmp_path, ticker, error):
    lines = LONG.splitlines()
    lines[3] = lines[3].replace("AAA", ticker)
    with pytest.raises(UsageError, match=error):
        loaded(tmp_path, "\n".join(lines))


def test_a_ticker_with_a_space_is_the_ticker(tmp_path):
    lines = LONG.splitlines()
    lines[3] = lines[3].replace("AAA", " AAA ")
    assert loaded(tmp_path, "\n".join(lines)).sha256 == loaded(tmp_path, LONG).sha256
    assert loaded(tmp_path, LONG.replace("BBB", "NA")).tickers == ("AAA", "NA")


def test_columns_of_dates_in_parquet_are_no_prices(tmp_path):
    frame = pd.read_csv(io.StringIO(WIDE), parse_dates=["date"])
    path = tmp_path / "prices.parquet"
    frame.assign(listed=frame["date"]).to_parquet(path)
    with pytest.raises(UsageError, match=r"the column 'listed' holds timestamp.*, not prices"):
        load_prices(path)
    frame.assign(traded=True).to_parquet(path)
    with pytest.raises(UsageError, match="the column 'traded' holds bool, not prices"):
        load_prices(path)
    frame.assign(AAA=frame.AAA.astype(str)).to_parquet(path)
    assert load_prices(path).sha256 == loaded(tmp_path, WIDE).sha256
    frame.set_index("date").rename_axis(None).to_parquet(path)
    assert load_prices(path).sha256 == loaded(tmp_path, WIDE).sha256
    frame.assign(date=frame.date.dt.tz_localize("America/New_York")).to_parquet(path)
    assert load_prices(path).sha256 == loaded(tmp_path, WIDE).sha256


@pytest.mark.parametrize(
    ("asked", "nearest"), [("aaa", "AAA"), ("Bbb ", "BBB"), ("AAB", "AAA"), ("bb", "BBB")]
)
def test_a_mistyped_ticker_gets_the_nearest_name(tmp_path, asked, nearest):
    path = tmp_path / "prices.csv"
    path.write_text(WIDE)
    with pytest.raises(UsageError, match=f"Did you mean '{nearest}'"):
        load_prices(path, tickers=[asked])


def test_the_advice_for_a_late_ticker_can_be_followed(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text(WIDE.replace(f"{DAYS[0]},10,", f"{DAYS[0]},,"))
    with pytest.raises(UsageError, match=f"`start='{DAYS[1]}'` would keep it"):
        load_prices(path)
    assert load_prices(path, start=DAYS[1]).tickers == ("AAA", "BBB")


# What a file says must never be lost: a mutated file is refused, or gives these very numbers.
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12)
_CELLS = st.one_of(_TEXTS, st.floats().map(repr), st.sampled_from(DAYS), st.just("nan"))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([WIDE, LONG, SINGLE]), st.integers(0, 12), st.integers(0, 6), _CELLS, st.data()
)
def test_any_changed_cell_is_refused_or_read_as_it_is(tmp_path_factory, text, row, at, cell, data):
    lines = [line.split(",") for line in text.splitlines()]
    column = at % len(lines[0])
    lines[row][column] = cell
    changed = "\n".join(",".join(line) for line in lines)
    folder = tmp_path_factory.mktemp("mutated", numbered=True)
    try:
        table = loaded(folder, changed)
    except UsageError:
        return
    if row == 0:
        assert set(table.tickers) <= {"AAA", "BBB", "PRICES", cell.strip(), lines[0][1].strip()}
        return
    before = load_prices(_written(folder, text))
    assert table.dates.tolist() == before.dates.tolist()
    different = np.argwhere(table.close != before.close) if table.open is None else []
    if len(different):
        assert table.close[tuple(different[0])] == float(cell)


def _written(folder, text):
    path = folder / "prices.csv"
    path.write_text(text)
    return path


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_with_a_sentence(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("bytes", numbered=True)
    for name in ("prices.csv", "prices.csv.gz", "prices.parquet"):
        path = folder / name
        path.write_bytes(content)
        with pytest.raises(UsageError) as caught:
            load_prices(path)
        assert str(caught.value).isprintable()
