"""Numbers over seeds and over worlds: against hand computations, and their coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nearsym.errors import UsageError
from nearsym.measures.intervals import stratified_interval
from nearsym.studies.statistics import (
    BOOTSTRAP,
    NO_INTERVAL,
    STUDENT,
    Measured,
    differences,
    holm,
    interquartile_mean,
    mean_over_seeds,
    paired_difference,
    performance_profile,
    probability_of_improvement,
    tails,
)

finite = st.floats(-1e3, 1e3)


def seeded(values):
    return dict(enumerate(values))


def test_a_mean_is_students():
    found = mean_over_seeds(seeded([3.0, 5.0, 10.0]))
    half = 4.302653 * np.sqrt(13.0) / np.sqrt(3)  # t₀.₉₇₅ with 2 degrees of freedom; s² = 13
    assert found.value == 6.0
    assert found.ci95 == pytest.approx((6 - half, 6 + half), rel=1e-6)
    assert (found.seeds, found.interval) == (3, STUDENT)


def test_one_seed_has_no_interval():
    found = mean_over_seeds({4: 2.0})
    assert (found.value, found.ci95, found.seeds, found.interval) == (2.0, None, 1, NO_INTERVAL)
    assert found.as_json() == {"value": 2.0, "ci95": None, "seeds": 1, "interval": NO_INTERVAL}


def test_differences_are_paired_by_seed():
    a, b = {0: 10.0, 1: 20.0, 2: 31.0}, {2: 30.0, 1: 18.0, 7: 0.0}
    assert differences(a, b) == {1: 2.0, 2: 1.0}
    found = paired_difference(a, b)
    assert (found.value, found.seeds) == (1.5, 2)
    # The seeds differ by ten, the models by little: pairing sees the little.
    assert found.ci95[1] - found.ci95[0] == pytest.approx(2 * 12.7062 * 0.5, rel=1e-4)


def test_no_shared_seed():
    with pytest.raises(UsageError, match="needs a seed that both have"):
        paired_difference({0: 1.0}, {1: 1.0})


@given(values=st.lists(finite, min_size=2, max_size=8), threshold=finite)
def test_tails_are_scipys(values, threshold):
    if np.std(values) < 1e-6:
        return
    above = stats.ttest_1samp(values, threshold, alternative="greater").pvalue
    below = stats.ttest_1samp(values, threshold, alternative="less").pvalue
    found = tails(mean_over_seeds(seeded(values)), threshold)
    assert found == pytest.approx((above, below), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0, 2.0], (0.0, 1.0)), ([1.0, 1.0], (1.0, 1.0)), ([0.0, 0.0], (1.0, 0.0)), ([5.0], (1, 1))],
)
def test_tails_without_a_spread(values, expected):
    assert tails(mean_over_seeds(seeded(values)), 1.0) == expected


def test_tails_at_infinity():
    found = mean_over_seeds(seeded([1.0, 2.0, 3.0]))
    assert tails(found, -np.inf) == (0.0, 1.0)
    assert tails(found, np.inf) == (1.0, 0.0)


def test_no_tails_of_a_bootstrap():
    assert tails(Measured(5.0, (4.0, 6.0), 5, BOOTSTRAP), 0.0) == (1.0, 1.0)


def slow_holm(p):
    """Reject step by step; the adjusted value is the smallest level at which a p falls."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    for k, i in enumerate(order):
        adjusted[i] = min(1, max((len(p) - j) * p[order[j]] for j in range(k + 1)))
    return adjusted


@given(p=st.lists(st.floats(0, 1), max_size=9))
def test_holm(p):
    assert holm(p) == pytest.approx(slow_holm(p))
    assert all(adjusted >= raw for adjusted, raw in zip(holm(p), p, strict=True))


def test_holm_keeps_the_familys_error_rate():
    rng = np.random.default_rng(0)
    families = rng.uniform(size=(2000, 6))  # nothing to find
    false = np.mean([min(holm(list(p))) < 0.05 for p in families])
    assert 0.035 < false < 0.065
    assert np.mean(families.min(axis=1) < 0.05) > 0.2  # without the correction


WORLDS = [np.array([0.1, 0.2, 0.3, 0.4, 0.9]), np.array([0.5, 0.6, 0.7, 0.8, 0.0])]


def test_interquartile_mean_by_hand():
    found = interquartile_mean(WORLDS)
    middle = sorted(np.concatenate(WORLDS))[2:-2]  # a quarter of ten, rounded down, at each end
    assert found.value == pytest.approx(np.mean(middle))
    assert found.ci95[0] < found.value < found.ci95[1]
    assert (found.seeds, found.interval) == (5, BOOTSTRAP)


def test_probability_of_improvement_by_hand():
    a, b = [np.array([1.0, 3.0])], [np.array([0.0, 2.0, 3.0])]
    # 1 beats 0; 3 beats 0 and 2 and ties with 3.
    assert probability_of_improvement(a, b).value == pytest.approx((1 + 2.5) / 6)
    with pytest.raises(UsageError, match="must hold the same worlds, got 1 and 2"):
        probability_of_improvement(a, [*b, *b])


def test_profiles_count_worlds_alike():
    found = performance_profile([np.array([1.0]), np.array([0.0, 0.0, 0.0])], [0.5])
    assert found[0].value == 0.5
    assert found[0].ci95 is None


@pytest.mark.parametrize("worlds", [[np.ones(9)], [np.ones(4), np.ones(4), np.ones(4)]])
def test_no_bootstrap_of_few(worlds):
    """Nine runs are too few, and twelve of four seeds each as well."""
    worlds = [world + 0.1 * np.arange(len(world)) for world in worlds]
    found = interquartile_mean(worlds)
    assert (found.ci95, found.interval) == (None, NO_INTERVAL)


def test_bootstraps_repeat_and_leave_the_global_state_alone():
    np.random.seed(3)  # noqa: NPY002
    first = interquartile_mean(WORLDS)
    here = np.random.uniform()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    assert here == np.random.uniform()  # noqa: NPY002
    assert interquartile_mean(WORLDS) == first


def covers(intervals, truth):
    return np.mean([low <= truth <= high for low, high in intervals])


def test_students_interval_covers():
    rng = np.random.default_rng(0)
    draws = rng.normal(2.0, 1.0, (3000, 3))
    assert 0.938 < covers([mean_over_seeds(seeded(d)).ci95 for d in draws], 2.0) < 0.962


def test_paired_intervals_cover_where_seeds_matter():
    rng = np.random.default_rng(1)
    found, widths = [], []
    for _ in range(2000):
        seed_effect = rng.normal(0, 5, 5)
        a, b = (seeded(seed_effect + rng.normal(mean, 1, 5)) for mean in (1.0, 0.0))
        found.append(paired_difference(a, b).ci95)
        widths.append(found[-1][1] - found[-1][0])
    assert 0.935 < covers(found, 1.0) < 0.965
    assert np.mean(widths) < 4  # without pairing about 9


@pytest.mark.parametrize(("seeds", "worlds", "least"), [(10, 3, 0.92), (5, 4, 0.89)])
def test_the_stratified_bootstrap_covers(seeds, worlds, least):
    """Somewhat narrow for five seeds in a world; n of n values would be narrower still."""
    rng = np.random.default_rng(2)
    levels = np.linspace(0, 1, worlds)[:, None]

    def statistic(groups):
        return stats.trim_mean(np.concatenate(groups, 1), 0.25, axis=1)

    many = rng.normal(levels, 0.2, (worlds, 200_000))
    truth = statistic([many.reshape(1, -1)])[0]
    intervals = [
        stratified_interval(list(rng.normal(levels, 0.2, (worlds, seeds))), statistic, draws=300)
        for _ in range(800)
    ]
    assert least < covers(intervals, truth) < 0.97


def test_a_bootstrap_needs_two_of_each():
    with pytest.raises(UsageError, match="at least two values of every group"):
        stratified_interval([np.ones(3), np.ones(1)], lambda groups: groups[0].mean(1))


def test_how_numbers_read():
    assert Measured(812.4, (800.4, 824.4), 5, STUDENT).text() == "812 ± 12"
    assert Measured(812.4, (800.4, 824.4), 5, STUDENT).text(1) == "812.4 ± 12.0"
    assert Measured(0.5, (0.4, 0.9), 5, BOOTSTRAP).text(2) == "0.50 [0.40, 0.90]"
    assert Measured(2.0, (1.0, 3.0), 5, STUDENT).scaled(10).ci95 == (10.0, 30.0)
    assert repr(Measured(1234.0, None, 1, NO_INTERVAL)) == "1234 (1 seed, no interval)"
