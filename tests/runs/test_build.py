"""The composition root: environments, agents, seeds, precision."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.runs.build import (
    build_agent,
    build_env,
    default_model,
    has_pixels,
    resolve_precision,
    seeds_of,
    symmetry_of,
)
from nearsym.runs.config import TaskConfig


def env_of(name, **options):
    return build_env(TaskConfig(name=name, **options))


def test_seeds_differ_from_each_other_and_between_runs():
    seeds = [seeds_of(n) for n in range(50)]
    numbers = [number for found in seeds for number in found.values()]
    assert len(set(numbers)) == len(numbers) == 250
    assert seeds_of(7) == seeds[7]


def test_control_tasks_take_their_options():
    env = env_of("cartpole-swingup", obs="pixels", size=37, frame_stack=2, variant="repeat_action")
    assert env.observation_space.shape == (37, 37, 6)
    assert has_pixels("cartpole-swingup")
    assert not has_pixels("Pendulum-v1")


def test_a_gymnasium_id_gets_the_unit_box():
    env = env_of("Pendulum-v1")
    assert env.action_space.low.tolist() == [-1.0]
    assert env.action_space.high.tolist() == [1.0]
    env.reset(seed=0)
    assert np.isfinite(env.step(np.array([1.0], np.float32))[1])


def test_double_observations_become_single():
    env = env_of("toys:double")
    obs, _ = env.reset(seed=0)
    assert env.observation_space.dtype == np.float32
    assert obs.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("toys:discrete", r"must take bounded continuous actions \(a Box\), got Discrete\(3\)"),
        ("toys:float_images", "must show images as uint8, got float32"),
        ("toys:table_of_actions", r"take actions as a vector.*got actions of the shape \(2, 2\)"),
        ("toys:one_number", r"take actions as a vector.*got actions of the shape \(\)"),
        ("toys:nothing_to_do", r"neither see nor do nothing, got actions of the shape \(0,\)"),
        ("toys:needs_argument", "called with no arguments: missing a required argument: 'size'"),
        (":", "A task of your own is module:factory, got ':'"),
        ("toys:vectr", "Did you mean 'vector'"),
        ("no_such_module:f", "No module 'no_such_module'"),
        ("cartpole-swingp", "Did you mean 'cartpole-swingup'"),
    ],
)
def test_environments_that_will_not_do(name, text):
    with pytest.raises(UsageError, match=text):
        env_of(name)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("cartpole-swingup", "approx"),
        ("toys:vector", "approx"),
        ("toys:plain", "none"),
        ("Pendulum-v1", "none"),
    ],
)
def test_the_default_model_follows_the_declaration(name, model):
    assert default_model(TaskConfig(name=name)) == model


@pytest.mark.parametrize("agent", ["sac", "drqv2"])
def test_none_takes_any_declaration(agent, small):
    """It uses none of it, so a turn that no tanh commutes with does no harm."""
    for model in ("none", "exact"):
        config = small("toys:turned", agent, model)
        env = build_env(config.task)
        if model == "none":
            assert build_agent(config, env).networks.action_size == 2
        else:
            with pytest.raises(UsageError, match="leaves the action space"):
                build_agent(config, env)


def test_without_a_declaration_only_plain_networks():
    env = env_of("toys:plain")
    assert symmetry_of(env, "none").group.order == 1
    with pytest.raises(UsageError, match=r"exact needs a symmetry.*use --model none"):
        symmetry_of(env, "exact")


@pytest.mark.parametrize(
    ("name", "agent", "text"),
    [
        ("toys:larger", "sac", r"moves observations of 2 numbers.*shape \(3,\)"),
        ("toys:two_actions", "sac", r"moves actions of 1 numbers.*shape \(2,\)"),
        ("toys:lopsided", "sac", "mirror_x leaves the action space: entry 0 would reach from -1 "),
        ("toys:images", "sac", "SAC reads vectors.*use --agent drqv2"),
        ("toys:wide_images", "drqv2", "must be square"),
    ],
)
def test_declarations_that_do_not_fit(name, agent, text, small):
    config = small(name, agent)
    with pytest.raises(UsageError, match=text):
        build_agent(config, build_env(config.task))


@pytest.mark.parametrize(
    ("device", "text"), [("gpu", "A device is cpu or cuda"), ("cuda:99", "device")]
)
def test_devices_that_are_not_there(device, text, small):
    config = replace(small(), device=device)
    with pytest.raises(UsageError, match=text):
        build_agent(config, build_env(config.task))


def test_a_lopsided_box_is_no_trouble_without_a_mirror(small):
    config = small("toys:lopsided", model="none")
    assert build_agent(config, build_env(config.task)) is not None


@pytest.mark.parametrize("device", ["cuda:x", "cuda:", "cpu:0x"])
def test_devices_that_are_none(device, small):
    config = replace(small(), device=device)
    with pytest.raises(UsageError, match="A device is cpu or cuda"):
        build_agent(config, build_env(config.task))


def test_building_leaves_the_global_generator_alone(small):
    config = small()
    env = build_env(config.task)
    before = torch.get_rng_state()
    first, second = build_agent(config, env), build_agent(config, env)
    assert torch.equal(before, torch.get_rng_state())
    other = build_agent(replace(config, seed=1), env)
    flat = [
        torch.cat([p.flatten() for p in agent.networks.actor.parameters()])
        for agent in (first, second, other)
    ]
    assert torch.equal(flat[0], flat[1])
    assert not torch.equal(flat[0], flat[2])


def test_precision():
    assert resolve_precision("fp32", "cpu") == "fp32"
    assert resolve_precision("bf16", "cpu") == "bf16"
    has_it = torch.cpu._is_avx512_bf16_supported()
    assert resolve_precision("auto", "cpu") == ("bf16" if has_it else "fp32")


def test_environments_are_gymnasium_ones():
    assert isinstance(env_of("toys:vector"), gymnasium.Env)
