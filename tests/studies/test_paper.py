"""The paper's numbers, as its tables print them."""

import pytest

from nearsym.studies import paper
from nearsym.studies.selection import usual_variant

BOLD = {
    ("acrobot-swingup", None): ({"exact"}, {"exact"}),
    ("acrobot-swingup", "gravity"): ({"approx"}, {"approx"}),
    ("cartpole-swingup", None): ({"exact", "none"}, {"exact"}),
    ("cartpole-swingup", "repeat_action"): ({"approx"}, {"approx"}),
    ("ball_in_cup-catch", None): ({"none"}, {"approx"}),
    ("ball_in_cup-catch", "gravity"): ({"approx"}, {"approx"}),
    ("reacher-hard", None): ({"exact"}, {"approx"}),
    ("reacher-hard", "reflect_action"): ({"approx"}, {"approx"}),
}


def test_what_is_bold_in_table_1_is_highest():
    """What was typed agrees with the table's own emphasis."""
    for row, (clean, noise) in BOLD.items():
        found = paper.TABLE_1[row]
        assert set(paper.best_models(found.clean)) == clean
        assert set(paper.best_models(found.noise)) == noise
    assert paper.TABLE_1.keys() == BOLD.keys()


def test_what_is_bold_in_the_noise_trained_table_is_highest():
    best = {row[1]: paper.best_models(found) for row, found in paper.NOISE_TRAINED.items()}
    assert best == {None: ["exact"], "gravity": ["approx"]}


@pytest.mark.parametrize("name", paper.TABLE_2)
def test_final_values_agree_with_returns(name):
    """3.476 years of 252 days at the annualised return lead from 1 mm to the final value, as far as
    means of five runs do."""
    row = paper.TABLE_2[name]
    grown = (1 + row.annual_return.value / 100) ** (876 / 252)
    assert grown == pytest.approx(row.final_value.value, rel=0.01)


def test_names_are_those_of_the_tasks():
    for task, variant in (*paper.TABLE_1, *paper.NOISE_TRAINED):
        assert usual_variant(task, variant) == variant


def test_how_numbers_read():
    assert str(paper.TABLE_1["cartpole-swingup", None].noise["none"]) == "572.5 ± 25"
    assert str(paper.TABLE_2["uniform"].final_value) == "1.412"
