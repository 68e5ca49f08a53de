"""The benchmark of SAC on vectors, at its smallest."""

import pytest

from nearsym.benchmarks import state


@pytest.mark.slow
def test_the_rows_of_a_quick_run():
    pytest.importorskip("stable_baselines3")
    rows = {row["name"]: row for row in state.rows(threads=1, quick=True)}
    for group in ("D1", "D2"):
        for model in state.MODELS:
            assert rows[f"SAC update {model} {group} / Stable-Baselines3"]["ratio"] > 0
        assert f"SAC update approx {group} / exact" in rows
        assert f"SAC update augment {group} / none" in rows
    assert all(row["target"] is None for row in rows.values())  # a few rounds prove nothing
