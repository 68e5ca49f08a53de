"""The paper preset, domain by domain, against numbers typed from the paper and from DrQ-v2.

The paper keeps all hyperparameters of Yarats et al. 2021 that it does not name, and these give a
task one of two lengths. Steps are the agent's, frames the environment's: two frames a step.
"""

from typing import NamedTuple

import pytest
import torch

from nearsym.agents.drqv2 import DrQV2
from nearsym.networks.kit import MODELS
from nearsym.runs.configure import configure


class Published(NamedTuple):
    """One domain in the paper's appendix and in DrQ-v2's settings of its tasks."""

    frames: int
    std_steps: int
    rpp_tau: float
    test_noise: float


TABLE = {
    "acrobot-swingup": Published(3_100_000, 500_000, 0.009, 0.02),
    "cartpole-swingup": Published(1_100_000, 100_000, 0.01, 0.06),
    "ball_in_cup-catch": Published(1_100_000, 100_000, 0.009, 0.06),
    "reacher-hard": Published(3_100_000, 500_000, 0.01, 0.02),
}
TASKS = pytest.mark.parametrize("task", TABLE)


def paper(task, model="approx", **options):
    return configure(task, model=model, preset="paper", **options)


@TASKS
@pytest.mark.parametrize("model", MODELS)
def test_lengths_and_schedules(task, model):
    config = paper(task, model)
    assert config.training.frames == TABLE[task].frames
    assert config.algorithm.std_steps == TABLE[task].std_steps
    assert (config.algorithm.std_start, config.algorithm.std_end) == (1.0, 0.1)
    assert (config.algorithm.random_steps, config.training.seed_frames) == (2000, 4000)
    assert (config.task.action_repeat, config.task.frame_stack) == (2, 3)
    assert (config.training.eval_every, config.training.eval_episodes) == (20_000, 10)
    assert config.training.replay_capacity == 500_000
    assert config.task.size == (64 if model == "sit" else 85)


@TASKS
@pytest.mark.parametrize("model", MODELS)
def test_the_speed_of_the_target(task, model):
    tau = TABLE[task].rpp_tau if model == "rpp" else 0.01
    assert paper(task, model).algorithm.target_tau == pytest.approx(tau)


@TASKS
def test_image_noise_at_test_time(task):
    assert paper(task).task.domain.test_noise == TABLE[task].test_noise
    assert paper(task).task.noise == 0.0  # training sees clean images


@TASKS
def test_exploration_has_fallen_where_drqv2_says(task):
    class Explorer(DrQV2):
        """Only what its schedule reads."""

        def __init__(self, config):
            self.config = config

    explorer, steps = Explorer(paper(task).algorithm), TABLE[task].std_steps
    seen = [explorer.std(step) for step in (0, steps // 2, steps, 2 * steps)]
    assert seen == pytest.approx([1.0, 0.55, 0.1, 0.1])
    assert explorer.std(steps - 1) > 0.1


@TASKS
def test_single_precision_unless_asked_otherwise(task, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    assert paper(task).precision == "fp32"
    assert paper(task, precision="bf16").precision == "bf16"
    assert configure(task, preset="laptop").precision == "bf16"


@TASKS
def test_what_is_given_wins(task):
    config = paper(task, frames=5000, algorithm={"std_steps": 7})
    assert (config.training.frames, config.algorithm.std_steps) == (5000, 7)


@TASKS
def test_other_presets_and_agents_have_lengths_of_their_own(task):
    easy = task in ("cartpole-swingup", "ball_in_cup-catch")
    assert configure(task, preset="laptop").training.frames == (60_000 if easy else 100_000)
    assert paper(task, agent="sac").training.frames == 1_000_000
