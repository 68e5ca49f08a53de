"""Runs as objects: opened, looked at, asked, resumed."""

import json
import shutil
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import nearsym
from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.symmetry import Symmetry
from nearsym.runs.policy import own_action
from nearsym.runs.start import start_run
from nearsym.training.loop import Interrupted

MIRROR = dihedral(1)
SIGNS = Symmetry(2 * MIRROR.sign(), MIRROR.sign())
SHORT = {"frames": 80, "seed_frames": 30, "eval_every": 40, "checkpoint_every": 40}
train = partial(nearsym.train, preset="smoke", training=SHORT, threads=1)


def test_a_run_is_opened_with_its_environment(toys, tmp_path):
    first = train(toys.Counted, symmetry=SIGNS, out=tmp_path / "run")
    saved = json.loads((tmp_path / "run" / "config.json").read_text())["config"]
    assert saved["task"]["name"] == "toys:Counted"
    assert saved["task"]["symmetry"]["group"]["name"] == "D1"
    for path in (tmp_path / "run", str(tmp_path / "run")):
        again = nearsym.Run(path, task=toys.Counted)
        assert again.config == first.config
        assert again.task.symmetry == SIGNS
        assert again.evaluate(2) == first.evaluate(2)
    with pytest.raises(UsageError, match="moves observations of 2 numbers"):
        nearsym.Run(tmp_path / "run", task=toys.larger).evaluate(1)
    assert again.resume(frames=120).summary["frames"] == 120


def test_a_run_of_a_local_function_is_opened_with_it(toys, tmp_path):
    def local():
        return toys.Counted()

    first = train(local, out=tmp_path / "run")
    assert nearsym.Run(first.path, local).evaluate(2) == first.evaluate(2)
    with pytest.raises(UsageError, match=r"(Unknown factory in|No module) .*"):
        nearsym.Run(first.path, trust_task=True).evaluate(2)


def test_a_run_is_not_opened_as_something_else(small, toys, tmp_path):
    run = start_run(small("cartpole-swingup", obs="state", eval_every=480), tmp_path / "run")
    assert nearsym.Run(run.path, task="nearsym/cartpole-swingup-v0").config == run.config
    for other in ("reacher-hard", toys.Counted, "Pendulum-v1"):
        with pytest.raises(UsageError, match="was trained on cartpole-swingup, not on the `task`"):
            nearsym.Run(run.path, task=other)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of an approximately equivariant agent, with three episodes in each evaluation."""
    toys = __import__("toys")
    training = SHORT | {"eval_episodes": 3}
    return train(toys.counted, training=training, out=tmp_path_factory.mktemp("runs") / "run")


def test_weights_of_other_networks_are_refused_in_a_sentence(run, toys, tmp_path):
    folder = Path(shutil.copytree(run.path, tmp_path / "run"))
    saved = json.loads((folder / "config.json").read_text())
    saved["config"]["network"]["hidden"] = 48
    (folder / "config.json").write_text(json.dumps(saved))
    other = nearsym.Run(folder, toys.counted)
    text = r"was trained with network\.hidden 32, and config\.json says 48\..*or start a new run\.$"
    for asked in (other.evaluate, other.resume, partial(other.export, tmp_path / "policy.onnx")):
        arguments = {"frames": 120} if asked == other.resume else {}
        with pytest.raises(UsageError, match=text) as error:
            asked(**arguments)
        assert "\n" not in str(error.value)
    assert other.curve().frames.tolist() == [40, 80]  # what was measured can still be read


def test_what_a_run_says_of_itself(run):
    assert repr(run) == f"Run('{run.path}': toys:counted, approx)"
    assert isinstance(run.path, Path)
    assert run.summary["run"] == str(run.path)
    assert run.config.training.frames == 80
    assert run.task is run.config.task


def test_the_curve_has_every_evaluation(run):
    curve = run.curve()
    assert curve.frames.tolist() == [40, 80]
    assert curve.returns.shape == (2, 3)
    assert curve.mean == pytest.approx(curve.returns.mean(axis=1))
    assert curve.mean[-1] == pytest.approx(run.summary["final_return"])
    evaluations = [row for row in run.metrics if "eval/returns" in row]
    assert curve.returns.tolist() == [row["eval/returns"] for row in evaluations]


def test_relaxed_weights_over_the_evaluations(run, toys, tmp_path):
    weights = run.relaxed_weights()
    assert weights
    for values in weights.values():
        assert values.shape[0] == 2
        assert values.shape[-1] == 2  # an element and its mirror image
        assert not np.array_equal(values[0], values[1])
    assert train(toys.Counted, out=tmp_path / "none").relaxed_weights() == {}


def test_before_the_first_evaluation_there_is_no_curve(run, tmp_path):
    (tmp_path / "config.json").write_bytes((run.path / "config.json").read_bytes())
    new = nearsym.Run(tmp_path)
    assert new.metrics == []
    assert len(new.curve().frames) == len(new.curve().mean) == 0
    assert new.relaxed_weights() == {}
    with pytest.raises(UsageError, match="nothing to plot before the first evaluation"):
        new.plot()
    with pytest.raises(
        UsageError, match=r"has not come to its end\. Continue it with `nearsym\.Run"
    ):
        new.summary  # noqa: B018


@pytest.mark.parametrize("kind", [str, Path])
def test_a_picture_of_the_curve(kind, run, tmp_path):
    figure = run.plot(kind(tmp_path / "curve.png"))
    assert (tmp_path / "curve.png").stat().st_size > 1000
    (axes,) = figure.axes
    assert axes.get_title() == "toys:counted, approx"
    (line,) = axes.get_lines()
    assert line.get_xdata().tolist() == [0.04, 0.08]
    assert line.get_ydata() == pytest.approx(run.curve().mean)


def test_the_policy_speaks_the_language_of_the_environment(run, toys):
    run.evaluate(episodes=1, seed=7)
    seen, done = toys.Counted.seen[:-1], toys.Counted.done
    assert len(seen) == len(done) == 20
    assert seen[0].dtype == np.float64
    batch = run.policy(np.stack(seen))
    assert batch.shape == (20, 1)
    assert batch == pytest.approx(np.stack(done), abs=1e-5)
    space = toys.Counted().action_space
    for obs, expected in zip(seen, batch, strict=True):
        action = run.policy(obs)
        assert action == pytest.approx(expected, abs=1e-5)
        assert space.contains(action)
    assert run.policy(seen[0].tolist()) == pytest.approx(batch[0], abs=1e-5)
    assert run.policy(np.float32(seen[0])) == pytest.approx(batch[0], abs=1e-5)


def test_the_policy_is_mirrored_with_the_world(toys, tmp_path):
    exact = train(toys.counted, model="exact", out=tmp_path / "run")
    obs = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    assert exact.policy(-obs) == pytest.approx(-exact.policy(obs), abs=1e-4)
    assert np.abs(exact.policy(obs)).max() > 0


def test_a_sampled_policy_draws(run):
    obs = np.zeros((8, 2))
    assert not np.array_equal(run.policy(obs, sample=True), run.policy(obs, sample=True))
    assert np.array_equal(run.policy(obs), run.policy(obs))


def test_the_policy_of_either_checkpoint(run, toys, tmp_path):
    folder = Path(shutil.copytree(run.path, tmp_path / "run"))
    later, steps = nearsym.Run(folder, toys.counted), count()
    with pytest.raises(Interrupted):  # between two evaluations: the best is that of before
        later.resume(120, stop_requested=lambda: next(steps) > 20)
    obs = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    with closing(later.task.make("test")) as env:
        for checkpoint in ("best", "last", "best"):
            agent = later.load_agent(checkpoint, env)
            expected = own_action(agent, env, obs)
            assert np.array_equal(later.policy(obs, checkpoint=checkpoint), expected)
    assert np.array_equal(later.policy(obs), run.policy(obs))
    assert not np.array_equal(later.policy(obs), later.policy(obs, checkpoint="last"))
    with pytest.raises(UsageError, match="Unknown checkpoint 'first'"):
        later.policy(obs, checkpoint="first")


def test_a_run_that_is_stopped_on_its_way_to_more_frames_has_no_summary(toys, tmp_path):
    run, steps = train(toys.counted, out=tmp_path / "run"), count()
    assert run.summary["frames"] == 80
    with pytest.raises(Interrupted):
        run.resume(160, stop_requested=lambda: next(steps) > 50)
    with pytest.raises(UsageError, match="has not come to its end"):
        run.summary  # noqa: B018 (its best return would not be that of the best checkpoint)
    assert run.resume().summary["frames"] == 160


def test_nor_does_it_start_again_without_its_checkpoints(toys, tmp_path):
    run, steps = train(toys.counted, out=tmp_path / "run"), count()
    with pytest.raises(Interrupted):
        run.resume(160, stop_requested=lambda: next(steps) > 50)
    for checkpoint in (run.path / "checkpoints").iterdir():
        checkpoint.unlink()
    (run.path / "metrics.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match="holds no checkpoint"):
        run.resume()


def test_the_policy_after_more_training_is_the_new_one(toys, tmp_path):
    run = train(toys.counted, out=tmp_path / "run")
    obs = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    before = run.policy(obs, checkpoint="last")
    longer = run.resume(120)
    assert np.array_equal(run.policy(obs, checkpoint="last"), longer.policy(obs, checkpoint="last"))
    assert not np.array_equal(run.policy(obs, checkpoint="last"), before)


@pytest.mark.parametrize("shape", [(), (3,), (4, 3), (1, 4, 2)])
def test_observations_of_another_shape(shape, run):
    text = r"reads observations of the shape \(2,\), or a batch of them, got"
    with pytest.raises(UsageError, match=text):
        run.policy(np.zeros(shape))


@pytest.mark.parametrize("obs", [[np.nan, 0.0], [np.inf, 0.0], [1j, 0.0], ["a", "b"], None])
def test_observations_that_are_no_numbers(obs, run):
    with pytest.raises(UsageError, match="reads observations of finite real numbers"):
        run.policy(np.array(obs))


def test_images_are_read_as_they_are_shown(toys, tmp_path):
    images = Symmetry(ImageAction(MIRROR, -3, -2), MIRROR.sign())
    short = {"frames": 60, "seed_frames": 50, "eval_every": 60}
    run = train(toys.images, symmetry=images, training=short, out=tmp_path / "run")
    assert (run.config.agent, run.config.network.model) == ("drqv2", "approx")
    picture = np.random.default_rng(0).integers(0, 256, (37, 37, 3), dtype=np.uint8)
    assert run.policy(picture).shape == (1,)
    assert run.policy(np.stack([picture, picture])).shape == (2, 1)
    assert nearsym.Run(run.path, toys.images).task.symmetry == images


def test_more_frames(toys, tmp_path):
    first = train(toys.counted, out=tmp_path / "run")
    longer = first.resume(120)
    assert isinstance(longer, nearsym.Run)
    assert (longer.config.training.frames, longer.summary["frames"]) == (120, 120)
    assert longer.curve().frames.tolist() == [40, 80, 120]
    assert nearsym.Run(first.path, toys.counted).config == longer.config


class Seeing(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (4, 4, 3), np.uint8)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)


class Brightness:
    """An agent that acts by the brightness of what it sees."""

    def policy(self, obs, *, sample):
        assert obs.dtype == np.uint8
        return obs.mean(axis=(1, 2, 3))[:, None] / 255


def test_images_that_are_no_bytes_are_refused():
    image = np.full((4, 4, 3), 51)
    for same in (image, np.uint8(image), np.float64(image)):
        assert own_action(Brightness(), Seeing(), same) == pytest.approx(0.2)
    for other in (image / 255, -image, 10 * image):
        with pytest.raises(UsageError, match="reads observations of uint8, and these have other"):
            own_action(Brightness(), Seeing(), other)
