"""Gymnasium's MuJoCo tasks: theirs step for step, with a symmetry, and variants that break it."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from stable_baselines3.common.env_checker import check_env as sb3_check

import nearsym
from nearsym.audits.environment import audit_environment
from nearsym.errors import UsageError
from nearsym.physics.body import body_move
from nearsym.tasks.robots.domains import DOMAINS, X
from nearsym.tasks.robots.environment import RobotEnv

EXACT = ["swimmer", "walker2d", "ant", "ant-stand", "reacher"]
NEARLY = {"inverted_pendulum": 0.01, "inverted_double_pendulum": 1e-5, "humanoid": 0.02}
"""What Gymnasium's own models are off by, in mean steps."""


def audited(name, variant=None):
    return audit_environment(nearsym.make(name, variant=variant), samples=100, longest=40)


@pytest.mark.parametrize("name", EXACT)
def test_declarations_are_exact(name):
    found = audited(name)
    assert (found.verdict, found.mistakes) == ("exact", [])
    uneven = {start["coordinate"] for start in found.starts}
    assert uneven == ({"joint0"} if name == "reacher" else set())  # the arm begins along x


@pytest.mark.parametrize("name", NEARLY)
def test_models_that_are_slightly_off_are_said_to_be(name):
    found = audited(name)
    (mirror,) = found.elements
    assert found.verdict == "approximate"
    assert 0 < mirror.eps_p_relative.mean < NEARLY[name]


@pytest.mark.longer
@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("inverted_pendulum", "tilt"),
        ("swimmer", "wear"),
        ("swimmer", "tilt"),
        ("walker2d", "wear"),
        ("ant", "tilt"),
        ("reacher", "wear"),
    ],
)
def test_variants_break_it_everywhere_and_mistake_nothing(name, variant):
    found = audited(name, variant)
    assert not found.mistakes
    assert found.verdict in ("approximate", "partial")
    assert max(e.strength.broken_share for e in found.elements) > 0.5
    assert audited(name, f"{variant}=0").verdict in ("exact", "approximate")


def test_friction_of_one_foot_breaks_it_where_feet_touch():
    found = audit_environment(
        nearsym.make("walker2d", variant="friction=0.8"), samples=200, longest=150
    )
    share = found.elements[0].strength.broken_share
    assert 0.05 < share < 0.95
    assert found.verdict in ("approximate", "partial")


@pytest.mark.longer
def test_ants_that_stand_lose_what_a_tilt_takes():
    exact = {e.name for e in audited("ant-stand", "tilt").elements if e.strength.exact}
    assert exact == {"mirror_x"}  # the slope runs along y


def test_zero_is_the_original_bit_for_bit():
    for variant in ("wear=0", "tilt=0", "friction=0"):
        plain, changed = nearsym.make("ant"), nearsym.make("ant", variant=variant)
        assert np.array_equal(plain.reset(seed=1)[0], changed.reset(seed=1)[0])
        for a in np.random.default_rng(0).uniform(-1, 1, (20, 8)).astype(np.float32):
            assert plain.step(a)[1] == changed.step(a)[1]


@pytest.mark.parametrize("name", ["inverted_pendulum", "walker2d", "humanoid"])
def test_steps_are_gymnasiums_own(name):
    domain = DOMAINS[name]
    ours, theirs = nearsym.make(name), gym.make(domain.gymnasium_id)
    assert np.allclose(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    high = theirs.action_space.high
    for action in np.random.default_rng(0).uniform(-1, 1, (4, len(high))).astype(np.float32):
        one = ours.step(action)
        two = theirs.step((high * action.astype(float)).astype(float))
        assert np.allclose(one[0], two[0], rtol=1e-5, atol=1e-6)
        assert one[1:3] == pytest.approx(two[1:3])


@pytest.mark.parametrize("name", DOMAINS)
def test_transform_is_an_action_and_shows(name):
    env = nearsym.make(name).unwrapped
    env.reset(seed=0)
    for action in np.random.default_rng(1).uniform(-0.1, 0.1, (4, env.action_space.shape[0])):
        env.step(action)
    state, group, symmetry = env.get_state(), env.symmetry.group, env.symmetry
    seen = env.observe()
    for g in range(group.order):
        for h in range(group.order):
            twice = env.transform(g, env.transform(h, state))
            once = env.transform(int(group.mul[g, h]), state)
            turned = (twice["qpos"] - once["qpos"]) / (2 * np.pi)
            assert np.allclose(turned, np.round(turned), atol=1e-9)
            assert np.array_equal(twice["qvel"], once["qvel"])
        env.set_state(env.transform(g, state))
        # Forces come after positions and velocities, and humanoid's model is slightly off in them.
        shown = slice(0, 45 if name == "humanoid" else None)
        expected = symmetry.observation.act(g, seen)
        assert np.allclose(env.observe()[shown], expected[shown], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["inverted_pendulum", "ant", "reacher"])
def test_a_state_restores_everything(name):
    env = nearsym.make(name, variant="wear").unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(2)
    actions = rng.uniform(-1, 1, (6, env.action_space.shape[0])).astype(np.float32)
    env.step(actions[0])
    here = env.get_state()
    once = [env.step(a)[:2] for a in actions[1:3]]
    again = env.reset()[0]
    env.set_state(here)
    twice = [env.step(a)[:2] for a in actions[1:3]]
    assert all(
        np.array_equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(once, twice, strict=True)
    )
    assert np.array_equal(env.reset()[0], again)


@pytest.mark.parametrize("name", DOMAINS)
def test_checkers_have_nothing_to_say(name):
    env = nearsym.make(name)
    gymnasium_check(env, skip_render_check=True)
    sb3_check(env)


def test_a_run_in_a_robot(tmp_path):
    run = nearsym.train("swimmer", model="approx", preset="smoke", frames=600, out=tmp_path / "run")
    assert run.task.name == "swimmer"
    assert len(run.policy(np.zeros(8))) == 2


class TestRefusals:
    def test_names(self):
        with pytest.raises(UsageError, match="Did you mean 'walker2d'"):
            nearsym.make("walker2")
        with pytest.raises(UsageError, match="Unknown variant of walker2d 'tilt'"):
            nearsym.make("walker2d", variant="tilt")
        with pytest.raises(UsageError, match="Unknown robot 'anth'"):
            RobotEnv("anth")

    def test_actions(self):
        env = nearsym.make("swimmer")
        with pytest.raises(UsageError, match=r"call reset\(\) before step\(\)"):
            env.step(np.zeros(2, np.float32))
        env.reset(seed=0)
        with pytest.raises(UsageError, match=r"lies in \[-1, 1\], got \[2.0, 0.0\]"):
            env.step(np.array([2.0, 0.0], np.float32))

    def test_an_isometry_that_the_model_does_not_have(self):
        model = nearsym.make("swimmer").unwrapped.model
        with pytest.raises(UsageError, match="takes the body 'mid' where no other one is"):
            body_move(model, X)


@pytest.mark.parametrize("action", [None, "x", np.ones(1, complex), [np.nan], [2.0], [0.0, 0.0]])
def test_actions_that_are_none_change_nothing(action):
    env = nearsym.make("inverted_pendulum").unwrapped
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(UsageError, match=r"has shape \(1,\) and lies in .* Nothing was simulated"):
        env.step(action)
    assert_same_state(env.get_state(), before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("qpos", np.array([np.nan, 0.0])),
        ("qpos", np.zeros(2, complex)),
        ("qvel", np.zeros(3)),
        ("ctrl", None),
        ("steps", "x"),
        ("time", np.inf),
        ("task_random", np.zeros(6)),
    ],
)
def test_states_that_are_none_change_nothing(name, value):
    env = nearsym.make("inverted_pendulum", variant="wear").unwrapped
    env.reset(seed=0)
    env.step([0.5])
    before = env.get_state()
    with pytest.raises(UsageError):
        env.set_state(env.get_state() | {name: value})
    with pytest.raises(UsageError, match="A state is what get_state"):
        env.set_state(None)
    assert_same_state(env.get_state(), before)


def assert_same_state(a, b):
    assert all(np.array_equal(a[name], b[name]) for name in b)
