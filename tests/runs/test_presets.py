"""Presets: the paper's numbers are the paper's, and each can be built."""

import pytest

from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.sac import SACConfig
from nearsym.errors import UsageError
from nearsym.networks.kit import MODELS
from nearsym.runs.config import from_plain, to_plain
from nearsym.runs.presets import PRESETS, preset_config
from nearsym.tasks.registry import find_task


def make(preset, task="cartpole-swingup", agent="drqv2", model="approx", **options):
    if task != "trading":
        options = {"obs": "state" if agent == "sac" else "pixels"} | options
    return preset_config(preset, find_task(task, **options), agent, model)


def test_the_paper_preset_is_the_paper():
    config = make("paper")
    assert (config.task.size, config.task.frame_stack, config.task.action_repeat) == (85, 3, 2)
    assert (config.network.channels, config.network.hidden, config.network.waist) == (32, 1024, 50)
    training = config.training
    assert (training.batch_size, training.nstep, training.discount) == (256, 3, 0.99)
    assert (training.update_every, training.seed_frames) == (2, 4000)
    assert (training.replay_capacity, training.eval_every, training.eval_episodes) == (
        500_000,
        20_000,
        10,
    )
    assert config.algorithm == DrQV2Config(
        learning_rate=1e-4,
        target_tau=0.01,
        random_steps=2000,
        std_start=1.0,
        std_end=0.1,
        std_steps=100_000,
        noise_clip=0.3,
        shift_pad=4,
        saturation_penalty=0.0,
    )


@pytest.mark.parametrize(
    ("task", "model", "tau"),
    [
        ("acrobot-swingup", "rpp", 0.009),
        ("ball_in_cup-catch", "rpp", 0.009),
        ("cartpole-swingup", "rpp", 0.01),
        ("acrobot-swingup", "approx", 0.01),
    ],
)
def test_rpp_has_its_own_tau(task, model, tau):
    assert make("paper", task, model=model).algorithm.target_tau == pytest.approx(tau)
    laptop = make("laptop", task, model=model).algorithm.target_tau
    assert laptop == pytest.approx(2 * tau)


def test_sit_has_the_size_of_the_paper_there_and_that_of_the_others_elsewhere():
    assert make("paper", model="sit").task.size == 64
    for preset in ("laptop", "smoke"):
        assert make(preset, model="sit").task.size == make(preset, model="none").task.size


def test_relaxed_weights_begin_later_where_it_was_found_to_help():
    begins = {
        (preset, agent, model): make(preset, agent=agent, model=model).network.relaxed_from
        for preset in PRESETS
        for agent in ("drqv2", "sac")
        for model in MODELS
    }
    assert {way for way, start in begins.items() if start} == {("laptop", "sac", "approx")}
    assert begins["laptop", "sac", "approx"] == 5000
    assert make("laptop", "craft", "sac", "approx").network.relaxed_from == 0


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("agent", ["drqv2", "sac"])
@pytest.mark.parametrize("model", MODELS)
def test_every_preset_names_itself_and_survives_json(preset, agent, model):
    config = make(preset, agent=agent, model=model)
    assert (config.preset, config.agent, config.network.model) == (preset, agent, model)
    assert isinstance(config.algorithm, SACConfig if agent == "sac" else DrQV2Config)
    assert from_plain(to_plain(config)) == config


def test_what_the_task_says_stays():
    options = {"variant": "repeat_action", "noise": 0.02}
    config = make("laptop", "reacher-hard", "drqv2", "exact", **options)
    assert (config.task.variant, config.task.noise) == ("repeat_action", 0.02)


def test_a_mistyped_preset():
    with pytest.raises(UsageError, match=r"Unknown preset 'smok'\. Did you mean 'smoke'"):
        make("smok")


def test_trading_takes_sac():
    with pytest.raises(UsageError, match="trading takes the agent sac, got drqv2"):
        make("smoke", task="trading")


def test_foresight_has_settings_of_its_own():
    plain = make("paper", "trading", "sac", "none")
    told = make("paper", "trading", "sac", "none", foresight=True)
    assert (plain.task.reward_scale, plain.task.episode_days) == (1.0, None)
    assert (told.task.reward_scale, told.task.episode_days) == (10.0, 5)
    assert (plain.training.discount, told.training.discount) == (0.99, 0.5)
    assert told.network == plain.network
