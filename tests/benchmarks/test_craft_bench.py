"""The craft's benchmark: it runs, and says what it measured."""

from nearsym.benchmarks.craft import rows


def test_every_form_has_a_rate():
    found = rows(quick=True)
    assert [row["name"] for row in found] == [
        "craft, state",
        "craft, 51 px",
        "craft, state, 64 at once",
    ]
    assert all(row["value"] > 0 for row in found)
    assert all(row["unit"] == "agent steps/s" for row in found)
