"""Evaluating a run: mean, interval, noise, film."""

import errno
from importlib import import_module
from pathlib import Path

import imageio.v3 as imageio
import imageio_ffmpeg
import numpy as np
import pandas as pd
import pytest

from nearsym.errors import UsageError
from nearsym.runs.start import start_run
from nearsym.tasks.registry import find_task
from nearsym.training.atomic import DiskError

KEYS = {"return_mean", "return_ci95", "returns", "episodes", "noise"}
STEPS = 125  # of an episode: 1000 frames, eight a step


@pytest.fixture(scope="module")
def vectors(trained):
    return trained("toys:vector", "sac", 80)


@pytest.fixture(scope="module")
def pixels(trained):
    return trained("cartpole-swingup", "drqv2", 320, obs="pixels")


@pytest.fixture(scope="module")
def trader(trained):
    return trained("trading", "sac", 150, "none")


def test_mean_and_interval(vectors):
    result = vectors.evaluate(episodes=8)
    assert set(result) >= KEYS
    assert result["episodes"] == len(result["returns"]) == 8
    assert result["return_mean"] == pytest.approx(np.mean(result["returns"]))
    low, high = result["return_ci95"]
    assert low < result["return_mean"] < high
    assert result["noise"] == 0.0
    assert result == vectors.evaluate(episodes=8)


def test_sampled_actions_do_worse_here(vectors):
    """The reward is −a²: noise on top of the mean policy costs."""
    mean = vectors.evaluate(episodes=4, checkpoint="last")
    sampled = vectors.evaluate(episodes=4, checkpoint="last", sample=True)
    assert sampled["return_mean"] < mean["return_mean"]


def test_noise_belongs_to_pixels(vectors, trader):
    with pytest.raises(UsageError, match="`noise` belongs to tasks of nearsym; add it in the env"):
        vectors.evaluate(noise=0.1)
    seen = find_task("cartpole-swingup", obs="state")
    for task in (trader.task, seen):
        with pytest.raises(UsageError, match="`noise` is noise on images; this run does not see"):
            task.with_noise(0.1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"episodes": 0}, "`episodes` must be at least 1, got 0"),
        ({"seed": 0.5}, "`seed` must be a whole number, got 0.5"),
        ({"seed": -1}, "`seed` must be at least 0, got -1"),
        ({"seed": 2**62}, "`seed` must be at most 4,611,686,018,427,387,903"),
    ],
)
def test_numbers_out_of_range(options, text, vectors):
    with pytest.raises(UsageError, match=text):
        vectors.evaluate(**options)


def test_a_film_with_noise(pixels, tmp_path):
    path = tmp_path / "new" / "film.gif"
    result = pixels.evaluate(episodes=1, noise=0.06, video=path)
    assert result["noise"] == 0.06
    frames = imageio.imread(path, index=None)
    assert len(frames) == STEPS
    assert frames.shape[-1] == 3
    assert frames.std() > 1  # something is to be seen


def test_a_film_to_play(pixels, tmp_path):
    pixels.evaluate(episodes=2, video=str(tmp_path / "film.mp4"))
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))
    assert count == STEPS  # of the first episode only
    assert seconds == pytest.approx(10, rel=0.1)  # as fast as it happened


def test_a_film_of_an_unknown_kind_is_refused_first(pixels, tmp_path):
    with pytest.raises(UsageError, match=r"A video ends in \.mp4 or \.gif, got film\.txt"):
        pixels.evaluate(video=tmp_path / "film.txt")


def test_a_full_disk_is_one_sentence_and_leaves_no_half_film(small, tmp_path, monkeypatch):
    import_module("toys")  # registers them
    run = start_run(small("toys/Filmed-v0"), tmp_path / "run")

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("nearsym.training.atomic.write_at", refuse)
    with pytest.raises(DiskError, match=r"Writing the video failed in .*: the disk is full"):
        run.evaluate(1, video=tmp_path / "film.gif")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_environment_without_pictures(vectors, tmp_path):
    with pytest.raises(UsageError, match="cannot be filmed: its render_mode is None"):
        vectors.evaluate(episodes=1, video=tmp_path / "film.gif")


def test_gymnasium_ids_are_filmed_or_say_what_they_lack(small, tmp_path):
    import_module("toys")  # registers them
    start_run(small("toys/Filmed-v0"), tmp_path / "run").evaluate(2, video=tmp_path / "film.gif")
    assert len(imageio.imread(tmp_path / "film.gif", index=None)) >= 1
    run = start_run(small("toys/Unfilmed-v0"), tmp_path / "other")
    with pytest.raises(UsageError, match="cannot be filmed: get a camera"):
        run.evaluate(2, video=tmp_path / "film.gif")


def test_a_checkpoint_that_is_not_there(vectors):
    with pytest.raises(UsageError, match="Unknown checkpoint 'bst'"):
        vectors.evaluate(checkpoint="bst")


@pytest.mark.longer
def test_a_trader_beside_its_baselines(trader):
    result = trader.evaluate(episodes=2)
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
    assert result == trader.evaluate(episodes=2)
    other = trader.evaluate(episodes=2, seed=7)
    assert other["value"] != result["value"]  # a seed decides what the policy draws
    assert other["metrics"][1:] == result["metrics"][1:]


def test_a_trader_on_chosen_days_and_by_other_rules(trader):
    chosen = {"part": "validation", "start": "2019-06-01", "end": "2019-09-01"}
    result = trader.evaluate(episodes=1, cash=2e5, cost=0.0, **chosen)
    assert (result["part"], result["dates"][0]) == ("validation", "2019-06-03")
    assert result["dates"][-1] == "2019-08-30"
    assert result["value"][0][0] == 2e5
    assert not any(result["costs"][0])
    shuffled = trader.task.make("test").table.tickers[::-1]
    other = trader.evaluate(episodes=1, tickers=shuffled, **chosen)
    assert other["tickers"] == list(shuffled)
    with pytest.raises(UsageError, match="Unknown option of an evaluation 'parts'"):
        trader.evaluate(episodes=1, parts="test")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_traders_accounts_as_files(trader, tmp_path, format):
    sheet = tmp_path / "sheets" / "sheet.png"
    chosen = {"export": tmp_path / "out", "format": format, "tear_sheet": sheet}
    result = trader.evaluate(episodes=2, end="2021-03-01", **chosen)
    assert [Path(file).name for file in result["files"]] == [
        *(f"{name}.{format}" for name in ("values", "baselines", "holdings", "trades")),
        "sheet.png",
    ]
    assert sheet.read_bytes()[:4] == b"\x89PNG"
    read = pd.read_csv if format == "csv" else pd.read_parquet
    tables = {Path(f).stem: read(f) for f in result["files"][:4]}
    values, held, trades = (tables[name] for name in ("values", "holdings", "trades"))
    own = values[(values.portfolio == "none, sampled") & (values.episode == 1)]
    assert own.value.tolist() == pytest.approx(result["value"][1])
    mine = held[(held.portfolio == "none, sampled") & (held.episode == 1)]
    invested = (mine.shares * mine.price).groupby(mine.date).sum()
    exposed = (own.exposure * own.value).set_axis(own.date)
    assert exposed[invested.index].tolist() == pytest.approx(invested.tolist())
    sold = trades[(trades.portfolio == "none, sampled") & (trades.episode == 1)]
    assert sold.costs.sum() == pytest.approx(own.costs.sum())
    left = sold.groupby("ticker").shares.sum()
    last = mine[mine.date == mine.date.max()].set_index("ticker").shares
    assert left[left != 0].sort_index().tolist() == last.sort_index().tolist()
    assert set(tables["baselines"].portfolio) == set(result["baselines"])


def test_pictures_and_tables_that_cannot_be(trader, vectors, tmp_path):
    with pytest.raises(UsageError, match="A tear sheet ends in"):
        trader.evaluate(episodes=1, end="2021-02-01", tear_sheet=tmp_path / "sheet.txt")
    with pytest.raises(UsageError, match="`tear_sheet` needs a task with prices, and"):
        vectors.evaluate(episodes=1, tear_sheet=tmp_path / "sheet.png")
    with pytest.raises(UsageError, match="`cost` needs a task with prices"):
        vectors.evaluate(episodes=1, cost=0.0)


def test_prices_that_have_changed(trader):
    path = trader.path / "config.json"
    before = path.read_text()
    path.write_text(before.replace('"data_sha256": "', '"data_sha256": "0'))
    try:
        with pytest.raises(UsageError, match="The prices are not those that"):
            trader.evaluate(episodes=1)
    finally:
        path.write_text(before)


def test_worlds_where_nothing_can_be_known(trader):
    result = trader.evaluate_shuffled(worlds=3)
    assert len(result["excess"]) == result["worlds"] == 3
    assert len(set(result["excess"])) == 3
    low, high = result["excess_ci95"]
    assert low < result["excess_mean"] < high
    assert result == trader.evaluate_shuffled(worlds=3)


def test_there_is_nothing_to_film_in_trading(trader, tmp_path):
    with pytest.raises(UsageError, match="nothing to film in trading; leave out `video`"):
        trader.evaluate(1, video=tmp_path / "film.gif")


def test_one_world_has_no_interval(trader):
    with pytest.raises(UsageError, match="`shuffled` must be at least 2, got 1"):
        trader.evaluate_shuffled(1)


def test_shuffling_belongs_to_trading(vectors):
    with pytest.raises(
        UsageError, match="`shuffled` needs a task with prices, and toys:vector has none"
    ):
        vectors.evaluate_shuffled()
