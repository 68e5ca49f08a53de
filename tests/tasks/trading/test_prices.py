"""Price tables: the embedded one, files in every shape, the checks at the door, the split."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from nearsym.errors import MissingExtraError, UsageError
from nearsym.tasks.trading import prices
from nearsym.tasks.trading.checks import find_problems
from nearsym.tasks.trading.files import read_prices
from nearsym.tasks.trading.judgement import content_hash
from nearsym.tasks.trading.prices import PriceTable, load_prices, read_raw
from nearsym.tasks.trading.resample import random_walk_prices
from nearsym.tasks.trading.split import PAPER_SPLIT, Split

WIDE = """Date,AAA,BBB
2001-01-02,10,20
2001-01-03,11,21
2001-01-04,12,22
"""


def write(folder, text, name="prices.csv"):
    path = folder / name
    path.write_text(text)
    return path


def long_frame(table):
    """A table as the long form that most vendors deliver."""
    parts = [
        pd.DataFrame(
            {"date": table.dates, "tic": ticker}
            | {name: getattr(table, name)[:, i] for name in ("open", "high", "low", "close")}
        )
        for i, ticker in enumerate(table.tickers)
    ]
    return pd.concat(parts, ignore_index=True)


def load_fresh():
    """The embedded data, without the copy that an earlier test left in the cache."""
    prices._embedded.cache_clear()
    load_prices()


def test_embedded_data_is_the_twenty_stocks_of_skfolio():
    table = load_prices()
    assert len(table.tickers) == 20
    assert (str(table.dates[0]), str(table.dates[-1])) == ("1990-01-02", "2022-12-28")
    assert len(table.dates) == 8313
    assert table.open is None
    assert table.index_name == "^GSPC"
    days = {part: PAPER_SPLIT.days(table, part) for part in ("train", "validation", "test")}
    assert [d.stop - d.start for d in days.values()] == [4527, 505, 501]
    assert table.sha256 == load_prices().sha256


def test_embedded_data_has_one_suspect_before_the_papers_years():
    problems = find_problems(read_raw("embedded"))
    assert [(p.kind, p.column, p.date) for p in problems] == [("split", "RRC", "1990-04-10")]


def test_arrays_are_read_only():
    table = load_prices()
    with pytest.raises(ValueError, match="read-only"):
        table.close[0, 0] = 1.0


def test_every_shape_and_format_gives_the_same_table_and_hash(tmp_path):
    table = random_walk_prices(stocks=3, days=40, seed=0)
    long = long_frame(table)
    by_day = long.sort_values(["date", "tic"], kind="stable")
    long.to_csv(tmp_path / "long.csv", index=False)
    by_day.to_csv(tmp_path / "by_day.csv.gz", index=False)
    long.to_parquet(tmp_path / "long.parquet", index=False)
    for name in ("long.csv", "by_day.csv.gz", "long.parquet"):
        loaded = load_prices(tmp_path / name)
        assert loaded.sha256 == table.sha256
        np.testing.assert_array_equal(loaded.high, table.high)

    closes = PriceTable(table.dates, table.tickers, table.close)
    wide = pd.DataFrame(table.close, index=pd.Index(table.dates, name="Date"), columns=[*"abc"])
    wide.columns = list(table.tickers)
    wide.to_csv(tmp_path / "wide.csv")
    wide.to_parquet(tmp_path / "wide.parquet")
    for name in ("wide.csv", "wide.parquet"):
        loaded = load_prices(tmp_path / name)
        assert loaded.sha256 == closes.sha256
        assert loaded.open is None
    assert closes.sha256 != table.sha256


def test_the_hash_moves_with_any_price_day_or_ticker():
    table = random_walk_prices(stocks=2, days=10, seed=0)
    close = table.close.copy()
    close[4, 1] *= 1 + 1e-15
    others = [
        PriceTable(table.dates, table.tickers, close, table.open, table.high, table.low),
        PriceTable(table.dates + 1, table.tickers, table.close, table.open, table.high, table.low),
        PriceTable(table.dates, ("S01", "S00"), table.close, table.open, table.high, table.low),
    ]
    assert len({table.sha256, *(other.sha256 for other in others)}) == 4


def test_a_file_of_one_ticker_is_named_by_the_file(tmp_path):
    path = write(tmp_path, "Date,Open,High,Low,Close\n2001-01-02,1,2,1,2\n2001-01-03,2,3,2,3\n")
    table = load_prices(path)
    assert table.tickers == ("PRICES",)
    assert table.open[:, 0].tolist() == [1, 2]


def test_adjusted_closes_carry_the_bars_with_them(tmp_path):
    text = "date,tic,open,high,low,close,adj close\n"
    text += "2001-01-02,A,10,12,9,11,5.5\n2001-01-03,A,10,12,9,10,5\n"
    table = load_prices(write(tmp_path, text))
    assert table.close[:, 0].tolist() == [5.5, 5]
    assert table.high[:, 0].tolist() == [6, 6]


def test_a_column_with_a_caret_is_the_index_and_not_traded(tmp_path):
    text = WIDE.replace("Date,", "Date,^IDX,").replace("2001-01-02,", "2001-01-02,100,")
    text = text.replace("2001-01-03,", "2001-01-03,101,").replace("2001-01-04,", "2001-01-04,99,")
    table = load_prices(write(tmp_path, text))
    assert table.tickers == ("AAA", "BBB")
    assert table.index.tolist() == [100, 101, 99]
    assert load_prices(table, tickers=["BBB"]).index_name == "^IDX"
    assert content_hash(read_prices(tmp_path / "prices.csv")) == table.sha256


def test_times_and_zones_after_the_day_are_cut_off(tmp_path):
    text = WIDE.replace("2001-01-02", "2001-01-02 00:00:00-05:00")
    assert str(load_prices(write(tmp_path, text)).dates[0]) == "2001-01-02"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "2001-01-04,12",
            "2000-12-29,12",
            r"row 3, date column: 2000-12-29 comes after 2001-01-03",
        ),
        ("2001-01-04,12", "2001-01-03,12", r"row 3, date column: 2001-01-03 appears twice"),
        ("2001-01-04,12", "soon,12", r"row 3, date column: 'soon' is no ISO day"),
        ("12,22", "12,", r"row 3 \(2001-01-04\), column BBB: the price is missing"),
        ("12,22", "12,NaN", r"row 3 \(2001-01-04\), column BBB: the price is missing"),
        ("12,22", "0,22", r"row 3 \(2001-01-04\), column AAA: the price is not positive, got 0"),
        ("12,22", "12,-22", r"row 3 .* column BBB: the price is not positive, got -22"),
        ("12,22", "12,x", r"row 3 \(2001-01-04\), column BBB: 'x' is no number"),
        ("12,22", "12,inf", r"row 3 \(2001-01-04\), column BBB: .*inf.* is no number"),
        ("10,20", ",20", r"column AAA: starts late, on 2001-01-03; the table starts on 2001-01-02"),
        ("12,22", "5.5,22", r"row 3 .* column AAA: .* from 11 to 5.5, .* unadjusted 2:1 split"),
        ("12,22", "12,420", r"row 3 .* column BBB: .* from 21 to 420, by a factor of 20"),
    ],
)
def test_each_problem_names_its_row_and_column(tmp_path, old, new, text):
    with pytest.raises(UsageError, match=text):
        load_prices(write(tmp_path, WIDE.replace(old, new)))


def test_late_tickers_are_dropped_only_by_choice_and_never_filled(tmp_path):
    path = write(tmp_path, WIDE.replace("10,20", ",20"))
    with pytest.raises(UsageError, match=r"with `late='drop'`"):
        load_prices(path)
    table = load_prices(path, late="drop")
    assert table.tickers == ("BBB",)
    assert table.dropped == ("AAA",)
    assert load_prices(path, start="2001-01-03").tickers == ("AAA", "BBB")
    twice = write(tmp_path, WIDE.replace("10,20", ",20").replace("12,22", "-1,22"))
    assert load_prices(twice, late="drop").tickers == ("BBB",), "what is dropped need not be right"
    rows = ["Date,A,B", "2001-01-02,1,", "2001-01-03,,2", "2001-01-04,3.1,3", "2001-01-05,4,3"]
    wide = write(tmp_path, "\n".join(rows))
    assert len(load_prices(wide, late="drop").dates) == 3, "a day that only the dropped one has"
    rows = ["date,tic,close", "2001-01-02,A,10", "2001-01-03,A,11", "2001-01-03,B,5"]
    longer = write(tmp_path, "\n".join([*rows, "2001-01-05,B,6", "2001-01-06,A,12"]))
    table = load_prices(longer, late="drop")
    assert [str(day) for day in table.dates] == ["2001-01-02", "2001-01-03", "2001-01-06"]


def test_an_index_needs_closes_only(tmp_path):
    rows = ["date,tic,open,high,low,close", "2001-01-02,A,99,101,98,100", "2001-01-02,^I,0,,9,50"]
    rows += ["2001-01-03,A,99,101,98,100", "2001-01-03,^I,-1,-,9,51"]
    assert list(load_prices(write(tmp_path, "\n".join(rows))).index) == [50, 51]


def test_a_suspected_split_can_be_accepted_as_a_real_move(tmp_path):
    path = write(tmp_path, WIDE.replace("12,22", "5.5,22"))
    assert load_prices(path, jumps="accept").close[2, 0] == 5.5


def test_with_opens_a_split_is_seen_overnight(tmp_path):
    rows = ["date,tic,open,high,low,close", "2001-01-02,A,99,101,98,100"]
    rows += ["2001-01-03,A,50,62,49,61", "2001-01-04,A,61,62,60,61"]
    with pytest.raises(UsageError, match="from 100 to 50, which looks like an unadjusted 2:1"):
        load_prices(write(tmp_path, "\n".join(rows)))


def test_long_files_name_the_row_of_the_file(tmp_path):
    rows = ["date,tic,open,high,low,close", "2001-01-02,A,1,1,1,1", "2001-01-02,B,1,1,1,1"]
    rows += ["2001-01-03,A,1,1,1,1", "2001-01-03,B,1,1,0,1"]
    with pytest.raises(UsageError, match=r"row 4 \(2001-01-03\), column B low: .* not positive"):
        load_prices(write(tmp_path, "\n".join(rows)))
    with pytest.raises(UsageError, match=r"no row for 2001-01-03, column B close: .* missing"):
        load_prices(write(tmp_path, "\n".join(rows[:-1])))
    twice = [*rows[:3], rows[1], rows[3]]
    with pytest.raises(UsageError, match="row 3, date column of A: 2001-01-02 appears twice"):
        load_prices(write(tmp_path, "\n".join(twice)))
    outside = [*rows[:-1], "2001-01-03,B,1,1,1,5"]
    with pytest.raises(UsageError, match="column B: open or close lie outside the day's low"):
        load_prices(write(tmp_path, "\n".join(outside)))


def test_all_problems_are_found_at_once(tmp_path):
    text = WIDE.replace("10,20", ",20").replace("11,21", "11,-1").replace("12,22", "x,22")
    problems = find_problems(read_prices(write(tmp_path, text)))
    assert {problem.kind for problem in problems} == {
        "late",
        "non-positive",
        "unreadable",
        "missing",
    }


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("prices.csv", "a,b\n1,2\n", "needs a column named date"),
        ("prices.csv", "Date,A,A\n2001-01-02,1,2\n", "has the column 'A' twice"),
        ("prices.csv", "Date;A\n2001-01-02;1\n", "single column 'Date;A'.*separated by commas"),
        ("prices.csv", "Date,A\n", "has a header but no rows"),
        ("prices.csv", "", "cannot be read as a price table"),
        ("prices.csv", "date,tic,open\n2001-01-02,A,1\n", "has no close column"),
        ("prices.csv", "Date,A\nx,1\n", "has no readable day"),
        ("prices.txt", WIDE, "ending in .csv, .csv.gz or .parquet"),
        ("prices.csv.gz", WIDE, "cannot be read"),
        ("prices.parquet", WIDE, "cannot be read"),
    ],
)
def test_a_file_that_is_no_price_table_is_refused(tmp_path, name, text, error):
    with pytest.raises(UsageError, match=error):
        load_prices(write(tmp_path, text, name))


def test_a_file_with_the_newest_day_first_has_one_problem_not_thousands(tmp_path):
    table = random_walk_prices(stocks=2, days=500, seed=0)
    long_frame(table).iloc[::-1].to_csv(tmp_path / "new_first.csv", index=False)
    problems = find_problems(read_prices(tmp_path / "new_first.csv"))
    assert [(p.kind, p.column, p.row) for p in problems] == [
        ("order", "S01", 2),
        ("order", "S00", 502),
    ]
    assert problems[0].text.endswith("Sort by date. (498 more such rows.)")


@pytest.mark.parametrize(
    ("module", "act"),
    [("pandas", lambda: read_prices("any.csv")), ("skfolio.datasets", load_fresh)],
)
def test_a_missing_extra_names_the_install_command(monkeypatch, module, act):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r'pip install "nearsym\[trading\]"'):
        act()


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(UsageError, match=r"No price file .*leave `data` out"):
        load_prices(tmp_path / "none.csv")


def test_a_broken_gzip_is_refused(tmp_path):
    path = tmp_path / "prices.csv.gz"
    path.write_bytes(gzip.compress(WIDE.encode())[:40])
    with pytest.raises(UsageError, match="cannot be read"):
        load_prices(path)


def test_unknown_names_get_the_nearest(tmp_path):
    with pytest.raises(UsageError, match="Did you mean 'AAPL'"):
        load_prices(tickers=["APPL"])
    with pytest.raises(UsageError, match="Unknown choice for late tickers 'fill'"):
        load_prices(late="fill")


def test_a_table_made_by_hand_is_checked_too():
    dates = np.array(["2001-01-02", "2001-01-03"], dtype="datetime64[D]")
    good = np.ones((2, 1))
    with pytest.raises(UsageError, match="needs close of shape"):
        PriceTable(dates, ("A", "B"), good)
    with pytest.raises(UsageError, match="got nan on 2001-01-03, column A"):
        PriceTable(dates, ("A",), np.array([[1.0], [np.nan]]))
    with pytest.raises(UsageError, match="in increasing order"):
        PriceTable(dates[::-1], ("A",), good)
    with pytest.raises(UsageError, match="needs each ticker once, got A, A"):
        PriceTable(dates, ("A", "A"), np.ones((2, 2)))
    with pytest.raises(UsageError, match=r"starts with \^"):
        PriceTable(dates, ("A",), good, index=np.ones(2), index_name="DJI")


def test_split_borders_open_the_later_part():
    table = random_walk_prices(stocks=1, days=100, seed=0)
    split = Split.parse("2001-01-08, 2001-02-01, 2001-03-01, 2001-04-02")
    parts = [table.dates[split.days(table, part)] for part in ("train", "validation", "test")]
    assert [str(days[0]) for days in parts] == ["2001-01-08", "2001-02-01", "2001-03-01"]
    assert [str(days[-1]) for days in parts] == ["2001-01-31", "2001-02-28", "2001-03-30"]
    open_ended = Split.parse("2001-02-01,2001-03-01")
    assert open_ended.days(table, "train").start == 0
    assert open_ended.days(table, "test").stop == 100


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2001-01-01", "four dates START,VALIDATION,TEST,END or two"),
        ("2002-01-01,2001-01-01", "must increase"),
        ("2001-13-01,2002-01-01", "Expected an ISO day .* got '2001-13-01'"),
        ("2001,2002", "Expected an ISO day"),
    ],
)
def test_bad_splits_say_what_to_do(text, error):
    with pytest.raises(UsageError, match=error):
        Split.parse(text)
