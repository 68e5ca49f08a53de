"""Chance: probabilities, the null distributions, and the Sharpe ratio of the best of many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nearsym.errors import UsageError
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.null import FIXED, ORDERS, null_distributions
from nearsym.tasks.trading.portfolio import markdown_table, summary_row
from nearsym.tasks.trading.resample import random_walk_prices
from nearsym.tasks.trading.skill import (
    chance_of,
    deflated_sharpe,
    expected_largest,
    probabilistic_sharpe,
)
from nearsym.tasks.trading.split import Split


@pytest.fixture(scope="module")
def market():
    table = random_walk_prices(stocks=4, days=260, seed=2)
    return TradingEnv(table, Split.parse("2001-09-03,2001-10-01"), "test", max_shares=1000)


@pytest.fixture(scope="module")
def nulls(market):
    return null_distributions(market, portfolios=120, episodes=30)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.floats(-5, 5))
def test_a_probability_counts_the_draws_that_do_as_well(draws, result):
    found = chance_of(result, draws)
    assert 0 < found <= 1
    assert found == (1 + sum(draw >= result for draw in draws)) / (1 + len(draws))


def test_without_skill_one_of_twenty_has_less_than_five_per_cent():
    rng = np.random.default_rng(0)
    found = [chance_of(rng.normal(), rng.normal(size=99)) for _ in range(2000)]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.015)


def test_the_null_obeys_the_rules_of_the_market(market, nulls):
    assert [null.name for null in nulls] == [FIXED, ORDERS]
    close = market.table.close[market.days]
    best, worst = (pick(close[-1] / close[0]) for pick in (np.max, np.min))
    values = nulls[0].draws("final_value")
    assert 1e6 * worst * 0.99 < values.min() < values.max() < 1e6 * best
    assert len(set(values)) == 120
    assert (nulls[1].draws("costs") > 0).all()
    assert nulls[0].band.shape == (3, len(close))
    assert (np.diff(nulls[0].band, axis=0) >= 0).all()
    again = null_distributions(market, portfolios=120, episodes=30)
    np.testing.assert_array_equal(again[1].draws("final_value"), nulls[1].draws("final_value"))


def test_holding_one_of_the_draws_is_no_skill(nulls):
    middle = float(np.median(nulls[0].draws("final_value")))
    row = {name: {"mean": middle} for name in ("final_value", "sharpe_mean_over_std")}
    assert nulls[0].chances(row)["final_value"] == pytest.approx(0.5, abs=0.02)
    lucky = {name: {"mean": 1e9} for name in ("final_value", "sharpe_mean_over_std")}
    assert nulls[0].chances(lucky)["final_value"] == pytest.approx(1 / 121)


def test_the_table_shows_chance_and_its_probabilities(nulls):
    null = nulls[0].row()
    low, high = np.quantile(nulls[0].draws("final_value"), (0.05, 0.95)) / 1e6
    row = summary_row("agent", nulls[0].figures[:1])
    row["chance"] = {each.name: each.chances(row) for each in nulls}
    text = markdown_table([row, null])
    assert f"({low:.3f} to {high:.3f})" in text
    assert "p of the value | p of the Sharpe |" in text
    assert "p of" not in markdown_table([summary_row("x", nulls[0].figures[:2])])


def test_the_probabilistic_sharpe_ratio_by_its_formula():
    returns = np.random.default_rng(1).gamma(2.0, 0.01, 300) - 0.018
    ratio = returns.mean() / returns.std(ddof=1)
    skew, kurtosis = stats.skew(returns), stats.kurtosis(returns, fisher=False)
    error = np.sqrt((1 - skew * ratio + (kurtosis - 1) / 4 * ratio**2) / 299)
    assert probabilistic_sharpe(returns, 0.02) == pytest.approx(
        stats.norm.cdf((ratio - 0.02) / error)
    )
    assert probabilistic_sharpe(np.full(9, 0.1)) == 0.5
    with pytest.raises(UsageError, match="at least 3 daily returns"):
        probabilistic_sharpe(np.zeros(2))


def test_the_largest_of_many_ratios_is_what_it_is_expected_to_be():
    rng = np.random.default_rng(0)
    for trials in (5, 25, 100):
        largest = rng.normal(0, 0.05, (4000, trials)).max(axis=1).mean()
        assert expected_largest(trials, 0.05**2) == pytest.approx(largest, rel=0.03)
    assert expected_largest(1, 0.1) == 0


def test_more_trials_deflate_a_sharpe_ratio_more():
    returns = np.random.default_rng(3).normal(0.001, 0.01, 500)
    ratios = np.random.default_rng(4).normal(0, 0.05, 100)
    once, some, many = (deflated_sharpe(returns, ratios[:n]) for n in (1, 5, 100))
    assert once > some > many


def test_without_skill_the_best_of_many_is_rarely_taken_for_skill():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(200):
        trials = rng.normal(0, 0.01, (20, 250))
        ratios = trials.mean(axis=1) / trials.std(axis=1, ddof=1)
        found.append(deflated_sharpe(trials[ratios.argmax()], ratios) > 0.95)
    assert np.mean(found) < 0.1
