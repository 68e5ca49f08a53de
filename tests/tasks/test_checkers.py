"""Gymnasium's and Stable-Baselines3's own checkers, where every warning is an error."""

import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from stable_baselines3.common.env_checker import check_env as sb3_check

from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.variants import VARIANTS
from nearsym.tasks.registry import make


@pytest.mark.parametrize("obs", ["pixels", "state"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("task", DOMAINS)
def test_checkers_have_nothing_to_say(task, variant, obs):
    env = make(task, variant=variant, obs=obs)
    gymnasium_check(env, skip_render_check=variant != "original")
    sb3_check(env)


@pytest.mark.parametrize("task", ["cartpole-swingup", "reacher-hard"])
def test_checkers_accept_noise_and_background(task):
    env = make(task, size=40, noise=0.02, background=True)
    gymnasium_check(env, skip_render_check=True)
    sb3_check(env)
