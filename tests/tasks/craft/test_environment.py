"""What the craft promises: exact symmetry, exact restoring, bound seeds."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3.common.env_checker import check_env as sb3_check

from nearsym import protocols
from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.tasks.craft.environment import CraftEnv
from nearsym.tasks.craft.variants import VARIANTS

TESTED = ["original", "tilt=75", "tilt=33.3", "wind=0.3", "worn=0.5"]
D4 = dihedral(4)


def rollout(env, actions):
    """Bytes of everything seen, resetting where an episode ends."""
    seen = []
    for action in actions:
        obs, reward, _, truncated, _ = env.step(action)
        seen.append((obs.tobytes(), reward, truncated))
        if truncated:
            seen.append(env.reset()[0].tobytes())
    return seen


def actions_for(count, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 2)).astype(np.float32)


def same(a, b):
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() for key in a)


@pytest.mark.parametrize("obs", ["state", "pixels"])
@pytest.mark.parametrize("actions", ["box", "disc"])
@pytest.mark.parametrize("variant", TESTED)
def test_what_a_variant_keeps_holds_bit_for_bit(variant, actions, obs):
    """A whole episode from s under a and from g·s under g·a: states, rewards, observations."""
    options = {"variant": variant, "actions": actions, "obs": obs, "size": 24}
    env = CraftEnv(**options)
    kept = env.dynamics.keeps(D4)
    images = {g: CraftEnv(**options) for g in kept}
    env.reset(seed=11)
    for g, image in images.items():
        image.set_state(env.transform(g, env.get_state()))
    for action in actions_for(120):
        seen, reward, _, truncated, _ = env.step(action)
        for g, image in images.items():
            moved, moved_reward, *_ = image.step(env.symmetry.action.act(g, action))
            assert same(image.get_state(), env.transform(g, env.get_state()))
            np.testing.assert_array_equal(moved, env.symmetry.observation.act(g, seen))
            assert moved_reward == reward
    assert truncated


@pytest.mark.parametrize("obs", ["state", "pixels"])
@pytest.mark.parametrize("variant", TESTED[1:])
def test_what_a_variant_breaks_parts(variant, obs):
    env, image = (CraftEnv(variant=variant, obs=obs) for _ in range(2))
    for g in set(range(8)) - set(env.dynamics.keeps(D4)):
        env.reset(seed=1)
        image.set_state(env.transform(g, env.get_state()))
        for action in actions_for(60, seed=g):
            seen = env.step(action)[0]
            moved = image.step(env.symmetry.action.act(g, action))[0]
        expected = env.transform(g, env.get_state())["position"]
        assert np.abs(image.get_state()["position"] - expected).max() > 0.1
        assert not np.array_equal(moved, env.symmetry.observation.act(g, seen))


number = st.floats(-5.0, 5.0)
power = st.floats(-1.0, 1.0, width=32)


@given(
    st.tuples(number, number),
    st.tuples(number, number),
    st.tuples(power, power),
    st.sampled_from(range(8)),
    st.sampled_from(VARIANTS),
)
def test_any_state_moves_exactly(position, velocity, action, g, variant):
    env = CraftEnv(variant=variant)
    if g not in env.dynamics.keeps(D4):
        return
    env.reset(seed=0)
    state = env.get_state() | {"position": np.array(position), "velocity": np.array(velocity)}
    action = np.array(action, np.float32)
    env.set_state(state)
    obs, reward, *_ = env.step(action)
    expected = env.transform(g, env.get_state())
    env.set_state(env.transform(g, state))
    moved, moved_reward, *_ = env.step(env.symmetry.action.act(g, action))
    assert same(env.get_state(), expected)
    np.testing.assert_array_equal(moved, env.symmetry.observation.act(g, obs))
    assert moved_reward == reward


def test_transforming_states_is_an_action():
    env = CraftEnv(obs="pixels", size=20)
    env.reset(seed=0)
    env.step(np.array([1.0, 0.3]))
    state, group = env.get_state(), env.symmetry.group
    assert same(env.transform(0, state), state)
    for g in range(8):
        for h in range(8):
            twice = env.transform(g, env.transform(h, state))
            assert same(twice, env.transform(int(group.mul[g, h]), state))


@pytest.mark.parametrize("options", [{}, {"obs": "pixels", "size": 20, "noise": 0.05}], ids=str)
def test_restoring_a_state_continues_bit_for_bit(options):
    """In the same environment and a fresh one, over an episode's end."""
    env = CraftEnv(variant="tilt", **options)
    env.reset(seed=3)
    rollout(env, actions_for(40, seed=1))
    state = env.get_state()
    kept = {key: value.copy() for key, value in state.items()}
    actions = actions_for(200, seed=2)
    gone_on = rollout(env, actions)
    env.set_state(state)
    assert rollout(env, actions) == gone_on
    fresh = CraftEnv(variant="tilt", **options)
    fresh.set_state(state)
    assert fresh.observe().tobytes() == state.get("frames", fresh.observe()).tobytes()
    assert rollout(fresh, actions) == gone_on
    assert same(state, kept)  # nothing was written into it


def test_the_end_of_an_episode_is_part_of_the_state():
    env = CraftEnv()
    env.reset(seed=0)
    for action in actions_for(120):
        env.step(action)
    other = CraftEnv()
    other.set_state(env.get_state())
    with pytest.raises(UsageError, match="is over"):
        other.step(np.zeros(2))


def test_no_zero_is_negative():
    """−0 and 0 are one state, and so are their bits."""
    env = CraftEnv()
    env.reset(seed=0)
    env.set_state(env.get_state() | {"position": np.array([-0.0, 0.0]), "velocity": -np.zeros(2)})
    env.step(-np.zeros(2))
    state = env.get_state()
    assert not np.signbit([*state["position"], *state["velocity"]]).any()
    for g in range(8):
        assert same(env.transform(g, state), state)


def test_states_are_plain_arrays():
    for value in CraftEnv(obs="pixels", size=20).get_state().values():
        assert type(value) is np.ndarray
        assert value.dtype.kind in "iuf"


@pytest.mark.parametrize("obs", ["pixels", "state"])
def test_seeds_bind(obs):
    envs = [CraftEnv(obs=obs, size=20, noise=0.1 * (obs == "pixels")) for _ in range(3)]
    starts = [env.reset(seed=seed)[0].tobytes() for env, seed in zip(envs, [7, 7, 8], strict=True)]
    runs = [rollout(env, actions_for(130)) for env in envs]
    assert (starts[0], runs[0]) == (starts[1], runs[1])
    assert (starts[0], runs[0]) != (starts[2], runs[2])
    assert len({CraftEnv().reset()[0].tobytes() for _ in range(3)}) == 3


def test_an_episode():
    """At rest in the square, 120 steps of one environment step each, rewards in [0, 1]."""
    env = CraftEnv()
    obs, info = env.reset(seed=0)
    assert info == {"environment_steps": 0}
    assert np.abs(obs[:2]).max() <= 2
    assert (obs[2:] == 0).all()
    for step in range(1, 121):
        obs, reward, terminated, truncated, info = env.step(np.array([0.5, -1.0]))
        assert obs.dtype == np.float32
        assert type(reward) is float
        assert 0 <= reward <= 1
        assert info == {"environment_steps": 1}
        assert (terminated, truncated) == (False, step == 120)


def test_observations_show_the_state():
    env = CraftEnv()
    env.reset(seed=0)
    obs = env.step(np.array([1.0, 0.3]))[0]
    state = env.get_state()
    expected = np.concatenate([state["position"], state["velocity"]])
    np.testing.assert_array_equal(obs, expected.astype(np.float32))
    assert dict(zip(env.observation_names, obs, strict=True)) == pytest.approx(
        env.coordinates(state)
    )


def test_a_damped_spring_solves_the_original_and_not_the_tilted():
    """a = −2p − 2v stays near the target; with the thrusters at 90 degrees it flies away."""
    returns = {}
    for variant in ("original", "tilt=90"):
        env = CraftEnv(variant=variant)
        obs, truncated, total = env.reset(seed=0)[0], False, 0.0
        while not truncated:
            action = np.clip(-2 * obs[:2] - 2 * obs[2:], -1, 1)
            obs, reward, _, truncated, _ = env.step(action)
            total += reward
        returns[variant] = total
    assert returns["original"] > 90
    assert returns["tilt=90"] < 20


def test_frames_are_stacked_oldest_first():
    env = CraftEnv(obs="pixels", size=40, noise=0.1)
    obs, _ = env.reset(seed=0)
    assert obs.shape == (40, 40, 9)
    assert np.array_equal(obs[..., :3], obs[..., 6:])  # the first frame, three times
    for action in actions_for(5):
        next_obs = env.step(action)[0]
        assert np.array_equal(next_obs[..., :6], obs[..., 3:])
        assert not np.array_equal(next_obs[..., 6:], obs[..., 6:])
        obs = next_obs


def test_returned_arrays_are_the_callers():
    env = CraftEnv(obs="pixels", size=20)
    obs, _ = env.reset(seed=0)
    obs[:] = 7
    env.get_state()["frames"][:] = 7
    assert not (env.step(np.zeros(2))[0] == 7).any()


def test_rendering_is_clean_and_large():
    env = CraftEnv(obs="pixels", noise=0.5, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (256, 256, 3)
    assert picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, env.render())
    assert CraftEnv().render() is None


@pytest.mark.parametrize("obs", ["pixels", "state"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_checkers_have_nothing_to_say(variant, obs):
    env = CraftEnv(variant=variant, obs=obs, render_mode="rgb_array")
    gymnasium_check(env, skip_render_check=True)  # it would make the environment by its spec
    sb3_check(env)


def test_checkers_accept_discs_and_noise():
    for options in ({"actions": "disc"}, {"obs": "pixels", "noise": 0.1}):
        gymnasium_check(CraftEnv(**options), skip_render_check=True)
        sb3_check(CraftEnv(**options))


def test_protocols():
    env = CraftEnv()
    for offer in (
        protocols.Symmetric,
        protocols.Movable,
        protocols.Observing,
        protocols.HasCoordinates,
        protocols.NamesObservations,
    ):
        assert isinstance(env, offer)
    assert not isinstance(CraftEnv(obs="pixels"), protocols.NamesObservations)


def test_declared_symmetry():
    symmetry = CraftEnv().symmetry
    assert symmetry.group == D4
    quarter = D4.index("rot90")
    np.testing.assert_array_equal(
        symmetry.observation.act(quarter, np.array([1.0, 2.0, 3.0, 4.0])), [-2, 1, -4, 3]
    )
    assert isinstance(CraftEnv(obs="pixels").symmetry.observation, ImageAction)
    smaller = CraftEnv(group=dihedral(2), obs="pixels")
    assert smaller.symmetry.group == dihedral(2)


def test_values_stay_in_the_space():
    for variant in ("tilt=45", "wind=1.5"):
        env = CraftEnv(variant=variant)
        env.reset(seed=0)
        for _ in range(120):
            obs = env.step(np.ones(2))[0]
            assert env.observation_space.contains(obs)
