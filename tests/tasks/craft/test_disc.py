"""The disc of actions: all rotations and mirrors of the plane, to rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.groups.catalog import dihedral
from nearsym.tasks.craft.environment import CraftEnv

MIRROR = np.diag([-1.0, 1.0])
number = st.floats(-4.0, 4.0)
power = st.floats(-1.0, 1.0)


def rotation(angle):
    """As exact as cosines are: not rounded to a quarter turn where it is near one."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def moved_by(matrix, state):
    return state | {name: matrix @ state[name] for name in ("position", "velocity")}


def mismatch(env, matrix, state, action):
    """How far g·s'(s, a) and s'(g·s, g·a) are apart, and their rewards."""
    env.set_state(state)
    _, reward, *_ = env.step(action)
    expected = moved_by(matrix, env.get_state())
    env.set_state(moved_by(matrix, state))
    _, moved_reward, *_ = env.step(matrix @ action)
    reached = env.get_state()
    gap = max(np.abs(reached[name] - expected[name]).max() for name in ("position", "velocity"))
    return max(gap, abs(moved_reward - reward))


def at(env, position, velocity):
    env.reset(seed=0)
    return env.get_state() | {"position": np.array(position), "velocity": np.array(velocity)}


@given(
    st.tuples(number, number),
    st.tuples(number, number),
    st.tuples(power, power),
    st.floats(-7.0, 7.0),
    st.booleans(),
)
def test_every_rotation_and_mirror_is_a_symmetry(position, velocity, action, angle, mirrored):
    env = CraftEnv(actions="disc")
    matrix = rotation(angle) @ (MIRROR if mirrored else np.eye(2))
    assert mismatch(env, matrix, at(env, position, velocity), np.array(action)) < 1e-13


@given(st.tuples(power, power), st.floats(-7.0, 7.0), st.floats(0.0, 180.0))
def test_tilt_keeps_every_rotation(action, angle, tilt):
    env = CraftEnv(actions="disc", variant=f"tilt={tilt}")
    state = at(env, (1.0, 0.5), (0.3, -0.2))
    assert mismatch(env, rotation(angle), state, np.array(action)) < 1e-13


def test_tilt_breaks_every_mirror():
    env = CraftEnv(actions="disc", variant="tilt=75")
    state = at(env, (1.0, 0.5), (0.3, -0.2))
    for angle in np.linspace(0, 2 * np.pi, 13):
        assert mismatch(env, rotation(angle) @ MIRROR, state, np.array([0.6, 0.8])) > 0.05


def test_a_box_is_not_round():
    """The tests above can fail: turned by 45 degrees, an action of the box is cut off."""
    corner, disc = np.array([1.0, 1.0]), CraftEnv(actions="disc")
    turned = rotation(np.pi / 4) @ corner
    state = at(disc, (1.0, 0.5), (0.3, -0.2))
    assert mismatch(disc, rotation(np.pi / 4), state, corner) < 1e-13
    box = CraftEnv()
    box.set_state(state)
    box.step(corner)
    expected = moved_by(rotation(np.pi / 4), box.get_state())
    box.set_state(moved_by(rotation(np.pi / 4), state))
    box.step(np.clip(turned, -1, 1))
    assert np.abs(box.get_state()["velocity"] - expected["velocity"]).max() > 0.03


@given(st.tuples(power, power))
def test_actions_outside_are_scaled_back(action):
    disc, box = CraftEnv(actions="disc"), CraftEnv()
    state = at(box, (1.0, 0.5), (0.3, -0.2))
    for env in (disc, box):
        env.set_state(state)
    action = np.array(action)
    obs = disc.step(action)[0]
    inside = action / max(1.0, np.linalg.norm(action))
    np.testing.assert_allclose(obs, box.step(inside)[0], atol=1e-6)


@pytest.mark.parametrize("n", [3, 8])
def test_any_dihedral_group_may_be_declared(n):
    env = CraftEnv(actions="disc", group=dihedral(n))
    assert env.symmetry.group == dihedral(n)
    for g in range(2 * n):
        env.reset(seed=g)
        state = env.get_state()
        action = np.array([0.9, -0.8])
        obs, reward, *_ = env.step(action)
        env.set_state(env.transform(g, state))
        moved, moved_reward, *_ = env.step(env.symmetry.action.act(g, action))
        np.testing.assert_allclose(moved, env.symmetry.observation.act(g, obs), atol=1e-6)
        assert moved_reward == pytest.approx(reward, rel=1e-12)


def test_what_is_kept_of_a_larger_group():
    group = dihedral(8)
    assert CraftEnv(actions="disc", group=group).dynamics.keeps(group) == tuple(range(16))
    tilted = CraftEnv(actions="disc", group=group, variant="tilt=75")
    assert tilted.dynamics.keeps(group) == tuple(range(8))


def test_episodes_begin_in_a_disc():
    env = CraftEnv(actions="disc")
    starts = np.array([env.reset(seed=seed)[0] for seed in range(300)])
    assert np.linalg.norm(starts[:, :2], axis=1).max() <= 2
    assert (starts[:, 2:] == 0).all()
