"""The two metrics against references, axioms and each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from nearsym.errors import UsageError
from nearsym.theory.metrics import Kantorovich, TotalVariation, euclidean

seeds = st.integers(0, 10**6)


def laws(rng, count, states):
    drawn = rng.dirichlet(np.full(states, 0.4), size=count)
    drawn[rng.random(drawn.shape) < 0.3] = 0  # supports that differ
    drawn[:, 0] += 1e-3
    return drawn / drawn.sum(-1, keepdims=True)


@given(seed=seeds, states=st.integers(2, 8))
def test_on_a_line_it_is_the_known_formula(seed, states):
    rng = np.random.default_rng(seed)
    points = np.sort(rng.normal(size=states)) + np.arange(states)
    mu, nu = laws(rng, 5, states), laws(rng, 5, states)
    ours = Kantorovich(euclidean(points)).distance(mu, nu)
    reference = [wasserstein_distance(points, points, m, n) for m, n in zip(mu, nu, strict=True)]
    np.testing.assert_allclose(ours, reference, atol=1e-8)


@given(seed=seeds, states=st.integers(1, 8))
def test_the_discrete_ground_metric_gives_total_variation(seed, states):
    rng = np.random.default_rng(seed)
    discrete = Kantorovich(1.0 - np.eye(states))
    mu, nu, f = laws(rng, 4, states), laws(rng, 4, states), rng.normal(size=states)
    variation = TotalVariation()
    np.testing.assert_allclose(2 * discrete.distance(mu, nu), variation.distance(mu, nu), atol=1e-8)
    assert discrete.rho(f) == pytest.approx(2 * variation.rho(f))


@given(seed=seeds, states=st.integers(2, 7), kantorovich=st.booleans())
def test_metric_axioms_and_what_rho_promises(seed, states, kantorovich):
    rng = np.random.default_rng(seed)
    ground = euclidean(rng.normal(size=(states, 3)))
    metric = Kantorovich(ground) if kantorovich else TotalVariation()
    mu, nu, xi = (laws(rng, 3, states) for _ in range(3))
    there = metric.distance(mu, nu)
    assert (metric.distance(mu, mu) == 0).all()
    np.testing.assert_allclose(there, metric.distance(nu, mu), atol=1e-8)
    assert (there <= metric.distance(mu, xi) + metric.distance(xi, nu) + 1e-8).all()
    f = rng.normal(size=states)
    assert (np.abs((mu - nu) @ f) <= metric.rho(f) * there + 1e-8).all()


def test_rho_is_the_least_such_factor():
    ends = np.eye(3)[[0, 2]]
    f = np.array([0.0, 1.0, 5.0])
    for metric in (TotalVariation(), Kantorovich(euclidean(np.arange(3.0)))):
        # The largest slope of f is between states 1 and 2, its range between 0 and 2.
        mu, nu = ends if isinstance(metric, TotalVariation) else np.eye(3)[[1, 2]]
        assert abs((mu - nu) @ f) == pytest.approx(metric.rho(f) * metric.distance(mu, nu))


def test_shapes_follow_the_batch():
    metric = Kantorovich(euclidean(np.arange(4.0)))
    assert metric.distance(np.full((2, 3, 4), 0.25), np.full((2, 3, 4), 0.25)).shape == (2, 3)


@pytest.mark.parametrize(
    ("ground", "message"),
    [
        (np.ones((2, 3)), r"square matrix, got shape \(2, 3\)"),
        (np.zeros((2, 2)), "0 on the diagonal and positive"),
        (np.array([[0, 1.0], [2.0, 0]]), "symmetric"),
        (np.array([[0, 9.0, 1], [9, 0, 1], [1, 1, 0]]), "from state 0 to 1 is 9, .* only 2"),
    ],
)
def test_what_is_no_metric_is_refused(ground, message):
    with pytest.raises(UsageError, match=message):
        Kantorovich(ground)


def test_distributions_over_other_states_are_refused():
    with pytest.raises(UsageError, match="over 3 states, the distributions over 2"):
        Kantorovich(euclidean(np.arange(3.0))).distance(np.ones(2) / 2, np.ones(2) / 2)
