"""The composition root: the only place that turns configurations into objects."""

from pathlib import Path

import gymnasium
import numpy as np
import torch

from nearsym.agents.base import Agent, Compute
from nearsym.agents.drqv2 import DrQV2, DrQV2Config
from nearsym.agents.sac import SAC
from nearsym.audits.declaration import check_box
from nearsym.errors import UsageError
from nearsym.groups.action import Invariant
from nearsym.groups.catalog import trivial
from nearsym.groups.representation import trivial_of
from nearsym.groups.symmetry import Symmetry, TimeSymmetry, symmetry_of
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.protocols import episode_steps
from nearsym.runs.config import RunConfig
from nearsym.runs.limits import check_device, check_memory
from nearsym.tasks.adapted import own_spaces
from nearsym.training.config import discount_for
from nearsym.training.replay import Replay

STREAMS = ("networks", "agent", "replay", "environment", "evaluation")


def seeds_of(seed: int) -> dict[str, int]:
    """Independent seeds for everything that is random in a run.

    >>> sorted(seeds_of(0)) == sorted(STREAMS)
    True
    """
    words = np.random.SeedSequence(seed).generate_state(len(STREAMS))
    return {name: int(word) for name, word in zip(STREAMS, words, strict=True)}


def network_symmetry(env: gymnasium.Env, network: NetworkConfig) -> Symmetry | TimeSymmetry:
    """The symmetry a network is built from; an environment without one has the trivial group."""
    declared = symmetry_of(env)
    if isinstance(declared, Symmetry):
        _check_action(declared, env, network)
        return declared
    if declared is not None:
        return declared
    if network.needs_symmetry:
        what = "equivariant readout of sit" if network.model == "sit" else f"model {network.model}"
        raise UsageError(
            f"The {what} needs a symmetry, and this environment declares none. "
            "Give it an attribute `symmetry`, or use `model='none'`."
        )
    group = trivial()
    shape, action_shape = env.observation_space.shape, env.action_space.shape
    assert shape is not None
    assert action_shape is not None
    observation = Invariant(group) if len(shape) == 3 else shape[0] * trivial_of(group)
    return Symmetry(observation, action_shape[0] * trivial_of(group))


def _check_action(declared: Symmetry, env: gymnasium.Env, network: NetworkConfig) -> None:
    if env.action_space.shape != (declared.action.size,):
        raise UsageError(
            f"The symmetry moves actions of {declared.action.size} numbers, the environment "
            f"takes them in the shape {env.action_space.shape}."
        )
    if network.needs_symmetry:  # actions are rescaled to [−1, 1], which keeps a mirror
        check_box(declared.action, own_spaces(env)[1], "action")


def build_agent(config: RunConfig, env: gymnasium.Env) -> Agent:
    """An agent with freshly drawn networks."""
    seeds = seeds_of(config.seed)
    shape = env.observation_space.shape
    assert shape is not None
    check_reads(config.agent, images=len(shape) == 3)
    check_memory(config.network)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seeds["networks"])  # a GPU's stays as it is
        symmetry = network_symmetry(env, config.network)
        networks = build_actor_critic(symmetry, shape, config.agent, config.network)
    device = find_device(config.device)
    for part in networks.parts.values():
        part.to(device)
    compute = Compute(device, bfloat16=config.precision == "bf16")
    generator = torch.Generator(device).manual_seed(seeds["agent"])
    if isinstance(config.algorithm, DrQV2Config):
        return DrQV2(networks, config.algorithm, compute=compute, generator=generator)
    return SAC(networks, config.algorithm, compute=compute, generator=generator)


def check_reads(agent: str, *, images: bool) -> None:
    """Refuse an agent that cannot read what a task shows."""
    if agent == "sac" and images:
        raise UsageError(
            "SAC reads vectors, and this task shows images: use `agent='drqv2'`, or `obs='state'` "
            "where the task has it."
        )


def build_replay(config: RunConfig, env: gymnasium.Env, folder: Path | None) -> Replay:
    """The empty replay of a run, in memory or in a folder."""
    space, action = env.observation_space, env.action_space
    assert space.shape is not None
    assert action.shape is not None
    training = config.training
    return Replay(
        capacity=training.replay_capacity,
        obs_shape=space.shape,
        obs_dtype=space.dtype,
        action_size=action.shape[0],
        nstep=training.nstep,
        discount=discount_of(config, env),
        frame_stack=config.task.stacked,
        folder=folder,
    )


def discount_of(config: RunConfig, env: gymnasium.Env) -> float:
    """γ of a run: the one that is set, or the one that fits the length of an episode."""
    chosen = config.training.discount
    return discount_for(episode_steps(env)) if chosen is None else chosen


def find_device(name: str) -> torch.device:
    """The torch device of a name, where this machine has it."""
    check_device(name)
    device = torch.device(name)
    if not _is_here(device):
        raise UsageError(f"This torch sees no {name} device: use `device='cpu'`.")
    return device


def device_here(name: str) -> str:
    """The device of a run where this machine has it, else the processor."""
    return name if _is_here(torch.device(name)) else "cpu"


def _is_here(device: torch.device) -> bool:
    return device.type == "cpu" or (device.index or 0) < torch.cuda.device_count()


def resolve_precision(precision: str, device: str) -> str:
    """What `auto` means here: bfloat16 where the hardware computes in it, else float32."""
    if precision != "auto":
        return precision
    if device == "cpu":
        return "bf16" if torch.cpu._is_avx512_bf16_supported() else "fp32"
    with torch.cuda.device(find_device(device)):
        supported = torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if supported else "fp32"
