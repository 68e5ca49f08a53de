"""Runs that follow the scales of their world: own tasks do by default, published ones do not."""

import json

import gymnasium
import numpy as np
import pytest
import torch
from tests.runs.test_train import StopAt, numbers

import nearsym
from nearsym.errors import UsageError
from nearsym.protocols import episode_steps
from nearsym.runs.build import discount_of
from nearsym.runs.configure import configure
from nearsym.runs.folder import read_config
from nearsym.runs.identity import digest
from nearsym.runs.run import Run
from nearsym.runs.start import start_run
from nearsym.training.loop import Interrupted

OFF = {
    "algorithm": {"scale_rewards": False},
    "network": {"normalise": False},
    "training": {"discount": 0.99},
}
SHORT = {
    "preset": "smoke",
    "frames": 120,
    "threads": 1,
    "precision": "fp32",
    "training": {"seed_frames": 40, "update_every": 1, "eval_every": 60, "eval_episodes": 1},
}


def follows(config):
    return (
        config.algorithm.scale_rewards,
        config.network.normalise,
        config.training.discount is None,
    )


@pytest.fixture
def large(toys):
    """The toy in other units: observations times 1000, rewards times a million."""

    class Large(toys.Toy):
        def look(self):
            return 1000 * super().look()

        def step(self, action):
            obs, reward, *rest = super().step(action)
            return obs, 1e6 * reward, *rest

    return Large


@pytest.mark.parametrize("preset", ["laptop", "smoke"])
def test_own_tasks_and_robots_follow_their_scales(preset, toys):
    for task in (toys.vector, "Pendulum-v1", "swimmer"):
        assert follows(configure(task, preset=preset)) == (True, True, True)
    assert follows(configure(toys.images, preset=preset)) == (True, False, True)


def test_without_repeated_actions_sac_learns_at_the_published_rate(toys):
    config = configure(toys.vector, agent="sac")
    assert (config.algorithm.learning_rate, config.algorithm.target_tau) == (3e-4, 0.005)
    assert config.training.seed_frames == config.algorithm.random_steps == 1000


def test_own_tasks_and_robots_play_averaged_weights(toys):
    for task in (toys.vector, "Pendulum-v1", "swimmer"):
        assert configure(task).algorithm.policy_average == 0.005
        assert configure(task, preset="paper").algorithm.policy_average == 0.0


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("craft", {}),
        ("cartpole-swingup", {"obs": "state"}),
        ("cartpole-swingup", {"preset": "paper"}),
        ("trading", {}),
    ],
)
def test_what_was_published_does_not(task, options):
    assert follows(configure(task, **options)) == (False, False, False)


def test_from_pixels_the_preset_laptop_scales_rewards_alone():
    assert follows(configure("cartpole-swingup")) == (True, False, False)


def test_nor_does_the_preset_paper(toys):
    assert follows(configure(toys.vector, preset="paper")) == (False, False, False)


@pytest.mark.parametrize(
    ("task", "options", "known"),
    [
        ("craft", {}, "a7a862a944032749"),
        ("cartpole-swingup", {}, "ee8f24effaa3044f"),
        ("trading", {}, "6769c100bbf059ff"),
        ("Pendulum-v1", OFF, "9e6b40d7afeeff90"),
        ("walker2d", OFF, "e5523d6c60c46209"),
    ],
)
def test_digests_are_what_they_were_before_there_were_such_settings(task, options, known):
    here = {"preset": "smoke", "precision": "fp32", "threads": 1}
    assert digest(configure(task, **here, **options)) == known


def test_every_setting_decides_numbers(toys):
    usual = configure(toys.vector, preset="smoke")
    for section, values in OFF.items():
        assert digest(configure(toys.vector, preset="smoke", **{section: values})) != digest(usual)


@pytest.mark.longer
@pytest.mark.parametrize("model", ["none", "exact", "approx"])
def test_a_run_resumes_bit_for_bit(model, tmp_path):
    config = configure("swimmer", model=model, **SHORT)
    whole = start_run(config, tmp_path / "whole")
    with pytest.raises(Interrupted):
        start_run(config, tmp_path / "cut", stop_requested=StopAt(70))
    again = Run(tmp_path / "cut").resume()
    assert numbers(tmp_path / "cut") == numbers(tmp_path / "whole")
    states = [run.load_agent("last").state_dict() for run in (whole, again)]
    for part in ("encoder", "rewards"):
        assert all(torch.equal(states[0][part][k], v) for k, v in states[1][part].items())
    assert states[0]["encoder"]["normaliser.batches"] == 81
    assert states[0]["rewards"]["unit"] != 1


def test_the_exact_model_stays_exact_after_training(large, tmp_path):
    run = nearsym.train(large, model="exact", out=tmp_path / "run", **SHORT)
    obs = 1000 * np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    assert np.abs(run.policy(obs)).max() > 1e-3
    assert np.abs(run.policy(-obs) + run.policy(obs)).max() < 1e-6
    scale = run.load_agent().networks.normaliser.scale
    assert (scale > 10).all()


def test_returns_are_logged_in_the_units_of_the_environment(large, tmp_path):
    run = nearsym.train(large, model="exact", out=tmp_path / "run", **SHORT)
    rows = [row for row in run.metrics if "train/return" in row]
    assert all(row["train/return"] < -1e5 for row in rows)
    assert any(row.get("reward/unit", 0) > 1e5 for row in rows)
    assert all(abs(row.get("critic/q", 0)) < 1e4 for row in rows)


def test_an_audit_speaks_of_values_in_the_units_of_the_environment(tmp_path):
    from nearsym.audits.pendulum import MirrorPendulum

    run = nearsym.train(MirrorPendulum, model="none", out=tmp_path / "run", **SHORT)
    found, agent = run.audit(samples=100), run.load_agent()
    assert agent.reward_unit > 1.0
    assert found.alpha["discount"] == discount_of(run.config, MirrorPendulum())
    from nearsym.audits.agent import audit_agent

    obs, symmetry = np.eye(3, dtype=np.float32), MirrorPendulum.symmetry
    plain, own = (audit_agent(agent.networks, obs, symmetry, reward_unit=u) for u in (1.0, 4.0))
    assert np.allclose(own.values, 4 * plain.values)
    assert own.q_gap["mean"] == pytest.approx(4 * plain.q_gap["mean"])


def test_an_exported_policy_reads_raw_observations(large, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    run = nearsym.train(large, model="exact", out=tmp_path / "run", **SHORT)
    run.export(tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"))
    obs = 1000 * np.random.default_rng(0).uniform(-1, 1, (5, 2)).astype(np.float32)
    (actions,) = session.run(None, {session.get_inputs()[0].name: obs})
    assert np.allclose(actions, run.policy(obs), atol=1e-5)


def test_a_folder_from_before_opens_and_goes_on(toys, tmp_path):
    sections = {s: SHORT.get(s, {}) | values for s, values in OFF.items()}
    run = nearsym.train(toys.Toy, model="exact", out=tmp_path / "run", **(SHORT | sections))
    path = tmp_path / "run" / "config.json"
    content = json.loads(path.read_text())
    del content["config"]["algorithm"]["scale_rewards"], content["config"]["network"]["normalise"]
    path.write_text(json.dumps(content))
    assert read_config(tmp_path / "run") == run.config
    old = Run(tmp_path / "run", task=toys.Toy)
    assert old.evaluate(episodes=1)["returns"] == run.evaluate(episodes=1)["returns"]
    assert old.resume(frames=160).summary["frames"] == 160


def test_settings_that_were_edited_are_refused_by_name(toys, tmp_path):
    nearsym.train(toys.Toy, model="exact", out=tmp_path / "run", **SHORT)
    path = tmp_path / "run" / "config.json"
    path.write_text(path.read_text().replace('"normalise": true', '"normalise": false'))
    with pytest.raises(UsageError, match=r"trained with network.normalise True, and config.json"):
        Run(tmp_path / "run", task=toys.Toy).evaluate(episodes=1)


def test_images_are_not_normalised(toys, tmp_path):
    with pytest.raises(UsageError, match="`normalise` is about vectors"):
        nearsym.train(
            toys.images, **SHORT, model="none", network={"normalise": True}, out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", ["0.9", True, 1.5])
def test_a_discount_is_a_number_or_nothing(value, toys):
    with pytest.raises(UsageError, match="discount"):
        configure(toys.vector, preset="smoke", training={"discount": value})
    assert configure(toys.vector, training={"discount": 1}).training.discount == 1


class TestLengthsOfEpisodes:
    def test_of_gymnasium_and_its_wrapper(self, toys):
        assert episode_steps(gymnasium.make("Pendulum-v1")) == 200
        assert episode_steps(toys.endless()) == 200
        assert episode_steps(toys.vector()) is None

    def test_an_environment_may_say_it_itself(self, toys):
        env = toys.vector()
        env.max_episode_steps = 20
        assert episode_steps(gymnasium.Wrapper(env)) == 20
        assert episode_steps(nearsym.make("reacher")) == 50

    def test_they_choose_the_discount(self, toys):
        for task, discount in (("Pendulum-v1", 0.99), (toys.vector, 0.99), ("reacher", 0.96)):
            config = configure(task, preset="smoke")
            assert discount_of(config, config.task.make()) == pytest.approx(discount)
        fixed = configure("Pendulum-v1", preset="smoke", training={"discount": 0.5})
        assert discount_of(fixed, fixed.task.make()) == 0.5
