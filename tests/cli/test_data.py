"""`nearsym data`: the three actions, their JSON and their exit codes."""

import json

import pytest

from nearsym.cli.data import Data, exit_code, run, show
from nearsym.errors import UsageError
from nearsym.tasks.trading.resample import random_walk_prices

BAD = "Date,A,B\n2001-01-02,1,\n2001-01-03,-1,2\n2001-01-04,1,2\n"


@pytest.fixture
def bad_file(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(BAD)
    return str(path)


def test_show_describes_the_embedded_data(capsys):
    result = run(Data(action="show"))
    assert (result["start"], result["end"], result["rows"]) == ("1990-01-02", "2022-12-28", 8313)
    assert result["problems"] == []
    assert result["left_out"] == ["cci_30", "dx_30"]
    assert len(result["sha256"]) == 64
    assert json.loads(json.dumps(result)) == result
    show(result)
    printed = capsys.readouterr().out
    assert "left out    cci_30 dx_30 (they need high and low prices)" in printed
    assert "501 days, 2021-01-04 … 2022-12-28" in printed
    assert exit_code(result) == 0


def test_check_agrees_with_show_on_the_embedded_data():
    checked = run(Data(action="check"))
    assert checked["problems"] == []
    assert checked["sha256"] == run(Data(action="show"))["sha256"]
    assert exit_code(checked) == 0


def test_advice_names_the_flags_that_people_type(tmp_path, capsys):
    path = tmp_path / "jump.csv"
    path.write_text("date,A,B\n2001-01-02,1,2\n2001-01-03,9,2\n")
    show(run(Data(action="check", file=str(path))))
    (said,) = (line for line in capsys.readouterr().out.splitlines() if "factor of 9" in line)
    assert said.endswith(
        "from 1 to 9, by a factor of 9: probably an unadjusted split or a wrong cell. "
        "Use adjusted prices, or take it for a real move with --jumps accept."
    )


def test_check_lists_every_problem_and_exits_with_2(bad_file, capsys):
    result = run(Data(action="check", file=bad_file))
    assert {p["kind"] for p in result["problems"]} == {"late", "non-positive"}
    assert exit_code(result) == 2
    show(result)
    printed = capsys.readouterr().out
    assert "row 2 (2001-01-03), column A: the price is not positive, got -1" in printed
    dropped = run(Data(action="check", file=bad_file, late="drop"))
    assert {p["kind"] for p in dropped["problems"]} == {"non-positive"}


def test_data_outside_the_papers_years_can_be_looked_at(tmp_path, capsys):
    path = tmp_path / "late.csv"
    path.write_text("Date,A\n2031-01-02,1\n2031-01-03,2.1\n2031-01-04,3\n")
    result = run(Data(action="show", file=str(path)))
    assert result["split"]["train"] == {"start": None, "end": None, "rows": 0}
    show(result)
    assert "test        0 days: choose dates by --split" in capsys.readouterr().out
    with pytest.raises(
        UsageError, match="The validation part of the split 2051-01-01,2052-01-01 has"
    ):
        run(Data(action="show", file=str(path), split="2051-01-01,2052-01-01"))


def test_show_refuses_what_cannot_be_traded(bad_file):
    with pytest.raises(UsageError, match=r"bad.csv: .* \(and 1 more; .nearsym data check. lists"):
        run(Data(action="show", file=bad_file))


def test_download_goes_to_the_cache_and_reports_late_tickers(tmp_path, monkeypatch, capsys):
    import pandas as pd

    table = random_walk_prices(stocks=2, days=9, seed=0)
    asked = []

    def fetch(tickers, start, end):
        asked.append((tickers, start, end))
        parts = [
            pd.DataFrame(
                {"date": table.dates[i:], "ticker": ticker}
                | {k: getattr(table, k)[i:, i] for k in ("open", "high", "low", "close")}
            )
            for i, ticker in enumerate(tickers)
        ]
        return pd.concat(parts, ignore_index=True)

    monkeypatch.setattr("nearsym.tasks.trading.download.fetch_yahoo", fetch)
    options = Data(action="download", tickers="X, Y", start="2001-01-01", cache=str(tmp_path))
    result = run(options)
    assert asked == [(["X", "Y"], "2001-01-01", "2024-07-01")]
    assert result["tickers"] == ["X", "Y"]
    assert [p["kind"] for p in result["problems"]] == ["late"]
    assert exit_code(result) == 0
    show(result)
    assert result["path"] in capsys.readouterr().out
    with pytest.raises(UsageError, match="download takes --tickers, not a file"):
        run(Data(action="download", file="X"))


def test_jumps_that_look_like_share_splits(tmp_path, command):
    path = tmp_path / "jump.csv"
    path.write_text("Date,A\n2001-01-02,10\n2001-01-03,5\n2001-01-04,5.1\n")
    refused = command("data", "check", path, "--json")
    assert refused.code == 2
    assert [problem["kind"] for problem in refused.json["problems"]] == ["split"]
    accepted = command("data", "check", path, "--jumps", "accept", "--json")
    assert (accepted.code, accepted.json["problems"]) == (0, [])
    assert command("data", "show", path).code == 2
    assert command("data", "show", path, "--jumps", "accept").code == 0
    renamed = command("data", "check", path, "--splits", "accept")
    assert "Unknown option of data '--splits'. Did you mean '--split'?" in renamed.err


def test_the_advice_for_a_late_ticker_can_be_typed(tmp_path, command):
    days = [f"2001-{1 + i // 20:02}-{1 + i % 20:02}" for i in range(220)]
    rows = [f"{day},{'' if i < 3 else 10 + i % 3},{20 + i % 5}" for i, day in enumerate(days)]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["date,NEW,OLD", *rows]))
    train = ["train", "trading", "--data", path, "--split", "2001-05-01,2001-08-01"]
    train += ["--preset", "smoke", "--frames", 120, "--out", tmp_path / "run"]
    refused = command(*train)
    assert refused.code == 2
    assert "--start 2001-01-04 would keep it" in refused.err
    assert "--late drop" in refused.err
    assert command(*train, "--start", "2001-01-04", "--cost", 0, "--cash", 5000).code == 0
