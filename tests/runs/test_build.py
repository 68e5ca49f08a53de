"""The composition root: agents, seeds, devices, precision."""

from contextlib import closing
from dataclasses import replace

import pytest
import torch

from nearsym.errors import UsageError
from nearsym.networks.config import NetworkConfig
from nearsym.runs.build import build_agent, network_symmetry, resolve_precision, seeds_of
from nearsym.runs.configure import configure
from nearsym.tasks.registry import find_task


def test_seeds_differ_from_each_other_and_between_runs():
    seeds = [seeds_of(n) for n in range(50)]
    numbers = [number for found in seeds for number in found.values()]
    assert len(set(numbers)) == len(numbers) == 250
    assert seeds_of(7) == seeds[7]


@pytest.mark.parametrize("agent", ["sac", "drqv2"])
def test_none_takes_any_declaration(agent, small):
    """It uses none of it, so a turn that no tanh commutes with does no harm."""
    for model in ("none", "exact"):
        config = small("toys:turned", agent, model)
        env = config.task.make()
        if model == "none":
            assert build_agent(config, env).networks.action_size == 2
        else:
            with pytest.raises(UsageError, match="leaves the action space"):
                build_agent(config, env)


def test_without_a_declaration_only_plain_networks():
    env = find_task("toys:plain").make()
    for model in ("none", "sit"):
        assert network_symmetry(env, NetworkConfig(model=model)).group.order == 1
    with pytest.raises(UsageError, match=r"model exact needs a symmetry.*use `model='none'`"):
        network_symmetry(env, NetworkConfig(model="exact"))
    with pytest.raises(UsageError, match="equivariant readout of sit needs a symmetry"):
        network_symmetry(env, NetworkConfig(model="sit", sit_readout="equivariant"))


@pytest.mark.parametrize(
    ("name", "agent", "text"),
    [
        ("toys:larger", "sac", r"moves observations of 2 numbers.*shape \(3,\)"),
        ("toys:two_actions", "sac", r"moves actions of 1 numbers.*shape \(2,\)"),
        ("toys:lopsided", "sac", "mirror_x leaves the action space: entry 0 would reach from -1 "),
        ("toys:wide_images", "drqv2", "must be square"),
    ],
)
def test_declarations_that_do_not_fit(name, agent, text, small):
    config = small(name, agent)
    with pytest.raises(UsageError, match=text):
        build_agent(config, config.task.make())


@pytest.mark.parametrize(
    ("task", "options"), [("toys:images", {}), ("reacher-hard", {"obs": "pixels"})]
)
def test_sac_reads_vectors(task, options):
    with pytest.raises(UsageError, match=r"SAC reads vectors.*use `agent='drqv2'`"):
        configure(task, agent="sac", **options)


def test_sac_reads_vectors_whatever_a_file_says(small):
    config = small("toys:images", "sac")
    with pytest.raises(UsageError, match="SAC reads vectors"):
        build_agent(config, config.task.make())


@pytest.mark.parametrize(
    ("device", "text"), [("gpu", "A device is cpu or cuda"), ("cuda:99", "device")]
)
def test_devices_that_are_not_there(device, text, small):
    with pytest.raises(UsageError, match=text):
        build_agent(replace(small(), device=device), small().task.make())


def test_a_lopsided_box_is_no_trouble_without_a_mirror(small):
    config = small("toys:lopsided", model="none")
    assert build_agent(config, config.task.make()) is not None


@pytest.mark.parametrize("device", ["cuda:x", "cuda:", "cpu:0x"])
def test_devices_that_are_none(device, small):
    with pytest.raises(UsageError, match="A device is cpu or cuda"):
        replace(small(), device=device)


def test_building_leaves_the_global_generator_alone(small):
    config = small()
    env = config.task.make()
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


def test_building_an_agent_seeds_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "manual_seed_all", None)
    config = configure("craft", preset="smoke", threads=1)
    before = torch.get_rng_state()
    with closing(config.task.make("test")) as env:
        build_agent(config, env)
    assert torch.equal(torch.get_rng_state(), before)
