"""What every control task promises: symmetry, exact restoring, bound seeds, refusing nonsense."""

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.variants import VARIANTS
from nearsym.tasks.registry import make

TASKS = list(DOMAINS)


def rollout(env, actions):
    """Bytes of everything seen, resetting where an episode ends."""
    seen = []
    for action in actions:
        obs, reward, _, truncated, _ = env.step(action)
        seen.append((obs.tobytes(), reward, truncated))
        if truncated:
            seen.append(env.reset()[0].tobytes())
    return seen


def actions_for(env, count, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (count, *env.action_space.shape)).astype(np.float32)


@pytest.mark.longer
@pytest.mark.parametrize("task", TASKS)
def test_mirror_images_stay_mirror_images(task):
    """s under a and g·s under g·a, 1000 steps, for every g: states, rewards and pictures."""
    env = make(task, action_repeat=1, frame_stack=1)
    symmetry = env.unwrapped.symmetry
    elements = range(1, symmetry.group.order)
    images = {g: make(task, action_repeat=1, frame_stack=1) for g in elements}
    env.reset(seed=11)
    for g, image in images.items():
        image.reset(seed=0)
        image.unwrapped.set_state(env.unwrapped.transform(g, env.unwrapped.get_state()))
    for action in actions_for(env, 1000):
        obs, reward, _, truncated, _ = env.step(action)
        state = env.unwrapped.get_state()
        for g, image in images.items():
            moved_obs, moved_reward, *_ = image.step(symmetry.action.act(g, action))
            expected, reached = env.unwrapped.transform(g, state), image.unwrapped.get_state()
            for key in ("qpos", "qvel", "target"):
                assert np.abs(reached[key] - expected[key]).max(initial=0) <= 1e-9
            assert moved_reward == reward
            assert np.array_equal(moved_obs, symmetry.observation.act(g, obs))
    assert truncated


@pytest.mark.parametrize("task", TASKS)
def test_state_observations_move_by_their_representation(task):
    env, image = make(task, obs="state"), make(task, obs="state")
    symmetry = env.unwrapped.symmetry
    for g in range(symmetry.group.order):
        env.reset(seed=g)
        image.reset(seed=0)
        image.unwrapped.set_state(env.unwrapped.transform(g, env.unwrapped.get_state()))
        for action in actions_for(env, 100):
            obs, reward, *_ = env.step(action)
            moved_obs, moved_reward, *_ = image.step(symmetry.action.act(g, action))
            np.testing.assert_allclose(moved_obs, symmetry.observation.act(g, obs), atol=1e-6)
            assert moved_reward == reward


@pytest.mark.parametrize("task", TASKS)
def test_a_wrong_action_map_is_noticed(task):
    """The test above can fail: with actions left as they are, the pair parts."""
    env, image = make(task, obs="state"), make(task, obs="state")
    g = env.unwrapped.symmetry.group.index("mirror_x")
    env.reset(seed=0)
    image.reset(seed=0)
    image.unwrapped.set_state(env.unwrapped.transform(g, env.unwrapped.get_state()))
    for action in actions_for(env, 100):
        obs, moved_obs = env.step(action)[0], image.step(action)[0]
    assert np.abs(moved_obs - env.unwrapped.symmetry.observation.act(g, obs)).max() > 0.1


@pytest.mark.parametrize("task", TASKS)
def test_transforming_states_is_an_action(task):
    env = make(task, size=32)
    env.reset(seed=0)
    core, state = env.unwrapped, env.unwrapped.get_state()
    group = core.symmetry.group
    for g in range(group.order):
        for h in range(group.order):
            one_by_one = core.transform(g, core.transform(h, state))
            at_once = core.transform(int(group.mul[g, h]), state)
            assert one_by_one.keys() == at_once.keys() == state.keys()
            for key in set(state) - {"qpos"}:
                np.testing.assert_array_equal(one_by_one[key], at_once[key])
            turns = (one_by_one["qpos"] - at_once["qpos"]) / (2 * np.pi)
            np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)


@pytest.mark.parametrize("variant", [None, "repeat_action", "wear"])
@pytest.mark.parametrize("task", TASKS)
def test_restoring_a_state_continues_bit_for_bit(task, variant):
    """In the same environment and a fresh one, with noise; reacher's over an episode's end."""
    options = {"variant": variant, "size": 32, "noise": 0.05}
    env = make(task, **options)
    env.reset(seed=3)
    rollout(env, actions_for(env, 140, seed=1))
    state = env.unwrapped.get_state()
    kept = {key: value.copy() for key, value in state.items()}
    actions = actions_for(env, 380 if task == "reacher-hard" else 200, seed=2)
    gone_on = rollout(env, actions)

    env.unwrapped.set_state(state)
    assert rollout(env, actions) == gone_on
    fresh = make(task, **options)
    fresh.unwrapped.set_state(state)
    assert rollout(fresh, actions) == gone_on
    for key, value in kept.items():
        np.testing.assert_array_equal(state[key], value)  # nothing was written into it


def test_states_are_plain_arrays():
    env = make("reacher-hard", size=32)
    env.reset(seed=0)
    for value in env.unwrapped.get_state().values():
        assert type(value) is np.ndarray
        assert value.dtype.kind in "biuf"


@pytest.mark.parametrize("obs", ["pixels", "state"])
@pytest.mark.parametrize("task", TASKS)
def test_seeds_bind(task, obs):
    envs = [make(task, obs=obs, size=40) for _ in range(3)]
    starts = [env.reset(seed=seed)[0].tobytes() for env, seed in zip(envs, [7, 7, 8], strict=True)]
    runs = [rollout(env, actions_for(env, 60)) for env in envs]
    assert (starts[0], runs[0]) == (starts[1], runs[1])
    assert (starts[0], runs[0]) != (starts[2], runs[2])


def test_without_a_seed_episodes_differ():
    starts = {make("reacher-hard", obs="state").reset()[0].tobytes() for _ in range(3)}
    assert len(starts) == 3


@pytest.mark.parametrize("task", TASKS)
def test_rewards_and_states_are_dm_controls(task):
    """The plain suite, same seed and actions: two whole episodes, bit for bit."""
    env = make(task, obs="state", action_repeat=1)
    from dm_control import suite  # after make(), which settles OpenGL for it

    domain = DOMAINS[task]
    plain = suite.load(domain.domain, domain.task, task_kwargs={"random": 5})
    actions = actions_for(env, 1000)
    for seed in (5, None):
        env.reset(seed=seed)
        plain.reset()
        for action in actions:
            _, reward, terminated, truncated, info = env.step(action)
            step = plain.step(action)
            assert reward == step.reward
            assert not terminated
            assert truncated == step.last()
            assert info["discount"] == step.discount
        np.testing.assert_array_equal(env.unwrapped.get_state()["qpos"], plain.physics.data.qpos)
        assert truncated


@pytest.mark.parametrize("task", TASKS)
def test_state_observations_are_dm_controls(task):
    env = make(task, obs="state")
    obs, _ = env.reset(seed=0)
    simulation = env.unwrapped._simulation
    raw = simulation.task.get_observation(simulation.physics)
    flat = np.concatenate([np.ravel(value) for value in raw.values()])
    if task == "reacher-hard":
        assert obs[0] == pytest.approx(np.cos(flat[0]))
        assert obs[1] == pytest.approx(np.sin(flat[0]))
        obs, flat = obs[2:], flat[1:]
    np.testing.assert_array_equal(obs, flat.astype(np.float32))


def test_action_repeat_sums_rewards():
    twice, once = (make("cartpole-swingup", obs="state", action_repeat=n) for n in (2, 1))
    twice.reset(seed=0)
    once.reset(seed=0)
    for action in actions_for(twice, 500):
        _, reward, _, truncated, info = twice.step(action)
        assert reward == once.step(action)[1] + once.step(action)[1]
        assert info["environment_steps"] == 2
    assert truncated


def test_uneven_repeats_end_at_a_thousand():
    env = make("cartpole-swingup", obs="state", action_repeat=3)
    env.reset(seed=0)
    spent, truncated = [], False
    while not truncated:
        *_, truncated, info = env.step(np.zeros(1))
        spent.append(info["environment_steps"])
    assert sum(spent) == 1000
    assert spent[-1] == 1


def test_frames_are_stacked_oldest_first():
    env = make("cartpole-swingup", size=40, noise=0.1)
    obs, _ = env.reset(seed=0)
    assert obs.shape == (40, 40, 9)
    assert np.array_equal(obs[..., :3], obs[..., 6:])  # the first frame, three times
    for action in actions_for(env, 5):
        next_obs = env.step(action)[0]
        assert np.array_equal(next_obs[..., :6], obs[..., 3:])
        assert not np.array_equal(next_obs[..., 6:], obs[..., 6:])
        obs = next_obs


def test_noise_is_gaussian_on_unit_images():
    """On black pixels σ·max(0, N(0, 1)) remains, whose mean is σ/√(2π)."""
    clean, noisy = (
        make("acrobot-swingup", frame_stack=1),
        make("acrobot-swingup", frame_stack=1, noise=0.06),
    )
    black = clean.reset(seed=0)[0] == 0
    values = np.concatenate([noisy.reset(seed=0)[0][black] for _ in range(3)]) / 255
    assert values.mean() == pytest.approx(0.06 / np.sqrt(2 * np.pi), rel=0.02)
    assert np.sqrt((values**2).mean()) == pytest.approx(0.06 / np.sqrt(2), rel=0.02)


def test_returned_observations_are_the_callers():
    env = make("cartpole-swingup", size=40)
    obs, _ = env.reset(seed=0)
    obs[:] = 7
    assert not (env.step(np.zeros(1))[0][..., :3] == 7).any()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([np.nan, 0.0], r"lies in \[-1, 1\], got \[nan, 0.0\]"),
        ([np.inf, 0.0], r"got \[inf, 0.0\]"),
        ([0.0, 1.01], r"got \[0.0, 1.01\]. Nothing was simulated"),
        ([0.0], r"shape \(2,\), got float64 of shape \(1,\)"),
        ([[0.0, 0.0]], r"got float64 of shape \(1, 2\)"),
        (["a", "b"], r"got <U1"),
        (None, r"got object of shape \(\)"),
    ],
)
def test_bad_actions_leave_the_simulator_untouched(action, message):
    env = make("reacher-hard", obs="state", variant="wear")
    env.reset(seed=0)
    env.step(np.array([0.5, 0.5]))
    before = env.unwrapped.get_state()
    with pytest.raises(UsageError, match=message):
        env.step(action)
    after = env.unwrapped.get_state()
    assert all(before[key].tobytes() == after[key].tobytes() for key in before)


def test_rounding_over_the_edge_is_forgiven():
    env, exact = (make("reacher-hard", obs="state") for _ in range(2))
    env.reset(seed=0)
    exact.reset(seed=0)
    obs = env.step(np.array([1 + 1e-7, -1 - 1e-7]))[0]
    np.testing.assert_array_equal(obs, exact.step(np.array([1.0, -1.0]))[0])


def test_stepping_needs_a_running_episode():
    env = make("cartpole-swingup", obs="state", action_repeat=1000)
    with pytest.raises(UsageError, match=r"call reset\(\) before step\(\)"):
        env.step(np.zeros(1))
    env.reset(seed=0)
    assert env.step(np.zeros(1))[3]
    with pytest.raises(UsageError, match=r"has not begun or is over"):
        env.step(np.zeros(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"obs": "pixel"}, "Unknown observation kind 'pixel'. Did you mean 'pixels'"),
        ({"size": 0}, "whole number from 8 to 1024, got 0. The nearest is 8."),
        ({"size": 5000}, "The nearest is 1024."),
        ({"size": 84.6}, "got 84.6. The nearest is 85."),
        ({"size": "big"}, "got 'big'. The default is 85."),
        ({"action_repeat": 0}, "action_repeat is a whole number from 1 to 1000, got 0"),
        ({"frame_stack": 1.5}, "frame_stack is a whole number from 1 to 100, got 1.5"),
        ({"noise": -0.1}, "noise is a standard deviation from 0 to 10, got -0.1"),
        ({"noise": float("nan")}, "got nan"),
        ({"noise": 1e30}, r"from 0 to 10, got 1e\+30"),
        ({"frame_stack": 10**6}, "from 1 to 100, got 1000000. The nearest is 100"),
        ({"noise": 0.1, "obs": "state"}, 'needs obs="pixels"'),
        ({"sise": 64}, "Unknown option of cartpole-swingup 'sise'. Did you mean 'size'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(UsageError, match=message):
        make("cartpole-swingup", **options)


@pytest.mark.parametrize(
    "change",
    [
        {"qpos": np.array([np.nan, 0.0])},
        {"qvel": np.array([0.0, np.inf])},
        {"qpos": np.array([1j, 0.0])},
        {"qpos": np.array(["a", "b"])},
        {"warmstart": np.array([np.nan, 0.0])},
        {"steps": np.array(1001)},
        {"steps": np.array(-1)},
        {"running": np.array("yes")},
        {"noise_random": np.full(6, 2**60, np.uint64)},
        {"noise_random": None},
        {"task_random": np.full(626, -1)},
        {"task_random": np.full(626, 2**40)},
        {"task_random_gauss": np.array(np.nan)},
    ],
    ids=str,
)
def test_a_state_that_is_refused_changes_nothing(change):
    env = make("cartpole-swingup", obs="state").unwrapped
    env.reset(seed=0)
    env.step(np.array([0.5]))
    before, seen = env.get_state(), env.observe()
    with pytest.raises(UsageError):
        env.set_state(before | change)
    after = env.get_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert np.array_equal(env.observe(), seen)


def test_states_of_another_kind_are_refused():
    pixels, state = make("cartpole-swingup", size=40), make("cartpole-swingup", obs="state")
    other = make("ball_in_cup-catch", obs="state")
    for env in (pixels, state, other):
        env.reset(seed=0)
    with pytest.raises(UsageError, match="no state of cartpole-swingup: it needs 'qpos'"):
        state.unwrapped.set_state(other.unwrapped.get_state())
    with pytest.raises(UsageError, match="has no frames"):
        pixels.unwrapped.set_state(state.unwrapped.get_state())
    smaller = make("cartpole-swingup", size=32)
    smaller.reset(seed=0)
    with pytest.raises(UsageError, match="size and frame_stack must agree"):
        pixels.unwrapped.set_state(smaller.unwrapped.get_state())


def hardest(env, steps, seed):
    """Full motors that change direction now and then reach further than uniform actions."""
    random = np.random.default_rng(seed)
    action = np.ones(env.action_space.shape)
    for _ in range(steps):
        if random.random() < 0.05:
            action = random.choice([-1.0, 1.0], env.action_space.shape)
        yield action


def check_finite(env, actions):
    env.reset(seed=0)
    for action in actions:
        obs, reward, terminated, truncated, _ = env.step(action)
        assert env.observation_space.contains(obs)
        assert np.isfinite(reward)
        assert not terminated
        if truncated:
            env.reset()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("task", TASKS)
def test_values_stay_finite(task, variant):
    env = make(task, variant=variant, obs="state", action_repeat=4)
    check_finite(env, hardest(env, 500, seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("obs", ["pixels", "state"])
@pytest.mark.parametrize("variant", [*VARIANTS[:3], "gravity=9.81", "wear=4"])
@pytest.mark.parametrize("task", TASKS)
def test_values_stay_finite_over_ten_thousand_steps(task, variant, obs):
    env = make(task, variant=variant, obs=obs)
    if obs == "pixels":
        check_finite(env, actions_for(env, 10_000))
    else:
        check_finite(env, hardest(env, 10_000, seed=1))


def test_pixels_declare_how_they_move():
    symmetry = make("reacher-hard").unwrapped.symmetry
    assert isinstance(symmetry.observation, ImageAction)
    assert symmetry.group.elements == ("e", "rot180", "mirror_x", "mirror_y")
    picture = np.arange(12).reshape(2, 2, 3)
    np.testing.assert_array_equal(symmetry.observation.act(2, picture), picture[:, ::-1])
    np.testing.assert_array_equal(symmetry.observation.act(3, picture), picture[::-1])
