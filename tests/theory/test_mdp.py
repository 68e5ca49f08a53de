"""Finite MDPs: what is refused, what a group does to them, and values known in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.theory.families import random_action, random_mdp
from nearsym.theory.mdp import (
    FiniteMDP,
    MDPAction,
    bellman,
    finite_horizon_values,
    optimal_values,
    pushed_forward,
    symmetrised,
)


def chain(discount=0.5):
    """State 0 pays 1 and moves to 1, which pays 2 and stays."""
    return FiniteMDP(np.array([[[0.0, 1.0]], [[0.0, 1.0]]]), np.array([[1.0], [2.0]]), discount)


def test_values_of_a_chain_by_hand():
    q, values, tolerance = optimal_values(chain())
    np.testing.assert_allclose(values, [1 + 0.5 * 4, 4], atol=tolerance)
    np.testing.assert_allclose(q[:, 0], values, atol=tolerance)


@given(seed=st.integers(0, 10**6), discount=st.floats(0, 0.97))
def test_value_iteration_keeps_its_promise(seed, discount):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(random_action(dihedral(2), rng), rng, discount=discount)
    q, values, tolerance = optimal_values(mdp, tolerance=1e-6)
    # The policy that the values choose has values given by a linear system: an exact reference.
    greedy = optimal_values(mdp).q.argmax(axis=1)
    rows = np.arange(mdp.states)
    system = np.eye(mdp.states) - discount * mdp.transitions[rows, greedy]
    exact = np.linalg.solve(system, mdp.rewards[rows, greedy])
    assert np.abs(values - exact).max() <= tolerance
    assert np.abs(q - bellman(mdp, exact)).max() <= tolerance


def test_a_tolerance_below_rounding_is_refused():
    with pytest.raises(UsageError, match=r"Rounding keeps .* 1e-16 .* ask for a tolerance of"):
        optimal_values(chain(0.99), tolerance=1e-16)
    assert optimal_values(chain(0.999)).tolerance > 1e-10


def test_finite_horizon_by_hand_and_in_time():
    q, values = finite_horizon_values(chain(1.0), horizon=3)
    np.testing.assert_array_equal(values, [[5, 6], [3, 4], [1, 2], [0, 0]])
    np.testing.assert_array_equal(q[..., 0], values[:-1])
    stay, move = np.eye(2)[:, None], np.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    timed = FiniteMDP(np.stack([stay, move]), np.array([[1.0], [2.0]]), 1.0)
    np.testing.assert_array_equal(finite_horizon_values(timed)[1][0], [2, 4])
    timed = FiniteMDP(np.stack([move, stay]), np.array([[1.0], [2.0]]), 1.0)
    np.testing.assert_array_equal(finite_horizon_values(timed)[1][0], [3, 4])


@given(seed=st.integers(0, 10**6), n=st.integers(1, 4))
def test_pushing_forward_follows_the_definition_and_the_group(seed, n):
    rng = np.random.default_rng(seed)
    action = random_action(dihedral(n), rng)
    mdp = random_mdp(action, rng, discount=0.9)
    group, g, h = action.group, *rng.integers(action.group.order, size=2)
    transitions, rewards = pushed_forward(mdp, action, g)
    gs, ga = action.states[g], action.actions[g]
    for s in range(mdp.states):
        for a in range(mdp.actions):
            assert rewards[gs[s], ga[a]] == mdp.rewards[s, a]
            np.testing.assert_array_equal(transitions[gs[s], ga[a], gs], mdp.transitions[s, a])
    twice, _ = pushed_forward(FiniteMDP(transitions, rewards, 0.9), action, h)
    np.testing.assert_array_equal(twice, pushed_forward(mdp, action, group.mul[h, g])[0])


def test_symmetrised_is_a_projection():
    rng = np.random.default_rng(3)
    action = random_action(dihedral(3), rng)
    mdp = random_mdp(action, rng, discount=0.9)
    even = symmetrised(mdp, action)
    assert np.abs(even.transitions - mdp.transitions).max() > 0.1
    np.testing.assert_allclose(symmetrised(even, action).transitions, even.transitions, atol=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transitions": np.ones((2, 1, 2))}, r"must be a distribution: .* sums from 2 to 2"),
        ({"transitions": np.ones((2, 2))}, r"\(states, actions\) = \(2, 1\) needs transitions"),
        ({"rewards": np.array([[1.0], [np.nan]])}, "Rewards must be finite"),
        ({"discount": 1.5}, r"discount must lie in \[0, 1\], got 1.5"),
    ],
)
def test_what_is_no_mdp_is_refused(change, message):
    good = chain()
    fields = {"transitions": good.transitions, "rewards": good.rewards, "discount": 0.5}
    with pytest.raises(UsageError, match=message):
        FiniteMDP(**(fields | change))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([[0, 1, 2]], "one permutation for each of 3 elements"),
        ([[0, 1, 2], [0, 0, 2], [0, 1, 2]], r"no permutation of 0…2"),
        ([[0, 1, 2], [1, 2, 0], [1, 2, 0]], "no action of C3: moving by rot120"),
    ],
)
def test_what_is_no_action_is_refused(states, message):
    with pytest.raises(UsageError, match=message):
        MDPAction(cyclic(3), np.array(states), np.zeros((3, 1), int))


def test_a_group_on_other_states_is_refused():
    action = MDPAction(cyclic(1), np.array([[0, 1, 2]]), np.array([[0]]))
    with pytest.raises(UsageError, match="moves 3 states and 1 actions, but the MDP has 2 and 1"):
        pushed_forward(chain(), action, 0)


@pytest.mark.parametrize("horizon", [None, 0])
def test_a_horizon_is_needed(horizon):
    with pytest.raises(UsageError, match="The horizon must be a whole number ≥ 1"):
        finite_horizon_values(chain(), horizon)


def test_value_iteration_refuses_what_it_cannot_do():
    with pytest.raises(UsageError, match="use finite_horizon_values"):
        optimal_values(chain(1.0))
