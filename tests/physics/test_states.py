"""Full states of MuJoCo environments: read, set, and gone on from bit for bit."""

import gymnasium as gym
import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.physics.anywhere import check_set_state, with_states
from nearsym.physics.attribute import AttributeStates
from nearsym.physics.model import places_of, reference_positions
from nearsym.physics.states import ModelStates

pytest.importorskip("mujoco")
IDS = ["InvertedDoublePendulum-v5", "Walker2d-v5", "Ant-v5", "Reacher-v5", "Humanoid-v5"]


def actions_of(env, count, seed=0):
    rng, space = np.random.default_rng(seed), env.action_space
    return [rng.uniform(space.low, space.high).astype(space.dtype) for _ in range(count)]


def steps_of(env, actions):
    return [(obs.tolist(), float(reward)) for obs, reward, *_ in map(env.step, actions)]


@pytest.mark.parametrize("name", IDS)
def test_what_follows_a_state_is_what_followed_it(name):
    env = with_states(gym.make(name))
    env.reset(seed=1)
    steps_of(env, actions_of(env, 15))
    here, seen = env.get_state(), env.observe()
    later = actions_of(env, 15, seed=1)
    once = steps_of(env, later)
    other = with_states(gym.make(name))
    other.reset(seed=2)
    for place in (env, other):
        place.set_state(here)
        assert np.array_equal(place.observe(), seen)
        assert steps_of(place, later) == once


def test_the_first_state_of_an_episode_too():
    env = with_states(gym.make("Ant-v5"))
    obs, _ = env.reset(seed=3)
    here = env.get_state()
    once = steps_of(env, actions_of(env, 5))
    env.set_state(here)
    assert np.array_equal(env.observe(), obs)
    assert steps_of(env, actions_of(env, 5)) == once


def test_watching_changes_no_step():
    plain, watched = gym.make("Walker2d-v5"), with_states(gym.make("Walker2d-v5"))
    assert np.array_equal(plain.reset(seed=0)[0], watched.reset(seed=0)[0])
    assert steps_of(plain, actions_of(plain, 20)) == steps_of(watched, actions_of(watched, 20))


def test_coordinates_have_the_joints_names():
    env = ModelStates(gym.make("Ant-v5"))
    env.reset(seed=0)
    names = list(env.coordinates(env.get_state()))
    assert names[:8] == [*(f"root {p}" for p in ("x", "y", "z", "qw", "qx", "qy", "qz")), "hip_1"]
    assert names[15] == "velocity root x"
    assert names[18] == "velocity root turn x"
    assert len(set(names)) == len(names) == 29
    assert ModelStates(gym.make("Reacher-v5")).angles == ("joint0",)


def test_the_reference_is_free_of_contacts_and_inside_limits():
    env = ModelStates(gym.make("Walker2d-v5"))
    env.reset(seed=0)
    env.set_state(env.reference_state())
    assert env.data.ncon == 0
    model, qpos = env.model, reference_positions(env.model)
    for j in np.flatnonzero(model.jnt_limited):
        assert model.jnt_range[j, 0] < qpos[model.jnt_qposadr[j]] < model.jnt_range[j, 1]


def test_joints_that_share_a_name_are_told_apart():
    import mujoco

    body = "<body><joint type='hinge'/><geom size='1'/></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}{body}</worldbody></mujoco>")
    names = [place.name for place in places_of(model)]
    assert len(set(names)) == 4


def test_a_state_of_another_task_is_refused():
    env, other = ModelStates(gym.make("Ant-v5")), ModelStates(gym.make("Swimmer-v5"))
    env.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(
        UsageError, match=r"no state of SwimmerEnv: it needs 'qpos' of shape \(5,\)"
    ):
        other.set_state(env.get_state())


def test_classic_control_keeps_one_array():
    env = with_states(gym.make("Pendulum-v1"))
    assert isinstance(env, AttributeStates)
    env.reset(seed=0)
    here = env.get_state()
    once = env.step(np.array([1.0], np.float32))[0]
    env.set_state(here)
    assert np.array_equal(env.step(np.array([1.0], np.float32))[0], once)


class TestCollisions:
    """MuJoCo environments have a set_state(qpos, qvel) of their own."""

    ant = type(gym.make("Ant-v5").unwrapped)

    def test_get_state_beside_the_inherited_set_state(self):
        class Half(self.ant):
            def get_state(self):
                return {}

        with pytest.raises(UsageError, match=r"`set_state` of Half takes 2 arguments.*Wrapper"):
            check_set_state(Half())

    def test_set_state_of_a_state_in_its_place(self):
        class Over(self.ant):
            def get_state(self):
                return {}

            def set_state(self, state):
                pass

        with pytest.raises(UsageError, match=r"replaces set_state\(qpos, qvel\), which `reset`"):
            check_set_state(Over.__new__(Over))

    def test_a_wrapper_is_fine(self):
        class Wrapped(gym.Wrapper):
            def get_state(self):
                return {}

            def set_state(self, state):
                pass

        check_set_state(Wrapped(gym.make("Ant-v5")))
