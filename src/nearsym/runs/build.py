"""The composition root: the only place that turns configurations into objects."""

import re
from typing import Any

import gymnasium
import numpy as np
import torch

from nearsym.agents.base import Agent, Compute
from nearsym.agents.drqv2 import DrQV2, DrQV2Config
from nearsym.agents.sac import SAC
from nearsym.audits.declaration import check_box
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.registry import TRADING, make
from nearsym.errors import UsageError
from nearsym.runs.config import RunConfig, TaskConfig
from nearsym.groups.action import Invariant
from nearsym.groups.catalog import trivial
from nearsym.groups.representation import trivial_of
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import build_actor_critic
from nearsym.networks.window import Window

STREAMS = ("networks", "agent", "replay", "environment", "evaluation")


def seeds_of(seed: int) -> dict[str, int]:
    """Independent seeds for everything that is random in a run."""
    words = np.random.SeedSequence(seed).generate_state(len(STREAMS))
    return {name: int(word) for name, word in zip(STREAMS, words, strict=True)}


def build_env(task: TaskConfig, *, noise: float | None = None, **options: Any) -> gymnasium.Env:
    """The environment of a run, flattened to what agents read; with other noise if asked for."""
    if task.name in DOMAINS:
        return make(
            task.name,
            variant=task.variant,
            obs=task.obs or "pixels",
            size=task.size,
            action_repeat=task.action_repeat,
            frame_stack=task.frame_stack,
            noise=task.noise if noise is None else noise,
            background=task.background,
            **options,
        )
    if task.name == TRADING:
        return _trading(task, **options)
    return _adapted(task.name, make(task.name, **options))


def build_eval_env(task: TaskConfig) -> gymnasium.Env:
    """Where training looks how it does: another copy of the task; for trading, the validation
    part, so that the test part stays untouched."""
    return _trading(task, split="validation") if task.name == TRADING else build_env(task)


def _trading(task: TaskConfig, *, split: str = "train", **options: Any) -> gymnasium.Env:
    """Trading in one part of the data; training, unless told otherwise."""
    given: dict[str, Any] = {"data": task.data, "dates": task.split, "symmetry": task.symmetry}
    present = {name: value for name, value in given.items() if value is not None}
    present |= {"fill": task.fill, "late": task.late, "splits": task.splits}
    present |= {"foresight": task.foresight, "max_shares": task.max_shares}
    present |= {"reward_scale": task.reward_scale}
    if split == "train" and task.episode_days is not None:
        present |= {"random_start": True, "episode_days": task.episode_days}
    return make(task.name, split=split, **(present | options))


def has_pixels(task: str) -> bool:
    """Whether a task can be seen as pixels or as a state vector, by choice."""
    return task in DOMAINS


def shows_images(task: str) -> bool:
    """Whether an environment of one's own observes images."""
    env = build_env(TaskConfig(name=task))
    images = len(env.observation_space.shape or ()) == 3
    env.close()
    return images


def default_model(task: TaskConfig) -> str:
    """approx where the task declares a symmetry, else none."""
    if task.name in DOMAINS or task.symmetry is not None:
        return "approx"
    if task.name == TRADING:
        return "none"
    env = build_env(task)
    declared = isinstance(getattr(env.unwrapped, "symmetry", None), Symmetry)
    env.close()
    return "approx" if declared else "none"


def symmetry_of(env: gymnasium.Env, model: str) -> Symmetry:
    """The symmetry a model is built from; an environment without one has the trivial group."""
    declared = getattr(env.unwrapped, "symmetry", None)
    if isinstance(declared, Symmetry):
        if env.action_space.shape != (declared.action.size,):
            raise UsageError(
                f"The symmetry moves actions of {declared.action.size} numbers, the environment "
                f"takes them in the shape {env.action_space.shape}."
            )
        if model not in ("none", "sit"):  # actions are rescaled to [−1, 1], which keeps a mirror
            check_box(declared.action, env.unwrapped.action_space, "action")
        return declared
    if model not in ("none", "sit") and window_of(env) is None:
        raise UsageError(
            f"The model {model} needs a symmetry, and this environment declares none. "
            "Give it an attribute `symmetry`, or use --model none."
        )
    group = trivial()
    shape, action_shape = env.observation_space.shape, env.action_space.shape
    assert shape is not None
    assert action_shape is not None
    observation = Invariant(group) if len(shape) == 3 else shape[0] * trivial_of(group)
    return Symmetry(observation, action_shape[0] * trivial_of(group))


def window_of(env: gymnasium.Env) -> Window | None:
    """The window of days that an environment shows, if it is one of days."""
    task: Any = env.unwrapped
    if not hasattr(task, "temporal"):
        return None
    return Window(task.window, len(task.features), task.temporal)


def build_agent(config: RunConfig, env: gymnasium.Env) -> Agent:
    """An agent with freshly drawn networks."""
    seeds = seeds_of(config.seed)
    shape = env.observation_space.shape
    assert shape is not None
    if config.agent == "sac" and len(shape) == 3:
        raise UsageError("SAC reads vectors, and this environment shows images: use --agent drqv2.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds["networks"])
        networks = build_actor_critic(
            symmetry_of(env, config.network.model),
            shape,
            config.agent,
            config.network,
            window=window_of(env),
        )
    device = _device(config.device)
    for part in networks.parts.values():
        part.to(device)
    compute = Compute(device, bfloat16=config.precision == "bf16")
    generator = torch.Generator(device).manual_seed(seeds["agent"])
    if isinstance(config.algorithm, DrQV2Config):
        return DrQV2(networks, config.algorithm, compute=compute, generator=generator)
    return SAC(networks, config.algorithm, compute=compute, generator=generator)


def _device(name: str) -> torch.device:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise UsageError(f"A device is cpu or cuda (or cuda:1, …), got {name!r}.")
    device = torch.device(name)
    if not _is_here(device):
        raise UsageError(f"This torch sees no {name} device: use --device cpu.")
    return device


def _is_here(device: torch.device) -> bool:
    return device.type == "cpu" or (device.index or 0) < torch.cuda.device_count()


def device_here(name: str) -> str:
    """The device of a run where this machine has it, else the processor."""
    return name if _is_here(torch.device(name)) else "cpu"


def resolve_precision(precision: str, device: str) -> str:
    """What `auto` means here: bfloat16 where the hardware computes in it, else float32."""
    if precision != "auto":
        return precision
    if device == "cpu":
        return "bf16" if torch.cpu._is_avx512_bf16_supported() else "fp32"
    with torch.cuda.device(_device(device)):
        supported = torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if supported else "fp32"


def _adapted(name: str, env: gymnasium.Env) -> gymnasium.Env:
    """Somebody's own environment with actions in [−1, 1]ⁿ and float32 or uint8 observations."""
    obs, action = env.observation_space, env.action_space
    if not isinstance(obs, gymnasium.spaces.Box) or len(obs.shape) not in (1, 3):
        raise UsageError(f"{name} must observe a vector or an image (a Box), got {obs}.")
    if not isinstance(action, gymnasium.spaces.Box) or not action.is_bounded():
        raise UsageError(f"{name} must take bounded continuous actions (a Box), got {action}.")
    if len(action.shape) != 1 or 0 in (*obs.shape, *action.shape):
        raise UsageError(
            f"{name} must take actions as a vector and neither see nor do nothing, got actions "
            f"of the shape {action.shape} and observations of the shape {obs.shape}."
        )
    if not (np.all(action.low == -1) and np.all(action.high == 1)):
        env = gymnasium.wrappers.RescaleAction(env, np.float32(-1), np.float32(1))
    if len(obs.shape) == 3 and obs.dtype != np.uint8:
        raise UsageError(f"{name} must show images as uint8, got {obs.dtype}.")
    if len(obs.shape) == 1 and obs.dtype != np.float32:
        single = np.float32  # Gymnasium's DtypeObservation does the same with a warning
        space = gymnasium.spaces.Box(obs.low.astype(single), obs.high.astype(single), dtype=single)
        env = gymnasium.wrappers.TransformObservation(env, lambda x: x.astype(single), space)
    return env
