"""The settings of the trading task compared: the table in the docs, and what a run counts."""

from pathlib import Path

import numpy as np
import pytest

from nearsym.studies.files import read_study
from study_results import made

ROOT = Path(__file__).parents[2]


def traded(settings, curve):
    returns = [[value] for value in curve]
    frames = [1000 * (n + 1) for n in range(len(curve))]
    about = {"task": "trading", "variant": None, "obs": None, "settings": settings}
    return made("none", 0, returns=returns, frames=frames, **about)


def test_the_table_is_that_of_the_results(script):
    page = script.PAGE.read_text("utf-8")
    assert script.BLOCK.search(page)
    assert script.filled(page) == page


def test_a_run_counts_by_the_second_half_of_its_evaluations(script):
    assert script.value_of(traded({}, [90.0, 90.0, 10.0, 30.0])) == pytest.approx(1.2)


def test_an_excess_is_over_all_tickers_at_equal_weight(script):
    """Which is nearly what holding them makes, so nothing gained is nearly that."""
    value = script.value_of(traded({"task.reward": "excess"}, [0.0, 0.0]))
    assert value == pytest.approx(script.held(), rel=0.1)
    more = script.value_of(traded({"task.reward": "excess"}, [0.0, 10.0]))
    assert more == pytest.approx(value * np.exp(0.1))


def test_the_study_chooses_without_the_test_part_and_with_seeds_below_100():
    study = read_study(ROOT / "scripts" / "trading_settings.toml", scale="laptop")
    assert study.evaluation.episodes == 0
    assert max(cell.values["seed"] for cell in study.cells()) < 100
