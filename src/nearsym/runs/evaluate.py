"""The value of a trained agent: many episodes, an interval, and a film of the first."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from nearsym.errors import MissingExtraError, UsageError, check_whole
from nearsym.runs.folder import check_data
from nearsym.runs.trading import TradingEvaluation
from nearsym.runs.train import torch_threads
from nearsym.tasks.task import Noise, Playing
from nearsym.tasks.trading.leak_check import evaluate_shuffled
from nearsym.tasks.trading.task import TradingTask
from nearsym.training import atomic
from nearsym.training.bars import make_bar

if TYPE_CHECKING:
    from nearsym.runs.run import Run

LARGEST_SEED = 2**62 - 1
MOST = 10**6
"""Episodes or worlds in an evaluation."""
FIRST_SEED = 1_000_000
"""Evaluation episodes start from seeds that training does not use."""


def evaluate_run(
    run: "Run",
    *,
    episodes: int = 50,
    noise: Noise | None = None,
    checkpoint: str = "best",
    sample: bool = False,
    seed: int = FIRST_SEED,
    video: Path | None = None,
    trading: Mapping[str, Any] | None = None,
    progress: bool | Callable[[], None] = False,
) -> dict[str, Any]:
    """Play episodes with the agent of a run. `interval` says what the interval is by.

    `trading` are options of `MarketChoice` and `PortfolioFiles`, for tasks with prices. `progress`
    is a bar, silence, or a function that is called after every episode.
    """
    market = TradingEvaluation.of(run.task, {} if trading is None else trading)
    check_whole("episodes", episodes, 1, MOST)
    check_whole("seed", seed, 0, LARGEST_SEED)
    task = run.task if noise is None else run.task.with_noise(noise)
    render_mode = None if video is None else "rgb_array"
    # As in training: the same numbers to the last bit.
    with (
        torch_threads(run.config.threads),
        closing(market.make(task, render_mode)) as env,
    ):
        if not market.other_tickers:
            check_data(run.path, task, env)
        agent = run.load_agent(checkpoint, env)
        agent.generator.manual_seed(seed)  # what a sampled policy draws
        film = None if video is None else Film(env, video)
        with progress_bar(episodes, "episode", progress) as advance:
            played = _Watched(film, advance)
            playing = Playing(
                episodes,
                seed,
                sample=sample,
                label=run.config.network.model,
                on_step=played.on_step,
                on_episode=played.on_episode,
            )
            result = market.evaluate(task, agent.policy, env, playing)
        if film is not None:
            film.write()
    about = {"noise": task.noise, "checkpoint": checkpoint, "run": str(run.path)}
    return result | about | {"video": None if video is None else str(video)}


def evaluate_in_shuffled_worlds(
    run: "Run",
    *,
    worlds: int = 50,
    checkpoint: str = "best",
    seed: int = FIRST_SEED,
    progress: bool = False,
) -> dict[str, Any]:
    """Trade in test periods made unpredictable: `tasks.trading.leak_check`."""
    task = run.task
    if not isinstance(task, TradingTask):
        raise UsageError(f"`shuffled` needs a task with prices, and {task.name} has none.")
    check_whole("shuffled", worlds, 2, MOST)
    check_whole("seed", seed, 0, LARGEST_SEED)
    with torch_threads(run.config.threads), closing(task.make("test")) as env:
        check_data(run.path, task, env)
        agent = run.load_agent(checkpoint, env)
        agent.generator.manual_seed(seed)
        with progress_bar(worlds, "world", progress) as advance:
            result = evaluate_shuffled(
                task, agent.policy, env, worlds=worlds, seed=seed, on_world=advance
            )
    return result | {"checkpoint": checkpoint, "run": str(run.path)}


class _Watched:
    """Counts episodes, and films the first."""

    def __init__(self, film: "Film | None", advance: Callable[[], None]):
        self.film, self.advance = film, advance
        self.first = True

    def on_step(self) -> None:
        if self.film is not None and self.first:
            self.film.record()

    def on_episode(self, episode: object) -> None:
        self.first = False
        self.advance()


class Film:
    """Pictures of an episode, written in the format of the file's ending."""

    def __init__(self, env: gymnasium.Env, path: Path):
        if path.suffix not in (".mp4", ".gif"):
            raise UsageError(f"A video ends in .mp4 or .gif, got {path.name}.")
        if env.render_mode != "rgb_array":
            raise UsageError(
                f"This environment cannot be filmed: its render_mode is {env.render_mode}, "
                "and a film needs rgb_array."
            )
        atomic.make_place(path.parent, "video")  # before an hour of playing
        self.env, self.path = env, path
        self.frames: list[np.ndarray] = []

    def record(self) -> None:
        try:
            frame = self.env.render()
        except gymnasium.error.DependencyNotInstalled as error:
            raise UsageError(f"This environment cannot be filmed: {error}") from error
        if not isinstance(frame, np.ndarray):
            raise UsageError("This environment cannot be filmed: its render() gives no picture.")
        self.frames.append(frame)

    def write(self) -> None:
        try:
            import imageio.v3 as imageio
        except ImportError as error:
            raise MissingExtraError("Writing a video", "plots") from error
        options: dict[str, Any] = {"loop": 0} if self.path.suffix == ".gif" else {}
        options |= {"fps": self.env.metadata.get("render_fps", 30), "extension": self.path.suffix}
        with atomic.explain_errors("Writing the video", self.path.parent, advice=atomic.TRY_AGAIN):
            # In memory first: what makes the film says nothing of a disk that takes half of it.
            film = imageio.imwrite("<bytes>", np.stack(self.frames), **options)
            if not film:
                raise OSError("no film could be made in the folder for temporary files")
            atomic.replace(self.path, film)


@contextmanager
def progress_bar(
    total: int, unit: str, shown: bool | Callable[[], None]
) -> Iterator[Callable[[], None]]:
    """What to call after each of `total` units: a bar, nothing, or what was given instead."""
    if callable(shown) or not shown:
        yield shown if callable(shown) else lambda: None
        return
    with make_bar(total=total, unit=unit) as bar:
        yield lambda: bar.update() and None
