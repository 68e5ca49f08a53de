"""How updates grow: rows for every value, and their picture."""

import pytest

from nearsym.benchmarks import growth
from nearsym.cli.bench import Bench, run
from nearsym.errors import UsageError


def fake(what="batch", line="SAC, approx", values=(1, 2)):
    def make(value):
        return lambda: sum(range(1000 * value))

    return growth.Growth(what, line, make, values)


def test_each_value_beside_the_first(monkeypatch, tmp_path):
    monkeypatch.setattr(growth, "growths", lambda: [fake(), fake("stocks"), fake(line="other")])
    rows = growth.rows(threads=1)
    assert [row["at"] for row in rows] == [1, 2] * 3
    assert [row["ratio"] for row in rows[::2]] == [1.0] * 3
    assert rows[1]["name"] == "SAC, approx, batch 2 / 1"
    assert all(row["seconds"] > 0 for row in rows)
    growth.draw(rows, str(tmp_path / "growth.png"))
    assert (tmp_path / "growth.png").stat().st_size > 10_000


def test_what_grows_is_what_the_docs_show():
    lines = [(one.what, list(one.values)) for one in growth.growths()]
    assert ("group elements", [1, 2, 4, 8, 16]) in lines
    assert {what for what, _ in lines} == {
        "group elements", "filters L", "batch", "image size, px", "stocks",
    }  # fmt: skip


@pytest.mark.parametrize("order", growth.ORDERS)
def test_networks_of_every_group(order):
    growth._with_group(order)()


def test_a_plot_belongs_to_growth(tmp_path):
    with pytest.raises(UsageError, match="`plot` belongs to `bench growth`, not to `bench env`"):
        run(Bench(what="env", plot=str(tmp_path / "x.png")))
    with pytest.raises(UsageError, match="png"):
        run(Bench(what="growth", plot=str(tmp_path / "x.doc")))


@pytest.mark.slow
def test_all_of_it_quickly():
    rows = growth.rows(threads=1, quick=True)
    assert len(rows) == 2 * len(growth.growths())
