"""`nearsym bench`: rows in the contract's form, from any benchmark."""

import types

import pytest

from nearsym.cli import bench

RATIO = {"name": "update", "seconds": 0.2, "baseline_seconds": 0.8, "ratio": 0.25}
ROWS = [
    RATIO | {"target": 0.3, "ok": True},
    RATIO | {"target": 0.2, "ok": False},
    {"name": "loop", "value": 1234.0, "unit": "frames/s", "target": 2000, "ok": False},
    {"name": "for information", "value": 5.0, "unit": "s", "target": None, "ok": True},
]


@pytest.fixture
def asked(monkeypatch):
    """Puts a quick benchmark in the place of the real ones; returns what was asked of it."""
    calls = []

    def rows(*, threads, quick):
        calls.append((threads, quick))
        return ROWS

    monkeypatch.setattr(bench, "import_module", lambda name: types.SimpleNamespace(rows=rows))
    monkeypatch.setattr("torch.set_num_threads", lambda n: None)
    return calls


def test_json(command, asked):
    result = command("bench", "trading", "--threads", 1, "--quick", "--json")
    assert result.code == 0
    assert result.json == {"rows": ROWS}
    assert asked == [(1, True)]


def test_a_table_for_people(command, asked):
    lines = command("bench", "env").out.splitlines()
    assert lines[0].split() == ["update", "200.00", "ms", "ratio", "0.25", "≤", "0.30", "ok"]
    assert lines[1].endswith("MISSED")
    assert lines[2].split()[-3:] == ["≥", "2000", "MISSED"]
    assert "ok" not in lines[3].split()


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["bench", "layer"], "Did you mean 'layers'?"),
        (["bench", "env", "--threads", "0"], "--threads must be at least 1, got 0"),
        (
            ["bench"],
            "WHAT is missing: layers, update, env, trading or growth. See",
        ),
    ],
)
def test_mistakes(command, argv, text):
    result = command(*argv)
    assert result.code == 2
    assert text in result.err
