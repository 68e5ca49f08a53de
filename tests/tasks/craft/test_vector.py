"""Many crafts at once are many single crafts, bit for bit."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from nearsym.errors import UsageError
from nearsym.tasks.craft.environment import CraftEnv
from nearsym.tasks.craft.vector import CraftVectorEnv

COUNT = 5


def pair(**options):
    return CraftVectorEnv(COUNT, **options), SyncVectorEnv([lambda: CraftEnv(**options)] * COUNT)


def actions_for(steps, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (steps, COUNT, 2)).astype(np.float32)


def assert_same(found, expected):
    """Observations, rewards and flags alike in bits and types, and the same infos."""
    for a, b in zip(found[:-1], expected[:-1], strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()
    assert found[-1].keys() == expected[-1].keys()
    for key, value in expected[-1].items():
        np.testing.assert_array_equal(found[-1][key], value)


@pytest.mark.parametrize("actions", ["box", "disc"])
@pytest.mark.parametrize("variant", ["original", "tilt=75", "wind=0.3", "worn=0.5"])
def test_the_same_as_gymnasiums_own_loop(variant, actions):
    """Three episodes with automatic resets, then a reset by hand."""
    many, single = pair(variant=variant, actions=actions)
    assert_same(many.reset(seed=3), single.reset(seed=3))
    for action in actions_for(300):
        assert_same(many.step(action), single.step(action))
    assert_same(many.reset(), single.reset())
    assert_same(many.reset(seed=[5, None, 7, 1, 1]), single.reset(seed=[5, None, 7, 1, 1]))
    for action in actions_for(10, seed=1):
        assert_same(many.step(action), single.step(action))


def test_crafts_can_begin_anew_one_by_one():
    many, single = pair()
    many.reset(seed=0)
    single.reset(seed=0)
    mask = np.array([True, False, False, True, False])
    for action in actions_for(50):
        many.step(action)
        single.step(action)
    for seed in (None, 9):
        found = many.reset(seed=seed, options={"reset_mask": mask})
        assert_same(found, single.reset(seed=seed, options={"reset_mask": mask}))
    for action in actions_for(250, seed=1):
        assert_same(many.step(action), single.step(action))


def test_spaces_and_mode():
    many, single = pair()
    assert many.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert many.observation_space == single.observation_space
    assert many.action_space == single.action_space
    assert many.single_observation_space == CraftEnv().observation_space
    assert many.symmetry == CraftEnv().symmetry
    obs, _ = many.reset(seed=0)
    assert many.observation_space.contains(obs)


def test_works_under_gymnasiums_wrappers():
    env = gym.wrappers.vector.RecordEpisodeStatistics(CraftVectorEnv(COUNT))
    env.reset(seed=0)
    for action in actions_for(120):
        *_, infos = env.step(action)
    assert (infos["episode"]["l"] == 120).all()


def test_without_a_seed_crafts_differ():
    obs, _ = CraftVectorEnv(COUNT).reset()
    assert len({row.tobytes() for row in obs}) == COUNT


def test_returned_arrays_are_the_callers():
    env, other = CraftVectorEnv(COUNT), CraftVectorEnv(COUNT)
    obs, infos = env.reset(seed=0)
    other.reset(seed=0)
    obs[:] = 7
    infos["_environment_steps"][:] = False
    assert_same(env.step(np.zeros((COUNT, 2))), other.step(np.zeros((COUNT, 2))))


@pytest.mark.parametrize("actions", ["box", "disc"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.full((COUNT, 2), np.nan), r"got \[nan, nan\]. Nothing was simulated"),
        (np.eye(COUNT, 2) * 1.5, r"got \[1.5, 0.0\]"),
        (np.zeros((COUNT, 3)), r"shape \(5, 2\) as its action, got float64 of shape \(5, 3\)"),
        (np.zeros((COUNT, 2), complex), "got complex128"),
    ],
)
def test_bad_actions_change_nothing(bad, message, actions):
    env, other = (CraftVectorEnv(COUNT, actions=actions) for _ in range(2))
    env.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(UsageError, match=message):
        env.step(bad)
    assert_same(env.step(np.zeros((COUNT, 2))), other.step(np.zeros((COUNT, 2))))


def test_bad_use():
    env = CraftVectorEnv(COUNT)
    with pytest.raises(UsageError, match=r"call reset\(\) before step\(\)"):
        env.step(np.zeros((COUNT, 2)))
    some = np.arange(COUNT) == 0
    with pytest.raises(UsageError, match=r"call reset\(\) for all"):
        env.reset(options={"reset_mask": some})
    with pytest.raises(UsageError, match="one for each of 5 environments, got 2"):
        env.reset(seed=[1, 2])
    with pytest.raises(UsageError, match="got bool of shape"):
        env.reset(options={"reset_mask": ~some & some})
    with pytest.raises(UsageError, match="`num_envs` is a whole number from 1 to 1,000,000, got 0"):
        CraftVectorEnv(0)
    with pytest.raises(UsageError, match="Unknown action kind"):
        CraftVectorEnv(1, actions="ball")
