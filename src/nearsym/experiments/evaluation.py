"""The value of a trained agent: many episodes, an interval, and a film of the first."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from tqdm import tqdm

from nearsym.errors import MissingExtraError, UsageError
from nearsym.experiments.build import build_env, has_pixels
from nearsym.experiments.run import load_agent, read_config
from nearsym.training.evaluate import bootstrap_interval, rollouts


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
    """Play episodes with the agent of a run. The interval is a percentile bootstrap of the mean."""
    config = read_config(folder)
    if noise is not None and config.task.obs != "pixels":
        raise UsageError("--noise is noise on images; this run does not see pixels.")
    film = {"render_mode": "rgb_array"} if video and has_pixels(config.task.name) else {}
    env = build_env(config.task, noise=noise, **film)
    _, agent, _ = load_agent(folder, checkpoint=checkpoint, env=env)
    frames: list[np.ndarray] = []

    def record() -> None:
        if video is not None and bar.n == 0:
            frames.append(_frame(env))

    returns = []
    with tqdm(total=episodes, unit="episode") as bar:
        played = rollouts(
            lambda obs: agent.policy(obs, sample=sample),
            env,
            episodes=episodes,
            seed=seed,
            on_step=record,
        )
        for episode in played:
            returns.append(episode.total)
            bar.update()
    if video is not None:
        write_video(video, frames, fps=env.metadata.get("render_fps", 30))
    return {
        "return_mean": float(np.mean(returns)),
        "return_ci95": list(bootstrap_interval(np.array(returns))),
        "returns": returns,
        "episodes": episodes,
        "noise": config.task.noise if noise is None else noise,
        "checkpoint": checkpoint,
        "run": str(folder),
    }


def write_video(path: Path, frames: list[np.ndarray], *, fps: int) -> None:
    """A film in the format of the file's ending."""
    try:
        import imageio.v3 as imageio
    except ImportError as error:
        raise MissingExtraError("Writing a video", "plots") from error
    if path.suffix not in (".mp4", ".gif"):
        raise UsageError(f"A video ends in .mp4 or .gif, got {path.name}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"loop": 0} if path.suffix == ".gif" else {}
    imageio.imwrite(path, np.stack(frames), fps=fps, **options)


def _frame(env: gymnasium.Env) -> np.ndarray:
    frame = env.render()
    if not isinstance(frame, np.ndarray):
        raise UsageError("This environment cannot be filmed: its render() gives no picture.")
    return frame
