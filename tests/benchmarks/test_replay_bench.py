"""The replay benchmark on a tiny budget."""

from nearsym.benchmarks import replay


def test_rows_have_the_keys_of_the_contract():
    rows = {row["name"]: row for row in replay.rows(threads=1, quick=True)}
    assert list(rows) == [
        "sample 8, memory / update",
        "sample 8, memory-mapped / update",
        "checkpoint / updates of 10k frames",
        "checkpoint, replay saved per new frame",
        "checkpoint, everything else",
    ]
    for row in list(rows.values())[:3]:
        assert set(row) == {"name", "seconds", "baseline_seconds", "ratio", "target", "ok"}
        assert 0 < row["seconds"] < row["baseline_seconds"]
    saved = rows["checkpoint, replay saved per new frame"]
    assert 37 * 37 * 3 < saved["value"] < 37 * 37 * 3 + 32  # the frame once, and a few numbers
