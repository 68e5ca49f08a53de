"""The benchmark of updates, at its smallest."""

import pytest

from nearsym.benchmarks import update


@pytest.mark.slow
def test_the_rows_of_a_quick_run():
    rows = update.rows(threads=1, quick=True)
    names = [row["name"] for row in rows]
    for model in ("none", "exact", "approx", "rpp"):
        for group in ("D1", "D2"):
            assert f"update {model} {group} fp32 / published DrQ-v2" in names
    assert "approx D1 fp32 / exact" in names
    assert any("frames" in row.get("unit", "") for row in rows)
    for row in rows:
        assert row["target"] is None  # sizes as small as these prove nothing
        if "ratio" in row:
            assert row["ratio"] > 0
