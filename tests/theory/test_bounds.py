"""The paper's bounds against the truth, on thousands of random MDPs and on known families."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.theory.bounds import (
    alpha,
    gap_bound,
    horizon_bound,
    invariance,
    truncation_bounds,
)
from nearsym.theory.families import leaking_pair, random_action, random_mdp
from nearsym.theory.mdp import optimal_values
from nearsym.theory.metrics import Kantorovich, TotalVariation, euclidean

GROUPS = [trivial(), cyclic(2), cyclic(3), cyclic(5), dihedral(2), dihedral(3), dihedral(4)]
GROUPS += [product(cyclic(2), cyclic(3))]
VARIATION = TotalVariation()


@st.composite
def problems(draw, broken=None, steps=False):
    """A random group action and a random MDP, from hardly broken to not symmetric at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    group = draw(st.sampled_from(GROUPS))
    action = random_action(
        group,
        rng,
        state_orbits=draw(st.integers(1, 3 if group.order < 6 else 1)),
        action_orbits=draw(st.integers(1, 2)),
    )
    mdp = random_mdp(
        action,
        rng,
        discount=draw(st.floats(0, 1 if steps else 0.97)),
        broken=draw(st.sampled_from([1e-6, 1e-3, 0.1, 1.0])) if broken is None else broken,
        concentration=draw(st.sampled_from([0.05, 0.3, 2.0])),
        steps=draw(st.integers(1, 6)) if steps else None,
    )
    return mdp, action, rng


def ground_of(mdp, rng):
    """A random ground metric that no group element needs to respect."""
    return Kantorovich(euclidean(rng.normal(size=(mdp.states, 2))))


def holds(found):
    slack = 2 * found.tolerance + 1e-7 * (1 + found.alpha)
    return (found.gap_q <= found.alpha + slack).all() and (found.gap_v <= found.gap_q + slack).all()


@pytest.mark.longer
@settings(max_examples=1500)
@given(problem=problems())
def test_theorem_1_under_total_variation(problem):
    mdp, action, _ = problem
    assert holds(gap_bound(mdp, action, VARIATION, tolerance=1e-8))


@pytest.mark.longer
@settings(max_examples=500)
@given(problem=problems())
def test_theorem_1_under_kantorovich(problem):
    mdp, action, rng = problem
    assert holds(gap_bound(mdp, action, ground_of(mdp, rng), tolerance=1e-8))


@pytest.mark.slow
@settings(max_examples=5000)
@given(problem=problems())
def test_theorem_1_on_thousands_more(problem):
    mdp, action, rng = problem
    assert holds(gap_bound(mdp, action, VARIATION))
    assert holds(gap_bound(mdp, action, ground_of(mdp, rng)))


@settings(max_examples=100)
@given(problem=problems(broken=0.0))
def test_symmetric_mdps_have_alpha_zero(problem):
    mdp, action, rng = problem
    for metric in (VARIATION, ground_of(mdp, rng)):
        found = gap_bound(mdp, action, metric)
        assert found.alpha.max() < 1e-9 * max(1.0, found.rho / (1 - mdp.discount))
        assert found.gap_q.max() <= 2 * found.tolerance


@pytest.mark.longer
@settings(max_examples=200)
@given(problem=problems(steps=True))
def test_finite_horizon_bounds_with_time_dependent_transitions(problem):
    mdp, action, rng = problem
    for metric in (VARIATION, ground_of(mdp, rng)):
        found = horizon_bound(mdp, action, metric)
        assert found.invariance.eps_p.shape == (mdp.steps, action.group.order)
        assert (found.gap_q <= found.alpha + 1e-7 * (1 + found.alpha)).all()
        assert (found.gap_v <= found.gap_q + 1e-12).all()


@settings(max_examples=50)
@given(problem=problems())
def test_finite_horizons_tend_to_theorem_1(problem):
    mdp, action, _ = problem
    long = horizon_bound(mdp, action, VARIATION, horizon=int(20 / (1 - mdp.discount)) + 1)
    limit = gap_bound(mdp, action, VARIATION)
    np.testing.assert_allclose(long.alpha[0], limit.alpha, rtol=1e-6, atol=1e-9)


@settings(max_examples=100)
@given(problem=problems(), horizon=st.integers(1, 30))
def test_proposition_2_brackets_the_infinite_horizon(problem, horizon):
    mdp, _, _ = problem
    low, high = truncation_bounds(mdp, horizon)
    q, _, tolerance = optimal_values(mdp)
    assert (low <= q + tolerance).all()
    assert (q <= high + tolerance).all()
    assert low.shape == (horizon, mdp.states, mdp.actions)


def test_proposition_2_is_attained():
    mdp, _ = leaking_pair(leak=0.0, discount=0.9)  # x earns R_max for ever, b earns R_min
    low, high = truncation_bounds(mdp, 5)
    q = optimal_values(mdp).q
    np.testing.assert_allclose(high[:, 0, 0], q[0, 0], atol=1e-9)
    np.testing.assert_allclose(low[:, 2, 0], q[2, 0], atol=1e-9)


def test_the_papers_total_variation_value_of_rho_is_too_small():
    mdp, action = leaking_pair(leak=0.001, discount=0.99)
    found = gap_bound(mdp, action, VARIATION)
    assert found.invariance.reward == 0
    assert found.invariance.transition == pytest.approx(0.002)
    assert found.gap_v[1] == pytest.approx(9.008, abs=5e-4)
    assert found.alpha[1] == pytest.approx(9.90, abs=5e-3)
    as_printed = alpha(0.0, 0.002, rho=np.ptp(mdp.rewards), discount=0.99)
    assert as_printed == pytest.approx(0.198, abs=5e-4)
    assert found.gap_v[1] > 45 * as_printed


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("kantorovich", [False, True])
def test_nearly_tight_as_the_leak_vanishes(discount, kantorovich):
    metric = Kantorovich(1.0 - np.eye(3)) if kantorovich else VARIATION
    tightness = []
    for leak in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        found = gap_bound(*leaking_pair(leak=leak, discount=discount), metric)
        ratio = (1 - discount) / (1 - discount + discount * leak)
        assert found.gap_v[1] / found.alpha[1] == pytest.approx(ratio, rel=1e-4)
        tightness.append(found.gap_v[1] / found.alpha[1])
    assert tightness == sorted(tightness)
    assert tightness[-1] > 0.998


def test_tight_for_rewards():
    found = gap_bound(*leaking_pair(leak=0.0, discount=0.9, reward_gap=0.3), VARIATION)
    assert found.gap_v[1] == pytest.approx(found.alpha[1])
    assert found.alpha[1] == pytest.approx(3.0)


def test_the_recursion_ends_at_the_horizon():
    """One step before the end only the reward counts; the paper's start adds it once more."""
    mdp, action = leaking_pair(leak=0.0, discount=1.0, reward_gap=0.25)
    found = horizon_bound(mdp, action, VARIATION, horizon=4)
    np.testing.assert_allclose(found.alpha[:, 1], [1.0, 0.75, 0.5, 0.25])
    np.testing.assert_allclose(found.gap_v, found.alpha)  # tight, so nothing smaller would do


def test_each_element_has_its_own_numbers():
    rng = np.random.default_rng(0)
    action = random_action(dihedral(2), rng, state_orbits=3, action_orbits=2)
    found = invariance(random_mdp(action, rng, discount=0.9), action, VARIATION)
    assert found.eps_r[0] == found.eps_p[0] == 0
    inverse = action.group.inverse
    np.testing.assert_allclose(found.eps_r, found.eps_r[inverse])
    np.testing.assert_allclose(found.eps_p, found.eps_p[inverse])
    assert found.reward == found.eps_r.max()
    assert found.transition == found.eps_p.max()


def test_alpha_needs_a_discount_below_one():
    with pytest.raises(UsageError, match=r"Theorem 1 needs a discount in \[0, 1\), got 1"):
        alpha(np.zeros(1), np.zeros(1), rho=1.0, discount=1)
    with pytest.raises(UsageError, match="Proposition 2 needs γ < 1"):
        truncation_bounds(leaking_pair(leak=0.1, discount=1.0)[0], 3)
