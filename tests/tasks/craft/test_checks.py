"""What the craft refuses, and that nothing has changed then."""

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral, product
from nearsym.tasks.craft.environment import CraftEnv


def same(a, b):
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() for key in a)


@pytest.mark.parametrize("actions", ["box", "disc"])
@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([np.nan, 0.0], r"lies in \[-1, 1\]².*, got \[nan, 0.0\]"),
        ([np.inf, 0.0], r"got \[inf, 0.0\]"),
        ([1.01, 1.01], r"got \[1.01, 1.01\]. Nothing was simulated"),
        ([0.0], r"shape \(2,\) as its action, got float64 of shape \(1,\)"),
        ([[0.0, 0.0]], r"got float64 of shape \(1, 2\)"),
        ([[0.0], [0.0, 1.0]], r"got object of shape \(\)"),
        ([0.0, 1j], r"got complex128"),
        (["a", "b"], r"got <U1"),
        ([True, False], r"got bool"),
        (None, r"got object of shape \(\)"),
    ],
)
def test_bad_actions_change_nothing(action, message, actions):
    env = CraftEnv(actions=actions)
    env.reset(seed=0)
    env.step(np.array([0.5, 0.5]))
    before = env.get_state()
    with pytest.raises(UsageError, match=message):
        env.step(action)
    assert same(before, env.get_state())


def test_rounding_over_the_edge_is_forgiven():
    env, exact = CraftEnv(), CraftEnv()
    env.reset(seed=0)
    exact.reset(seed=0)
    obs = env.step(np.array([1 + 1e-7, -1 - 1e-7]))[0]
    np.testing.assert_array_equal(obs, exact.step(np.array([1, -1]))[0])


def test_stepping_needs_a_running_episode():
    env = CraftEnv()
    with pytest.raises(UsageError, match=r"call reset\(\) before step\(\)"):
        env.step(np.zeros(2))
    env.reset(seed=0)
    for _ in range(120):
        env.step(np.zeros(2))
    with pytest.raises(UsageError, match=r"has not begun or is over"):
        env.step(np.zeros(2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": np.array([np.nan, 0.0])}, r"position lies within ±139, got \[nan, 0.0\]"),
        ({"position": np.array([1e9, 0.0])}, "position lies within"),
        ({"velocity": np.array([0.0, np.inf])}, "velocity lies within ±17"),
        ({"velocity": np.array([0.0, 1j])}, "'velocity' has shape .*, got complex128"),
        ({"position": np.zeros(3)}, r"'position' has shape \(2,\), got float64 of shape \(3,\)"),
        ({"steps": np.array(121)}, "steps lie from 0 to 120, got 121"),
        ({"steps": np.array(-1)}, "got -1"),
        ({"steps": np.array(1.5)}, "'steps' has shape .*, got float64"),
        ({"random": np.zeros(5, np.uint64)}, "'random' has shape"),
        ({"random": np.full(6, 2**60, np.uint64)}, "no random state"),
        ({"frames": np.zeros((8, 8, 9), np.uint8)}, "`size` and `frame_stack` must agree"),
        ({"frames": np.zeros((20, 20, 9))}, "The state's frames are float64"),
    ],
)
def test_bad_states_change_nothing(change, message):
    env = CraftEnv(obs="pixels", size=20)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(UsageError, match=message):
        env.set_state(before | change)
    assert same(before, env.get_state())


@pytest.mark.parametrize("missing", ["position", "velocity", "steps", "random", "frames"])
def test_incomplete_states_are_refused(missing):
    env = CraftEnv(obs="pixels", size=20)
    env.reset(seed=0)
    state = env.get_state()
    state.pop(missing)
    with pytest.raises(UsageError, match=missing):
        env.set_state(state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"obs": "pixel"}, "Unknown observation kind 'pixel'. Did you mean 'pixels'"),
        ({"actions": "disk"}, "Unknown action kind 'disk'. Did you mean 'disc'"),
        ({"render_mode": "human"}, "Unknown render mode 'human'"),
        ({"size": 0}, "from 8 to 1024, got 0. Use `size=8`."),
        ({"size": 5000}, "Use `size=1024`."),
        ({"size": "big"}, "got 'big'. Use `size=51`."),
        ({"frame_stack": 1.5}, "`frame_stack` is a whole number from 1 to 100, got 1.5"),
        (
            {"noise": -0.1, "obs": "pixels"},
            "`noise` is a standard deviation from 0 to 10, got -0.1",
        ),
        ({"obs": "pixels", "noise": 1e30}, r"from 0 to 10, got 1e\+30"),
        ({"frame_stack": 10**6}, "from 1 to 100, got 1000000"),
        ({"noise": float("nan")}, "got nan"),
        ({"noise": "loud"}, "got 'loud'"),
        ({"noise": 0.1}, "needs `obs='pixels'`"),
        ({"group": 8}, "`group` is a finite group of the plane .* got 8"),
        ({"group": dihedral(8)}, r"would leave the box"),
        ({"group": dihedral(8), "actions": "disc", "obs": "pixels"}, "does not fit the pixel grid"),
        ({"group": product(dihedral(1), dihedral(1))}, "has no plane action"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(UsageError, match=message):
        CraftEnv(**options)
