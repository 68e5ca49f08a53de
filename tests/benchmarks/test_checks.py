"""What checks cost: it runs, and says what it measured."""

from nearsym.benchmarks.checks import rows


def test_each_beside_what_it_protects():
    found = rows(threads=1, quick=True)
    assert [row["name"] for row in found] == [
        "checks of the update / update",
        "checks of the save / save",
        "checks of the load / load",
    ]
    assert all(0 < row["ratio"] < 1 for row in found)
