"""From what was asked for to a whole configuration: defaults, options, refusals."""

import gymnasium
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.runs.configure import configure
from nearsym.tasks.control.task import ControlTask
from nearsym.tasks.trading.task import TradingTask


@pytest.mark.parametrize(
    ("task", "options", "agent", "model"),
    [
        ("cartpole-swingup", {}, "drqv2", "approx"),
        ("cartpole-swingup", {"obs": "state"}, "sac", "approx"),
        ("cartpole-swingup", {"agent": "sac"}, "sac", "approx"),
        ("cartpole-swingup", {"obs": "state", "agent": "drqv2"}, "drqv2", "approx"),
        ("cartpole-swingup", {"model": "none"}, "drqv2", "none"),
        ("craft", {}, "sac", "approx"),
        ("craft", {"agent": "drqv2"}, "drqv2", "approx"),
        ("craft", {"obs": "pixels"}, "drqv2", "approx"),
        ("trading", {}, "sac", "none"),
        ("trading", {"symmetry": "ST"}, "sac", "approx"),
        ("toys:vector", {}, "sac", "approx"),
        ("toys:plain", {}, "sac", "none"),
        ("toys:images", {}, "drqv2", "approx"),
        ("Pendulum-v1", {}, "sac", "none"),
    ],
)
def test_the_agent_follows_the_observation_and_the_model_the_declaration(
    task, options, agent, model
):
    config = configure(task, **options)
    assert (config.agent, config.network.model) == (agent, model)
    if isinstance(config.task, ControlTask):
        assert config.task.obs == options.get("obs", "state" if agent == "sac" else "pixels")


def test_what_is_given_replaces_the_preset():
    config = configure(
        "reacher-hard",
        variant="gravity",
        size=61,
        action_repeat=3,
        preset="laptop",
        frames=5000,
        seed=4,
        algorithm={"target_tau": 0.3},
        network={"hidden": 24, "rpp_actor": (1.0, 2.0)},
        training={"nstep": 2},
    )
    assert (config.task.variant, config.task.size, config.task.action_repeat) == ("gravity", 61, 3)
    assert (config.training.frames, config.training.nstep, config.seed) == (5000, 2, 4)
    assert (config.algorithm.target_tau, config.network.hidden) == (0.3, 24)
    assert config.network.rpp_actor == (1.0, 2.0)
    usual = configure("reacher-hard", preset="laptop")
    assert config.training.batch_size == usual.training.batch_size
    assert config.algorithm.learning_rate == usual.algorithm.learning_rate


def test_none_is_not_given():
    nothing = dict.fromkeys(("variant", "size", "noise", "fill", "symmetry", "anything"))
    assert configure("reacher-hard", **nothing, training=None) == configure("reacher-hard")


def test_a_task_as_a_value_keeps_what_it_says():
    task = ControlTask(name="reacher-hard", obs="pixels", size=61, noise=0.02)
    config = configure(task, variant="gravity")
    assert (config.task.size, config.task.noise, config.task.variant) == (61, 0.02, "gravity")
    assert config == configure("reacher-hard", obs="pixels", size=61, noise=0.02, variant="gravity")


def test_the_task_of_a_run_can_be_trained_on_again():
    first = configure("reacher-hard", obs="state", preset="smoke")
    assert first.task.size == 37  # which has no effect, and nobody asked for
    again = configure(first.task, model="none", preset="smoke")
    assert again.task == first.task


def test_a_class_with_a_kind_is_no_task():
    class Odd(gymnasium.Env):
        kind = "control"

        def __init__(self):
            self.observation_space = gymnasium.spaces.Box(-1, 1, (2,))
            self.action_space = gymnasium.spaces.Box(-1, 1, (1,))

    assert configure(Odd).task.kind == "custom"


def test_foresight_brings_its_own_settings_unless_they_are_given():
    config = configure("trading", foresight=True)
    assert (config.task.reward_scale, config.task.episode_days) == (10.0, 5)
    assert configure("trading", foresight=True, episode_days=9).task.episode_days == 9


def test_prices_are_not_rounded():
    assert configure("trading").precision == "fp32"
    assert configure("trading", precision="bf16").precision == "bf16"
    has_it = torch.cpu._is_avx512_bf16_supported()
    assert configure("reacher-hard").precision == ("bf16" if has_it else "fp32")
    assert isinstance(configure("trading").task, TradingTask)


def test_threads_are_those_of_the_process():
    assert configure("trading").threads == torch.get_num_threads()
    assert configure("trading", threads=3).threads == 3


@pytest.mark.parametrize(
    ("task", "options", "text"),
    [
        ("reacher-hard", {"obs": "state", "size": 51}, "`size` is about images.*`obs='pixels'`"),
        ("reacher-hard", {"obs": "state", "noise": 0.1}, "`noise` is about images"),
        ("reacher-hard", {"agent": "sac", "background": True}, "`background` is about images"),
        ("reacher-hard", {"obs": "pixels", "agent": "sac"}, "SAC reads vectors.*`obs='state'`"),
        ("reacher-hard", {"agent": "sak"}, "reacher-hard takes the agent drqv2 or sac, got sak"),
        ("trading", {"agent": "drqv2"}, "trading takes the agent sac, got drqv2"),
        ("reacher-hard", {"model": "aprox"}, "Did you mean 'approx'"),
        ("reacher-hard", {"preset": "lapto"}, "Did you mean 'laptop'"),
        ("reacher-hard", {"frames": 0}, "`frames` must be at least 1, got 0"),
        ("reacher-hard", {"frames": 1e5}, r"`training\.frames` must be int, got 100000\.0"),
        ("reacher-hard", {"frames": "9"}, r"`training\.frames` must be int, got '9'"),
        ("reacher-hard", {"seed": "9"}, "`seed` must be int, got '9'"),
        ("reacher-hard", {"threads": 0}, "`threads` must be at least 1"),
        ("reacher-hard", {"size": 51.0}, r"`task\.size` must be int, got 51\.0"),
        ("reacher-hard", {"precision": "fp16"}, "Unknown precision 'fp16'"),
        ("reacher-hard", {"device": "gpu"}, "A device is cpu or cuda"),
        ("reacher-hard", {"sise": 51}, "Unknown option of reacher-hard 'sise'. Did you mean"),
        (
            "trading",
            {"variant": "gravity"},
            "`variant` belongs to .*and the robots, not",
        ),
        ("reacher-hard", {"model": "exact", "network": {"filters": 2}}, "`filters` belongs to the"),
        (
            "reacher-hard",
            {"model": "none", "network": {"relax": "input"}},
            "`relax` belongs to the",
        ),
        (
            "reacher-hard",
            {"model": "none", "network": {"layers": "steerable"}},
            "`layers='steerable'` needs a group; the model none has none",
        ),
        (
            "reacher-hard",
            {"network": {"layers": "steerable", "relax": "input"}},
            "`relax` is about group layers; steerable ones",
        ),
        (
            "trading",
            {"symmetry": "T", "network": {"relax": "input"}},
            "`layers` and `relax` are about groups of images; trading has none",
        ),
        ("reacher-hard", {"training": {"frame": 5}}, "Unknown setting of training 'frame'"),
    ],
)
def test_what_cannot_be_or_would_be_ignored_is_refused(task, options, text):
    with pytest.raises(UsageError, match=text):
        configure(task, **options)
