import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.tasks.craft.environment import CraftEnv
from nearsym.tasks.craft.variants import VARIANTS, parse_variant


def test_names_and_defaults():
    assert VARIANTS == ("original", "tilt", "wind", "worn")
    assert [str(parse_variant(v)) for v in (None, *VARIANTS)] == [
        "original",
        "original",
        "tilt=75",
        "wind=0.3",
        "worn=0.5",
    ]
    assert parse_variant("original").is_original
    assert parse_variant("tilt=0").is_original
    assert not parse_variant("tilt=30").is_original


@pytest.mark.parametrize("obs", ["state", "pixels"])
@pytest.mark.parametrize("name", VARIANTS[1:])
def test_strength_zero_is_the_original_bit_for_bit(name, obs):
    envs = [CraftEnv(variant=variant, obs=obs, size=21) for variant in (None, f"{name}=0")]
    starts = [env.reset(seed=5)[0].tobytes() for env in envs]
    assert starts[0] == starts[1]
    envs[0].action_space.seed(1)
    for _ in range(120):
        action = envs[0].action_space.sample()
        (obs, reward, *_), (other_obs, other_reward, *_) = (env.step(action) for env in envs)
        assert obs.tobytes() == other_obs.tobytes()
        assert reward == other_reward
    states = [env.get_state() for env in envs]
    assert all(states[0][key].tobytes() == states[1][key].tobytes() for key in states[0])


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_a_quarter_turn_sends_each_thruster_along_the_other_axis(ax, ay):
    turned, plain = CraftEnv(variant="tilt=90"), CraftEnv()
    turned.reset(seed=0)
    plain.reset(seed=0)
    obs = turned.step(np.array([ax, ay]))[0]
    np.testing.assert_array_equal(obs, plain.step(np.array([-ay, ax]))[0])


def test_wear_takes_from_the_first_thruster_only():
    worn, plain = CraftEnv(variant="worn=0.5"), CraftEnv()
    worn.reset(seed=0)
    plain.reset(seed=0)
    obs = worn.step(np.array([0.8, 0.6]))[0]
    np.testing.assert_array_equal(obs, plain.step(np.array([0.4, 0.6]))[0])


def test_wind_pushes_along_x():
    env = CraftEnv(variant="wind=0.3")
    before = env.reset(seed=0)[0]
    after = env.step(np.zeros(2))[0]
    assert after[2] == pytest.approx(0.3 * 0.1, rel=0.02)
    assert after[0] > before[0]
    assert (after[1], after[3]) == (before[1], 0.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tlt", "Unknown variant of craft 'tlt'. Did you mean 'tilt'"),
        ("tilt=200", "from 0 to 180, got '200'. The nearest is tilt=180."),
        ("tilt=-5", "The nearest is tilt=0."),
        ("wind=2", "from 0 to 1.5, got '2'. The nearest is wind=1.5."),
        ("worn=much", "The strength of worn is a number from 0 to 1, got 'much'. .* worn=0.5."),
        ("tilt=nan", "got 'nan'. Write, for example, tilt=75."),
        ("tilt=", "got ''"),
        ("original=1", "has no strength"),
    ],
)
def test_bad_variants(text, message):
    with pytest.raises(UsageError, match=message):
        CraftEnv(variant=text)
