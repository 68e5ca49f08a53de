"""A symmetry declared from outside."""

import gymnasium as gym

from nearsym.groups.catalog import dihedral
from nearsym.groups.declared import Declared
from nearsym.groups.representation import diagonal
from nearsym.groups.symmetry import Symmetry
from nearsym.protocols import Symmetric, Transforming, layer_of

D1 = dihedral(1)
MIRROR = Symmetry(
    diagonal(D1, {"mirror_x": [1, -1, -1]}, "seen"), diagonal(D1, {"mirror_x": [-1]}, "torque")
)


def test_it_declares_and_changes_nothing():
    env = Declared(gym.make("Pendulum-v1"), MIRROR)
    assert layer_of(gym.wrappers.TimeLimit(env, 5), Symmetric) is env
    plain = gym.make("Pendulum-v1")
    assert (env.reset(seed=3)[0] == plain.reset(seed=3)[0]).all()
    assert env.observation_space == plain.observation_space
    assert layer_of(plain, Symmetric) is None


def test_the_outermost_declaration_counts():
    inner = Declared(gym.make("Pendulum-v1"), MIRROR)
    other = Symmetry(MIRROR.observation, MIRROR.action)
    assert layer_of(Declared(inner, other), Symmetric).symmetry is other


def test_it_knows_how_states_move_only_if_told():
    inner = Declared(gym.make("Pendulum-v1"), MIRROR, lambda g, state: state)
    assert layer_of(inner, Transforming) is inner
    assert layer_of(Declared(inner, MIRROR), Transforming) is inner
    assert layer_of(Declared(gym.make("Pendulum-v1"), MIRROR), Transforming) is None
