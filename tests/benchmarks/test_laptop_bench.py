"""The benchmark of the preset laptop, at its smallest."""

import pytest

from nearsym.benchmarks import laptop
from nearsym.benchmarks.timing import most_row


def test_amounts_are_judged_from_above():
    assert most_row("memory", 5.0, "MB", 6.0)["ok"]
    assert not most_row("memory", 7.0, "MB", 6.0)["ok"]
    assert most_row("memory", 7.0, "MB", None)["ok"]


@pytest.mark.slow
def test_the_rows_of_a_quick_run():
    *times, memory = laptop.rows(threads=1, quick=True)
    assert [row["name"].split(",")[0] for row in times] == [
        name
        for model in ("none", "approx")
        for name in (
            f"DrQ-v2 update {model}",
            f"DrQ-v2 whole loop {model}",
            f"environment {model} / whole loop",
        )
    ]
    assert all(row["ratio"] > 0 and row["target"] is None for row in times)
    assert 100 < memory["value"] < 5000
