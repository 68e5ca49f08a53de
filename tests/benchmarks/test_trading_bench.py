"""The trading benchmark runs and reports a rate."""

import pytest

from nearsym.benchmarks.trading import rows


@pytest.mark.longer
def test_rows_have_the_shape_of_rates():
    row = rows(threads=1, quick=True)[0]
    assert row["unit"] == "steps/s"
    assert row["target"] == 30_000
    assert row["ok"] == (row["value"] >= row["target"])
    assert row["value"] > 500
    assert "30 stocks, window 9, 8 indicators" in row["name"]


@pytest.mark.longer
def test_every_model_is_timed():
    names = [row["name"] for row in rows(threads=1, quick=True)]
    for label in ("none", "exact T", "approx T", "exact ST", "approx ST"):
        assert f"trading, SAC {label}" in names
        assert f"trading, 50,000 days, {label} / 15 minutes" in names
