"""The trading benchmark runs and reports a rate."""

from nearsym.benchmarks.trading import rows


def test_rows_have_the_shape_of_rates():
    row = rows(threads=1, quick=True)[0]
    assert row["unit"] == "steps/s"
    assert row["target"] == 10_000
    assert row["ok"] == (row["value"] >= row["target"])
    assert row["value"] > 500
    assert "30 stocks, window 9, 8 indicators" in row["name"]
