"""What can be said without setting states: no verdict, and numbers beside their floor."""

import gymnasium as gym
import numpy as np
import pytest

from nearsym.audits.offers import longest_episode
from nearsym.audits.policies import uniform
from nearsym.audits.rollouts import audit_rollouts
from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.symmetry import Symmetry


@pytest.fixture
def closed_world(linear_world):
    class Closed(linear_world):
        set_state = None

    return Closed


def test_a_symmetric_system_stays_at_the_floor(closed_world):
    found = audit_rollouts(closed_world(), samples=1000)
    assert found.as_json()["verdict"] is None
    assert found.missing == ["set_state"]
    assert "has no set_state" in found.reason
    for element in found.elements:
        assert element["eps_p"]["mean"] < 1.3 * element["floor_p"]["mean"]
        assert element["compared"] > 0.5


def test_a_broken_one_rises_above_it(closed_world):
    found = audit_rollouts(closed_world(drift=[0, 0.3, 0, 0]), samples=1000)
    errors = {element["name"]: element for element in found.elements}
    assert errors["mirror_x"]["eps_p"]["mean"] < 1.3 * errors["mirror_x"]["floor_p"]["mean"]
    assert errors["mirror_y"]["compared"] < 0.5 or (
        errors["mirror_y"]["eps_p"]["mean_ci95"][0] > errors["mirror_y"]["floor_p"]["mean"]
    )


def test_pictures_get_no_numbers(closed_world):
    class Seen(closed_world):
        def reset(self, **options):
            return self._picture(super().reset(**options)[0]), {}

        def step(self, action):
            obs, *rest = super().step(action)
            return self._picture(obs), *rest

        def _picture(self, obs):
            return np.full((8, 8, 3), 10 * abs(obs[0]), np.uint8)

    world = Seen()
    world.observation_space = gym.spaces.Box(0, 255, (8, 8, 3), "uint8")
    world.symmetry = Symmetry(ImageAction(world.group, -3, -2), world.plane)
    found = audit_rollouts(world, samples=100)
    assert "Images of nearest steps of rollouts cannot be compared" in found.reason
    assert [element["eps_r"] for element in found.elements] == [None] * 3
    assert found.observations.shape == (100, 8, 8, 3)


def test_observations_that_are_a_buffer_are_copied(closed_world):
    class Reusing(closed_world):
        def step(self, action):
            obs, *rest = super().step(action)
            self.shown[:] = obs
            return self.shown, *rest

        def reset(self, **options):
            self.shown = super().reset(**options)[0]
            return self.shown, {}

    copied, reused = (audit_rollouts(kind(), samples=100) for kind in (closed_world, Reusing))
    assert reused.as_json() == copied.as_json()


@pytest.mark.parametrize(
    "space", [gym.spaces.Dict(x=gym.spaces.Discrete(3)), gym.spaces.Box(0, 1, (2, 2))], ids=str
)
def test_other_spaces_are_refused(closed_world, space):
    world = closed_world()
    world.observation_space = space
    with pytest.raises(UsageError, match="reads vectors or images, got"):
        audit_rollouts(world)


def test_policies_take_turns_and_episodes_end_where_a_wrapper_says(closed_world):
    made, steps = [], []

    class Counted(closed_world):
        def reset(self, **options):
            steps.append(0)
            return super().reset(**options)

        def step(self, action):
            steps[-1] += 1
            obs, reward, terminated, _, info = super().step(action)
            return obs, reward, terminated, False, info

    def named(name):
        def make(env, rng):
            made.append(name)
            return uniform(env, rng)

        return make

    world = gym.wrappers.TimeLimit(Counted(), 7)
    assert longest_episode(gym.wrappers.TimeLimit(world, 9)) == 7
    audit_rollouts(world, samples=100, policies=[named("one"), named("two")])
    assert made == ["one", "two"] * 10
    assert steps[-20:] == [7] * 20
