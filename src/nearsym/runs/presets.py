"""Settings for three purposes: the paper's, a laptop's, and a test's.

What a preset means for an agent stands here; what it means for a task, with the task.
"""

from dataclasses import replace
from typing import Any

from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.sac import SACConfig
from nearsym.errors import UsageError, unknown_name
from nearsym.networks.config import NetworkConfig
from nearsym.runs.config import RunConfig, with_settings
from nearsym.tasks.task import Task
from nearsym.training.config import TrainingConfig

DEFAULT_PRESET = "laptop"


def preset_config(preset: str, task: Task, agent: str, model: str) -> RunConfig:
    """The settings of a preset for a task, an agent and a model; any of them may be overridden."""
    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    if agent not in task.agents:
        raise UsageError(f"{task.name} takes the agent {' or '.join(task.agents)}, got {agent}.")
    special = task.defaults(preset, agent, model)
    if special.get("task"):
        task = replace(task, **special["task"])  # type: ignore[type-var]
    config = PRESETS[preset](task, agent)
    for section in ("algorithm", "network", "training"):
        config = with_settings(config, section, special.get(section, {}))
    return replace(config, network=replace(config.network, model=model))


def _paper(task: Task, agent: str) -> RunConfig:
    """DrQ-v2 as the paper ran it on pixels; SAC as published on state vectors."""
    if agent == "sac":
        return _config(
            "paper",
            task,
            SACConfig(random_steps=5000),
            NetworkConfig(hidden=256, waist=None),
            TrainingConfig(seed_frames=5000, update_every=1, nstep=1, replay_capacity=1_000_000),
        )
    return _config("paper", task, DrQV2Config(), NetworkConfig(), TrainingConfig())


def _laptop(task: Task, agent: str) -> RunConfig:
    """A clear result within an hour on one core; where it departs from the paper, docs/agents.md
    says so."""
    if agent == "sac":
        return _config(
            "laptop",
            task,
            SACConfig(learning_rate=1e-3, random_steps=1000, target_tau=0.01),
            NetworkConfig(hidden=256, waist=None),
            TrainingConfig(
                frames=100_000,
                seed_frames=2000,
                update_every=1,
                batch_size=128,
                nstep=1,
                replay_capacity=500_000,
                eval_every=10_000,
            ),
        )
    return _config(
        "laptop",
        task,
        DrQV2Config(
            learning_rate=3e-4,
            random_steps=4000 // task.frames_per_step,
            std_steps=50_000 // task.frames_per_step,
            shift_pad=3,
            saturation_penalty=1e-3,
        ),
        NetworkConfig(hidden=256, channels=32, channel_multiple=16),
        TrainingConfig(
            frames=100_000,
            update_every=1,
            batch_size=128,
            replay_capacity=100_000,
            eval_every=5000,
        ),
    )


def _smoke(task: Task, agent: str) -> RunConfig:
    """Seconds: everything runs, nothing is learned."""
    algorithm: DrQV2Config | SACConfig
    if agent == "sac":
        algorithm = SACConfig(random_steps=50)
    else:
        algorithm = DrQV2Config(random_steps=50, std_steps=500)
    return _config(
        "smoke",
        task,
        algorithm,
        # With 8 channels all features of a fresh encoder can be 0 for good.
        NetworkConfig(hidden=32, channels=16, waist=16 if agent == "drqv2" else None),
        TrainingConfig(
            frames=2000,
            seed_frames=400,
            batch_size=16,
            nstep=1 if agent == "sac" else 3,
            replay_capacity=5000,
            eval_every=1000,
            eval_episodes=1,
            checkpoint_every=1000,
        ),
    )


PRESETS = {"paper": _paper, "laptop": _laptop, "smoke": _smoke}


def _config(
    preset: str,
    task: Task,
    algorithm: DrQV2Config | SACConfig,
    network: NetworkConfig,
    training: TrainingConfig,
) -> RunConfig:
    agent = "drqv2" if isinstance(algorithm, DrQV2Config) else "sac"
    shared: dict[str, Any] = {"preset": preset, "task": task, "agent": agent}
    return RunConfig(algorithm=algorithm, network=network, training=training, **shared)
