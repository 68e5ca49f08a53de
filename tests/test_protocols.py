"""What departs from Gymnasium's interface is named."""

import gymnasium
import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.protocols import reset, step


class Odd(gymnasium.Env):
    """Returns what it is told to."""

    def __init__(self, from_reset=(0, {}), from_step=(0, 0.0, False, False, {})):
        self.from_reset, self.from_step = from_reset, from_step

    def reset(self, *, seed=None, options=None):
        return self.from_reset

    def step(self, action):
        return self.from_step


class Seedless(Odd):
    def reset(self):
        return self.from_reset


class Broken(Odd):
    def reset(self, **options):
        raise TypeError("its own")


@pytest.mark.parametrize(
    "reward", [1, 1.0, np.float32(1), np.array(1.0), np.bool_(1), torch.tensor(1.0)]
)
def test_what_keeps_to_it_passes(reward):
    env = Odd(from_step=(0, reward, False, False, {}))
    assert reset(env, seed=3) == (0, {})
    assert reset(env, options={}) == (0, {})
    assert step(env, 0)[1] == reward


def test_a_reset_without_a_seed():
    with pytest.raises(UsageError, match=r"Seedless.reset must take a seed: def reset\(self, \*"):
        reset(Seedless())


def test_an_error_of_the_environment_stays_its_own():
    with pytest.raises(TypeError, match="its own"):
        reset(Broken())


@pytest.mark.parametrize(
    ("found", "said"), [(np.zeros(3), "ndarray"), ((1,), "a tuple of 1"), (None, "NoneType")]
)
def test_a_reset_that_returns_something_else(found, said):
    text = rf"Odd.reset must return \(observation, info\), got {said}\."
    with pytest.raises(UsageError, match=text):
        reset(Odd(from_reset=found))


def test_a_step_of_the_old_interface():
    text = r"Odd.step must return \(observation, reward, .* info\), got a tuple of 4\."
    with pytest.raises(UsageError, match=text):
        step(Odd(from_step=(0, 0.0, False, {})), 0)


@pytest.mark.parametrize("reward", [None, np.array([1.0]), [1.0], "1"])
def test_a_reward_that_is_no_number(reward):
    with pytest.raises(UsageError, match=r"Odd\.step must return the reward as a number, got "):
        step(Odd(from_step=(0, reward, False, False, {})), 0)
