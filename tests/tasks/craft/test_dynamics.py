import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.groups.catalog import dihedral
from nearsym.groups.planar import rotation
from nearsym.tasks.craft.dynamics import (
    EPISODE,
    FARTHEST,
    FASTEST,
    Dynamics,
    reward,
    rewards,
    start,
)

D4 = dihedral(4)
numbers = st.floats(-5.0, 5.0)
powers = st.floats(-1.0, 1.0)
states = st.tuples(numbers, numbers, numbers, numbers)
actions = st.tuples(powers, powers)
elements = st.sampled_from(range(8))
tilts = st.floats(0.0, 180.0)


def moved(g, values):
    """g on pairs of numbers, by exchanging them and changing signs."""
    pairs = np.array(values).reshape(-1, 2)
    return tuple((pairs @ D4.plane[g].T + 0.0).ravel().tolist())


def assert_commutes(dynamics, g, state, action):
    """g·step(s, a) = step(g·s, g·a) to the last bit, and the same reward."""
    after = dynamics.advance(*state, *action)
    image = dynamics.advance(*moved(g, state), *moved(g, action))
    assert image == moved(g, after)
    assert reward(*image[:2]) == reward(*after[:2])


def worst(dynamics, g, count=200):
    """The largest mismatch over random states and actions."""
    random = np.random.default_rng(0)
    gaps = []
    for _ in range(count):
        state, action = random.uniform(-2, 2, 4), random.uniform(-1, 1, 2)
        after = moved(g, dynamics.advance(*state, *action))
        image = dynamics.advance(*moved(g, state), *moved(g, action))
        gaps.append(np.abs(np.subtract(after, image)).max())
    return max(gaps)


def names(dynamics):
    return [D4.elements[g] for g in dynamics.keeps(D4)]


@given(states, actions, elements)
def test_the_original_commutes_with_all_of_d4(state, action, g):
    assert_commutes(Dynamics(), g, state, action)


@given(states, actions, st.sampled_from(range(4)), tilts)
def test_tilted_thrusters_keep_the_rotations(state, action, g, tilt):
    assert_commutes(Dynamics(tilt=tilt), g, state, action)


@given(states, actions, st.floats(0.0, 1.5))
def test_wind_keeps_one_mirror(state, action, wind):
    assert_commutes(Dynamics(wind=wind), D4.index("mirror_y"), state, action)


@given(states, actions, st.sampled_from(["rot180", "mirror_x", "mirror_y"]), st.floats(0.0, 1.0))
def test_a_worn_thruster_keeps_d2(state, action, element, worn):
    assert_commutes(Dynamics(worn=worn), D4.index(element), state, action)


@given(states, actions)
def test_half_a_turn_of_the_thrusters_keeps_everything(state, action):
    for g in range(8):
        assert_commutes(Dynamics(tilt=180.0), g, state, action)


def test_what_is_kept():
    rotations = ["e", "rot90", "rot180", "rot270"]
    assert names(Dynamics()) == names(Dynamics(tilt=180.0)) == list(D4.elements)
    assert names(Dynamics(tilt=0.01)) == names(Dynamics(tilt=90.0)) == rotations
    assert names(Dynamics(wind=0.3)) == ["e", "mirror_y"]
    assert names(Dynamics(worn=0.5)) == ["e", "rot180", "mirror_x", "mirror_y"]
    assert names(Dynamics(tilt=75.0, wind=0.3)) == ["e"]
    assert names(Dynamics(tilt=75.0, worn=0.5)) == ["e", "rot180"]


@pytest.mark.parametrize(
    "dynamics",
    [Dynamics(tilt=10.0), Dynamics(tilt=75.0), Dynamics(wind=0.3), Dynamics(worn=0.5)],
    ids=str,
)
def test_what_is_not_kept_is_broken(dynamics):
    """Every other element is off by a good part of what one step changes in the velocity, 0.15."""
    for g in set(range(8)) - set(dynamics.keeps(D4)):
        assert worst(dynamics, g) > 0.02


def test_mirrors_break_by_twice_the_sine():
    """g·M·a − M·g·a has the length 2·1.5·sin(tilt)·|a|."""
    mirror = D4.plane[D4.index("mirror_x")]
    for tilt in (10.0, 30.0, 75.0, 90.0, 120.0):
        thrust = Dynamics(tilt=tilt).thrust
        size = np.linalg.norm(mirror @ thrust - thrust @ mirror, 2)
        assert size == pytest.approx(3.0 * math.sin(math.radians(tilt)))


@given(states, actions, tilts, st.floats(0.0, 1.5), st.floats(0.0, 1.0))
def test_the_equations(state, action, tilt, wind, worn):
    """Against the same in matrices: velocity first, then position."""
    p, v = np.array(state[:2]), np.array(state[2:])
    thrust = 1.5 * rotation(math.radians(tilt)) @ np.diag([1 - worn, 1.0])
    for _ in range(2):
        v = v + 0.05 * (thrust @ np.array(action) + [wind, 0.0] - 0.2 * v)
        p = p + 0.05 * v
    found = Dynamics(tilt, wind, worn).advance(*state, *action)
    np.testing.assert_allclose(found, [*p, *v], atol=1e-12)


@given(st.lists(st.tuples(states, actions), min_size=1, max_size=20), tilts)
def test_arrays_give_the_bits_of_numbers(cases, tilt):
    dynamics = Dynamics(tilt=tilt, wind=0.3, worn=0.2)
    columns = np.array([[*state, *action] for state, action in cases]).T
    together = np.array(dynamics.advance(*np.ascontiguousarray(columns)))
    single = np.array([dynamics.advance(*state, *action) for state, action in cases]).T
    assert together.tobytes() == np.ascontiguousarray(single).tobytes()
    earned = rewards(together[0], together[1])
    assert earned.tolist() == [reward(*p) for p in together[:2].T.tolist()]


def test_reward_is_one_at_the_target_and_falls():
    assert reward(0.0, 0.0) == 1.0
    assert reward(0.25, 0.0) == pytest.approx(math.exp(-0.5))
    assert reward(0.15, 0.2) == pytest.approx(math.exp(-0.5))
    assert reward(100.0, 0.0) == 0.0


def test_starts_fill_the_square_or_the_disc():
    random = np.random.default_rng(0)
    square = np.array([start(random, disc=False) for _ in range(4000)])
    disc = np.array([start(random, disc=True) for _ in range(4000)])
    assert 1.99 < np.abs(square).max() <= 2
    np.testing.assert_allclose((square**2).mean(axis=0), 4 / 3, rtol=0.05)
    radius = np.linalg.norm(disc, axis=1)
    assert radius.max() <= 2
    assert (radius**2).mean() == pytest.approx(2.0, rel=0.05)  # uniform in area
    np.testing.assert_allclose(disc.mean(axis=0), 0.0, atol=0.06)


@pytest.mark.parametrize(
    "dynamics", [Dynamics(wind=1.5), Dynamics(tilt=45.0), Dynamics(tilt=45.0, wind=1.5)], ids=str
)
def test_no_episode_leaves_the_bounds(dynamics):
    for action in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 0.0)]:
        state = (2.0, 2.0, 0.0, 0.0)
        for _ in range(EPISODE):
            state = dynamics.advance(*state, *action)
            assert math.hypot(*state[:2]) < FARTHEST
            assert math.hypot(*state[2:]) < FASTEST
