"""The intervals of means cover the truth at the stated rate, for skewed numbers too."""

import numpy as np
import pytest

from nearsym.measures.intervals import estimate, mean_interval


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
