"""The value of a trained agent: many episodes, an interval, and a film of the first."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from tqdm import tqdm

from nearsym.agents.base import Agent
from nearsym.tasks.registry import TRADING
from nearsym.tasks.trading.resample import shuffled_returns
from nearsym.errors import MissingExtraError, UsageError
from nearsym.measures.intervals import bootstrap_interval, student_interval
from nearsym.tasks.trading.baselines import baseline_tracks, hold
from nearsym.runs.build import build_env
from nearsym.runs.config import RunConfig
from nearsym.tasks.trading.portfolio import Track, metrics, summary_row
from nearsym.runs.run import check_data, load_agent, read_config
from nearsym.training import atomic
from nearsym.training.evaluate import Episode, rollouts


def evaluate_run(
    folder: Path,
    *,
    episodes: int = 50,
    noise: float | None = None,
    checkpoint: str = "best",
    sample: bool = False,
    seed: int = 1_000_000,
    video: Path | None = None,
) -> dict[str, Any]:
    """Play episodes with the agent of a run. The interval is a percentile bootstrap of the mean.

    Trading is played on the test part, with the daily value and costs of every episode and the
    baselines beside it; there the policy is sampled, and its mean is an extra row.
    """
    config = read_config(folder)
    torch.set_num_threads(config.threads)  # as in training: the same numbers to the last bit
    trading = config.task.name == TRADING
    env = _environment(config, noise, filmed=video is not None)
    check_data(folder, env)
    _, agent, _ = load_agent(folder, checkpoint=checkpoint, env=env)
    agent.generator.manual_seed(seed)  # what a sampled policy draws
    film = None if video is None else _Film(env, video)
    played = _play(
        agent, env, episodes, seed, sample=sample or trading, keep_infos=trading, film=film
    )
    if film is not None:
        film.write()
    returns = np.array([episode.total for episode in played])
    result = {
        "return_mean": float(returns.mean()),
        "return_ci95": list(bootstrap_interval(returns)),
        "returns": returns.tolist(),
        "episodes": episodes,
        "noise": config.task.noise if noise is None else noise,
        "checkpoint": checkpoint,
        "run": str(folder),
        "video": None if video is None else str(video),
    }
    if trading:
        (mean_policy,) = _play(agent, env, 1, seed, sample=False, keep_infos=True)
        result |= _portfolio(config, env, played, mean_policy)
    return result


def evaluate_shuffled(
    folder: Path, *, worlds: int = 50, checkpoint: str = "best", seed: int = 1_000_000
) -> dict[str, Any]:
    """Trade, sampling the policy, in test periods that cannot be predicted, against holding.

    Each world is the test part with every ticker's mean return removed and its days drawn at
    random (`shuffled_returns`). There no policy earns anything before fees on average, if orders
    are filled at the close. So its excess over uniform holding, both before fees and in per cent
    of the starting cash, has mean 0; an interval (Student's t over worlds) that lies above 0 means
    that something leaks.
    """
    config = read_config(folder)
    if config.task.name != TRADING:
        raise UsageError(f"--shuffled belongs to the task trading, not to {config.task.name}.")
    torch.set_num_threads(config.threads)
    env = build_env(config.task, split="test")
    check_data(folder, env)
    _, agent, _ = load_agent(folder, checkpoint=checkpoint, env=env)
    agent.generator.manual_seed(seed)
    real: Any = env.unwrapped
    excess = []
    for world in tqdm(range(seed, seed + worlds), unit="world"):
        table = shuffled_returns(real.table, real.dates, world)
        shuffled = build_env(config.task, split="test", data=table, splits="accept")
        (episode,) = rollouts(
            lambda obs: agent.policy(obs, sample=True),
            shuffled,
            episodes=1,
            seed=world,
            keep_infos=True,
        )
        held = held_uniformly(shuffled.unwrapped)
        traded = Track.from_infos("agent", episode.infos)
        excess.append(100 * (_before_fees(traded) - _before_fees(held)) / real.initial_cash)
    mean, interval = student_interval(excess)
    return {
        "excess_mean": mean,
        "excess_ci95": None if interval is None else list(interval),
        "excess": excess,
        "worlds": worlds,
        "checkpoint": checkpoint,
        "run": str(folder),
    }


def _environment(config: RunConfig, noise: float | None, *, filmed: bool) -> gymnasium.Env:
    task = config.task
    if noise is not None and task.obs != "pixels":
        raise UsageError("--noise is noise on images; this run does not see pixels.")
    if filmed and task.name == TRADING:
        raise UsageError("There is nothing to film in trading; leave out --video.")
    if task.name == TRADING:
        return build_env(task, split="test")
    by_name = ":" not in task.name  # a factory decides for itself how it renders
    options = {"render_mode": "rgb_array"} if filmed and by_name else {}
    return build_env(task, noise=noise, **options)


def _play(
    agent: Agent,
    env: gymnasium.Env,
    episodes: int,
    seed: int,
    *,
    sample: bool,
    keep_infos: bool,
    film: "_Film | None" = None,
) -> list[Episode]:
    with tqdm(total=episodes, unit="episode") as bar:
        played = []
        for episode in rollouts(
            lambda obs: agent.policy(obs, sample=sample),
            env,
            episodes=episodes,
            seed=seed,
            keep_infos=keep_infos,
            on_step=lambda: film.record() if film is not None and bar.n == 0 else None,
        ):
            played.append(episode)
            bar.update()
    return played


def _portfolio(
    config: RunConfig, env: gymnasium.Env, sampled: list[Episode], mean_policy: Episode
) -> dict[str, Any]:
    """Daily records of the sampled episodes and the table of metrics, baselines included."""
    task: Any = env.unwrapped
    name = f"{config.network.model} {task.temporal}" if config.network.model != "none" else "none"
    tracks = [Track.from_infos(name, episode.infos) for episode in sampled]
    rows = [
        summary_row(f"{name}, sampled", [metrics(track) for track in tracks]),
        summary_row(f"{name}, mean policy", [metrics(Track.from_infos(name, mean_policy.infos))]),
    ]
    baselines = baseline_tracks(
        task.table, task.dates, task.days, cash=task.initial_cash, cost=task.cost, fill=task.fill
    )
    rows += [summary_row(track.name, [metrics(track)]) for track in baselines]
    return {
        "dates": list(tracks[0].dates),
        "value": [track.value.tolist() for track in tracks],
        "costs": [track.costs.tolist() for track in tracks],
        "metrics": rows,
    }


def _before_fees(track: Track) -> float:
    return float(track.value[-1] + track.costs.sum())


def held_uniformly(task: Any) -> Track:
    """Uniform holding over the part of a trading task, by its rules."""
    count = len(task.table.tickers)
    rules = {"cash": task.initial_cash, "cost": task.cost, "fill": task.fill}
    return hold(task.table, task.days, np.full(count, 1 / count), name="uniform", **rules)


class _Film:
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
        fps = self.env.metadata.get("render_fps", 30)
        imageio.imwrite(self.path, np.stack(self.frames), fps=fps, **options)
