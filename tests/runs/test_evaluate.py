"""Evaluating a run: mean, interval, noise, film."""

from importlib import import_module

import imageio.v3 as imageio
import imageio_ffmpeg
import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.runs.evaluate import evaluate_run, evaluate_shuffled
from nearsym.runs.run import start

KEYS = {"return_mean", "return_ci95", "returns", "episodes", "noise"}
STEPS = 125  # of an episode: 1000 frames, eight a step


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    from nearsym.runs.config import TaskConfig
    from nearsym.runs.presets import preset_config

    return _trained(tmp_path_factory, preset_config, TaskConfig(name="toys:vector"), "sac", 80)


@pytest.fixture(scope="module")
def pixels(tmp_path_factory):
    from nearsym.runs.config import TaskConfig
    from nearsym.runs.presets import preset_config

    task = TaskConfig(name="cartpole-swingup", obs="pixels")
    return _trained(tmp_path_factory, preset_config, task, "drqv2", 320)


def _trained(tmp_path_factory, preset_config, task, agent, frames, model="approx"):
    from dataclasses import replace

    config = preset_config("smoke", task, agent, model)
    folder = tmp_path_factory.mktemp("runs") / "run"
    training = replace(config.training, frames=frames, seed_frames=frames - 40)
    start(replace(config, training=training), folder)
    return folder


def test_mean_and_interval(vectors):
    result = evaluate_run(vectors, episodes=8)
    assert set(result) >= KEYS
    assert result["episodes"] == len(result["returns"]) == 8
    assert result["return_mean"] == pytest.approx(np.mean(result["returns"]))
    low, high = result["return_ci95"]
    assert low < result["return_mean"] < high
    assert result["noise"] == 0.0
    assert result == evaluate_run(vectors, episodes=8)


def test_sampled_actions_do_worse_here(vectors):
    """The reward is −a²: noise on top of the mean policy costs."""
    mean = evaluate_run(vectors, episodes=4, checkpoint="last")
    sampled = evaluate_run(vectors, episodes=4, checkpoint="last", sample=True)
    assert sampled["return_mean"] < mean["return_mean"]


def test_noise_belongs_to_pixels(vectors):
    with pytest.raises(UsageError, match="--noise is noise on images; this run does not see"):
        evaluate_run(vectors, noise=0.1)


def test_a_film_with_noise(pixels, tmp_path):
    path = tmp_path / "new" / "film.gif"
    result = evaluate_run(pixels, episodes=1, noise=0.06, video=path)
    assert result["noise"] == 0.06
    frames = imageio.imread(path, index=None)
    assert len(frames) == STEPS
    assert frames.shape[-1] == 3
    assert frames.std() > 1  # something is to be seen


def test_a_film_to_play(pixels, tmp_path):
    evaluate_run(pixels, episodes=2, video=tmp_path / "film.mp4")
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))
    assert count == STEPS  # of the first episode only
    assert seconds == pytest.approx(10, rel=0.1)  # as fast as it happened


def test_a_film_of_an_unknown_kind_is_refused_first(pixels, tmp_path):
    with pytest.raises(UsageError, match=r"A video ends in \.mp4 or \.gif, got film\.txt"):
        evaluate_run(pixels, video=tmp_path / "film.txt")


def test_an_environment_without_pictures(vectors, tmp_path):
    with pytest.raises(UsageError, match="cannot be filmed: its render_mode is None"):
        evaluate_run(vectors, episodes=1, video=tmp_path / "film.gif")


def test_gymnasium_ids_are_filmed_or_say_what_they_lack(small, tmp_path):
    import_module("toys")  # registers them
    start(small("toys/Filmed-v0"), tmp_path / "run")
    evaluate_run(tmp_path / "run", episodes=2, video=tmp_path / "film.gif")
    assert len(imageio.imread(tmp_path / "film.gif", index=None)) >= 1
    start(small("toys/Unfilmed-v0"), tmp_path / "other")
    with pytest.raises(UsageError, match="cannot be filmed: get a camera"):
        evaluate_run(tmp_path / "other", episodes=2, video=tmp_path / "film.gif")


def test_a_checkpoint_that_is_not_there(vectors):
    with pytest.raises(UsageError, match="Unknown checkpoint 'bst'"):
        evaluate_run(vectors, checkpoint="bst")


@pytest.fixture(scope="module")
def trader(tmp_path_factory):
    from nearsym.runs.config import TaskConfig
    from nearsym.runs.presets import preset_config

    task = TaskConfig(name="trading")
    return _trained(tmp_path_factory, preset_config, task, "sac", 150, "none")


def test_a_trader_beside_its_baselines(trader):
    result = evaluate_run(trader, episodes=2)
    assert len(result["value"]) == len(result["costs"]) == 2
    assert len(result["value"][0]) == len(result["dates"])
    assert result["dates"][0] == "2021-01-04"
    assert result["value"][0][0] == 1_000_000
    names = [row["name"] for row in result["metrics"]]
    assert names[:3] == ["none, sampled", "none, mean policy", "uniform"]
    sampled = result["metrics"][0]
    assert sampled["final_value"]["mean"] == pytest.approx(
        np.mean([v[-1] for v in result["value"]])
    )
    assert result == evaluate_run(trader, episodes=2)
    other = evaluate_run(trader, episodes=2, seed=7)
    assert other["value"] != result["value"]  # a seed decides what the policy draws
    assert other["metrics"][1:] == result["metrics"][1:]


def test_prices_that_have_changed(trader):
    path = trader / "config.json"
    before = path.read_text()
    path.write_text(before.replace('"data_sha256": "', '"data_sha256": "0'))
    try:
        with pytest.raises(UsageError, match="The prices are not those that"):
            evaluate_run(trader, episodes=1)
    finally:
        path.write_text(before)


def test_worlds_where_nothing_can_be_known(trader):
    result = evaluate_shuffled(trader, worlds=3)
    assert len(result["excess"]) == result["worlds"] == 3
    assert len(set(result["excess"])) == 3
    low, high = result["excess_ci95"]
    assert low < result["excess_mean"] < high
    assert result == evaluate_shuffled(trader, worlds=3)


def test_shuffling_belongs_to_trading(vectors):
    with pytest.raises(UsageError, match="--shuffled belongs to the task trading, not to toys"):
        evaluate_shuffled(vectors)
