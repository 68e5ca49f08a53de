"""A symmetry, and what else an audit needs, on the environment, on a wrapper, or given."""

import gymnasium as gym
import numpy as np
import pytest

from nearsym.audits import MirrorPendulum, audit, audit_environment, audit_rollouts
from nearsym.audits.offers import missing_methods
from nearsym.audits.simulator import Simulator
from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral
from nearsym.groups.declared import Declared
from nearsym.groups.representation import diagonal, from_matrices, plane_of
from nearsym.groups.symmetry import Symmetry

D2 = dihedral(2)


@pytest.fixture
def undeclared(linear_world):
    """States can be set and moved, and nothing is declared."""

    def make(**options):
        world = linear_world(**options)
        declared = world.symmetry
        del world.symmetry
        return world, declared

    return make


def swapped(representation):
    """The same representation for vectors whose entries stand in the opposite order."""
    return from_matrices(D2, representation.matrices[:, ::-1, ::-1], "swapped")


class Backwards(gym.ObservationWrapper):
    """Shows the observation in the opposite order, and declares the symmetry of that."""

    def __init__(self, env, symmetry):
        super().__init__(env)
        self.symmetry = symmetry

    def observation(self, observation):
        return observation[::-1].copy()


class TestWhereTheSymmetryIs:
    def test_an_attribute_a_wrapper_and_an_argument_give_the_same(self, linear_world, undeclared):
        world, symmetry = undeclared(drift=[0, 0.02, 0, 0])
        found = [
            audit(linear_world(drift=[0, 0.02, 0, 0]), samples=100),
            audit(Declared(world, symmetry), samples=100),
            audit(world, symmetry=symmetry, samples=100),
            audit(gym.wrappers.TimeLimit(Declared(world, symmetry), 40), samples=100),
        ]
        assert found[0].verdict == "approximate"
        assert all(other.as_json() == found[0].as_json() for other in found[1:])

    def test_a_wrapper_that_changes_observations(self, undeclared):
        world, symmetry = undeclared(seed=1)
        right = Symmetry(swapped(symmetry.observation), symmetry.action)
        assert audit(Backwards(world, right), samples=100).verdict == "exact"
        turned = right.observation.matrices.copy()
        turned[[1, 2], 0] *= -1
        wrong = Symmetry(from_matrices(D2, turned, "mistaken"), symmetry.action)
        found = audit(Backwards(world, wrong), samples=100)
        assert found.verdict == "wrong"
        assert [(m.part, m.index) for m in found.mistakes] == [("observation", 0)]

    def test_the_outer_symmetry_and_its_observations_hide_the_inner(self, linear_world):
        world = linear_world(seed=1)
        right = Symmetry(swapped(world.rho), world.plane)
        env = Backwards(world, right)
        simulator = Simulator(env)
        assert simulator.env is env
        assert simulator.symmetry is right
        state = simulator.state()
        seen = simulator.outcome(state, np.zeros(2)).obs
        assert (seen == simulator.env.env.x[::-1]).all()

    def test_given_beside_a_declared_one(self, linear_world):
        world = linear_world()
        other = Symmetry(world.rho, diagonal(D2, {g: [1, 1] for g in D2.elements[1:]}, "still"))
        assert audit(world, samples=100).verdict == "exact"
        assert audit(world, symmetry=other, samples=100).verdict == "wrong"

    def test_of_another_group_than_transform(self, linear_world):
        d1 = dihedral(1)
        smaller = Symmetry(2 * plane_of(d1), plane_of(d1))
        with pytest.raises(UsageError, match="LinearWorld moves states by D2, and the symmetry"):
            audit(linear_world(), symmetry=smaller, samples=100)
        told = Declared(linear_world(), smaller, lambda g, s: linear_world().transform(2 * g, s))
        assert audit(told, samples=100).verdict == "exact"

    def test_nowhere(self):
        with pytest.raises(
            UsageError, match=r"on the environment or on a wrapper\. nearsym discover"
        ):
            audit(gym.make("Pendulum-v1"))


class TestWhereTheRestIs:
    def test_states_on_a_wrapper_and_transform_on_another(self):
        class Settable(gym.Wrapper):
            def get_state(self):
                return {"state": self.unwrapped.state}

            def set_state(self, state):
                self.unwrapped.state = state["state"]

        def mirror(g, state):
            return {"state": -state["state"]} if g else state

        settable = Settable(gym.make("Pendulum-v1"))
        assert missing_methods(settable) == ["transform"]
        env = Declared(settable, MirrorPendulum.symmetry, mirror)
        assert missing_methods(env) == []
        found = audit_environment(env, samples=100, longest=50)
        assert found.verdict == "exact"
        assert found.names == ["state[0]", "state[1]", "action[0]"]
        assert found.notes == []  # the observation can be asked for, by Gymnasium's _get_obs

    def test_observations_are_asked_for_through_the_wrappers(self, linear_world):
        class Frank(linear_world):
            def observe(self):
                return self.x.copy()

        world = Frank(seed=1, drift=[0, 0.5, 0, 0])  # no two next states are alike
        env = Backwards(world, Symmetry(swapped(world.rho), world.plane))
        simulator = Simulator(env)
        state = simulator.state()
        assert (simulator.observe(state) == state["x"][::-1]).all()
        assert audit(env, samples=100).notes == []

    def test_an_answer_that_the_wrappers_do_not_show_is_not_taken(self, linear_world):
        class Frank(linear_world):
            def observe(self):
                return self.x.copy()

        class Negated(gym.Wrapper):
            def reset(self, **options):
                obs, info = self.env.reset(**options)
                return -obs, info

            def step(self, action):
                obs, *rest = self.env.step(action)
                return -obs, *rest

        world = Frank(seed=1)
        env = Declared(Negated(world), world.symmetry)
        simulator = Simulator(env)
        assert simulator.observe(simulator.state()) is None
        assert audit(env, samples=100).verdict == "exact"  # from the observations of steps

    def test_names_of_observations_that_a_wrapper_has_changed_are_not_used(self):
        assert Simulator(MirrorPendulum()).observation_names == ("cosine", "sine", "velocity")
        pendulum = MirrorPendulum()
        flat = gym.spaces.Box(-8, 8, (2,))
        fewer = gym.wrappers.TransformObservation(pendulum, lambda obs: obs[1:], flat)
        d1 = pendulum.symmetry.group
        seen = diagonal(d1, {"mirror_x": [-1, -1]}, "seen")
        simulator = Simulator(Declared(fewer, Symmetry(seen, pendulum.symmetry.action)))
        assert simulator.observation_names == ()
        assert audit(simulator.env, samples=100).verdict == "exact"

    def test_a_wrapper_with_a_state_of_its_own_is_refused(self, undeclared):
        class Delayed(gym.Wrapper):
            last = np.zeros(4)

            def step(self, action):
                obs, *rest = self.env.step(action)
                shown, self.last = self.last, obs
                return shown, *rest

        world, symmetry = undeclared()
        with pytest.raises(UsageError, match="keeps a state that set_state does not know"):
            audit(Declared(Delayed(world), symmetry), samples=100)

    def test_rollouts_step_the_layer_that_declares(self, linear_world):
        class Closed(linear_world):
            set_state = None

        world = Closed(seed=1)
        env = Backwards(world, Symmetry(swapped(world.rho), world.plane))
        outside = gym.wrappers.TransformObservation(env, lambda obs: 0 * obs, env.observation_space)
        found = [audit_rollouts(e, samples=100).as_json() for e in (env, outside)]
        assert found[0] == found[1]
