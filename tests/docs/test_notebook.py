"""The newcomer's notebook runs from top to bottom, and is stored without outputs."""

import json
from pathlib import Path

import matplotlib
import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "newcomer.ipynb"
CELLS = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]


def test_it_is_short_and_holds_no_outputs():
    assert len(CELLS) == 10
    for cell in CELLS[1:]:
        assert cell["cell_type"] == "code"
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@pytest.mark.longer
@pytest.mark.timeout(240)
def test_it_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    matplotlib.use("Agg")
    namespace: dict = {"__name__": "newcomer"}
    for number, cell in enumerate(CELLS[1:], start=1):
        exec(compile("".join(cell["source"]), f"<cell {number}>", "exec"), namespace)
    said = capsys.readouterr().out
    assert said.splitlines()[0] == "exact"
    assert "Verdict: approximate" in said
    assert namespace["run"].summary["frames"] == 2500
    exact = namespace["runs"]["exact"]
    assert exact.policy([0.5, 0.0]) == pytest.approx(-exact.policy([-0.5, 0.0]), abs=1e-5)
