"""The intervals of means cover the truth at the stated rate, for skewed numbers too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nearsym.errors import UsageError
from nearsym.measures.intervals import (
    bootstrap_interval,
    episode_interval,
    estimate,
    mean_interval,
    student_interval,
)


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (lambda rng, n: rng.normal(3.0, 1.0, n), 3.0),
        (lambda rng, n: rng.exponential(1.0, n), 1.0),
        (lambda rng, n: rng.binomial(40, 0.1, n) / 40 * rng.uniform(0, 1, n), 0.05),
        (lambda rng, n: rng.gamma(0.3, 1.0, n), 0.3),  # mostly near 0, sometimes large
    ],
    ids=["normal", "exponential", "shares", "gamma"],
)
def test_coverage(draw, truth):
    rng = np.random.default_rng(0)
    intervals = [mean_interval(draw(rng, 50), rng) for _ in range(600)]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.92 <= covered <= 0.985


def test_one_event_among_many_episodes():
    rng = np.random.default_rng(2)
    low, high = mean_interval(np.eye(50)[0], rng)
    assert low == 0
    assert high == pytest.approx(6 / 50, rel=0.05)  # a Poisson count of one: 5.6 / 50


def test_dependence_within_episodes_widens_the_interval():
    rng = np.random.default_rng(1)
    episodes = np.repeat(rng.normal(size=(40, 1)), 25, axis=1)
    low, high = estimate(episodes, rng).mean_ci95
    assert high - low > 0.4  # 1000 independent numbers would give 0.12


def test_numbers_that_do_not_vary():
    found = estimate(np.full((5, 3), 2.0), np.random.default_rng(0))
    assert (found.mean, found.mean_ci95, found.q95, found.largest) == (2.0, (2.0, 2.0), 2.0, 2.0)
    assert found.as_json().keys() == {"mean", "mean_ci95", "q95", "largest"}


def test_an_interval_over_seeds_is_students():
    mean, (low, high) = student_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.776445 * np.sqrt(2.5) / np.sqrt(5)  # t₀.₉₇₅ with 4 degrees of freedom
    assert (mean, low, high) == pytest.approx((3.0, 3 - half, 3 + half), rel=1e-6)


def test_a_student_interval_covers_the_truth_95_times_in_100():
    rng = np.random.default_rng(0)
    found = [student_interval(values) for values in rng.normal(1, 2, (2000, 3))]
    hits = [low <= 1.0 <= high for _, (low, high) in found]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("count", [2, 3, 10, 200])
def test_a_student_interval_agrees_with_scipy(count):
    values = np.random.default_rng(count).normal(size=count)
    mean, interval = student_interval(values)
    expected = stats.t.interval(0.95, count - 1, loc=values.mean(), scale=stats.sem(values))
    assert interval == pytest.approx(expected)
    assert mean == pytest.approx(values.mean())


@pytest.mark.parametrize("interval", [student_interval, bootstrap_interval])
def test_nothing_has_no_interval(interval):
    with pytest.raises(UsageError, match="An interval needs at least one value, got none"):
        interval([])


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30))
def test_a_bootstrap_interval_holds_the_mean_and_repeats(values):
    values = np.array(values)
    low, high = bootstrap_interval(values, draws=300)
    assert values.min() - 1e-9 <= low <= high <= values.max() + 1e-9
    assert (low, high) == bootstrap_interval(values, draws=300)


@pytest.mark.parametrize("count", [1, 2, 9, 10, 50])
def test_few_episodes_are_not_bootstrapped(count):
    returns = np.random.default_rng(0).normal(size=count)
    interval, kind = episode_interval(returns)
    if count == 1:
        assert (interval, kind) == (None, "no interval")
    elif count < 10:
        assert (interval, kind) == (student_interval(returns)[1], "Student's t")
    else:
        assert (interval, kind) == (bootstrap_interval(returns), "bootstrap")


def test_a_bootstrap_interval_is_about_as_wide_as_theory_says():
    values = np.random.default_rng(0).normal(10, 2, 400)
    low, high = bootstrap_interval(values)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_a_lower_level_is_narrower():
    values = np.random.default_rng(0).normal(size=50)
    wide, narrow = bootstrap_interval(values), bootstrap_interval(values, level=0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
