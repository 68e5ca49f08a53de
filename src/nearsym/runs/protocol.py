"""Several runs of one model as one number: the paper's way, and the one that we recommend.

`best_of_runs`, the protocol of the paper's Table 1, plays the policy of the run that did best in
training. It says how well the best of so many runs does: more runs, higher numbers.
`mean_over_runs` plays every run. It says how well a run of this model does, with an interval over
runs.

Both choose, among runs and among the checkpoints of a run, by the evaluations that were made during
training, and then play other episodes. The return that decided a choice is the highest of several
noisy numbers, and would flatter what was chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nearsym.errors import UsageError
from nearsym.measures.intervals import NO_INTERVAL, STUDENT, episode_interval, student_interval
from nearsym.runs.build import seeds_of
from nearsym.runs.evaluate import FIRST_SEED, evaluate_run, progress_bar
from nearsym.runs.one_model import runs_of_one_model, shared_by
from nearsym.runs.run import Run, StrPath
from nearsym.tasks.task import Noise


@dataclass(frozen=True)
class RunReturns:
    """One of the runs."""

    run: str
    """Its folder."""
    seed: int
    best_return: float
    """The highest mean return of an evaluation during its training: what is chosen by."""
    returns: tuple[float, ...] = ()
    """Of the fresh episodes; none for a run that was not chosen."""

    @property
    def return_mean(self) -> float:
        """The mean of the fresh episodes; NaN for a run that was not chosen."""
        return float(np.mean(self.returns)) if self.returns else np.nan

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        about = {"run": self.run, "seed": self.seed, "best_return": self.best_return}
        return about | {"return_mean": self.return_mean if self.returns else None}


@dataclass(frozen=True, repr=False)
class RunsEvaluation:
    """What runs of one model earn; shown, it is a few lines.

    >>> runs = RunReturns("runs/0", 0, 90.0, (80.0, 84.0)), RunReturns("runs/1", 1, 70.0)
    >>> about = {"task": "craft", "variant": None, "agent": "sac", "model": "approx"}
    >>> RunsEvaluation("best", about, runs, noise=0.0, checkpoint="best")
    craft, sac, approx, noise 0: best of 2 runs
    82.0  (95 % interval 56.6 to 107.4, Student's t over 2 episodes)
    Seed 0 was chosen by its best evaluation in training, 90.0; the episodes are others.
    """

    protocol: Literal["best", "mean"]
    about: dict[str, Any]
    """Task, variant, agent and model, which the runs share."""
    runs: tuple[RunReturns, ...]
    """All of them, in the order given."""
    noise: float
    checkpoint: str

    @property
    def played(self) -> tuple[RunReturns, ...]:
        """The runs whose policies were played."""
        return tuple(run for run in self.runs if run.returns)

    @property
    def return_mean(self) -> float:
        """The mean return of the best policy, or the mean over runs of their mean returns."""
        return float(np.mean([run.return_mean for run in self.played]))

    @property
    def return_ci95(self) -> tuple[float, float] | None:
        """Best: over the episodes of one policy. Mean: over runs, by Student's t. None for a single
        one."""
        return self._interval[0]

    @property
    def _interval(self) -> tuple[tuple[float, float] | None, str]:
        if self.protocol == "best":
            return episode_interval(self.played[0].returns)
        return student_interval([run.return_mean for run in self.played])[1], STUDENT

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        interval, kind = self._interval
        returns = [value for run in self.played for value in run.returns]
        return {
            "protocol": self.protocol,
            **self.about,
            "return_mean": self.return_mean,
            "return_ci95": None if interval is None else list(interval),
            "interval": NO_INTERVAL if interval is None else kind,
            "returns": returns,
            "episodes": len(returns),
            "noise": self.noise,
            "checkpoint": self.checkpoint,
            "runs": [run.as_json() for run in self.runs],
        }

    def __repr__(self) -> str:
        return runs_table(self.as_json())


def best_of_runs(
    runs: Sequence[Run | StrPath],
    *,
    episodes: int = 50,
    noise: Noise | None = None,
    seed: int = FIRST_SEED,
    progress: bool = False,
) -> RunsEvaluation:
    """The best policy of all runs of a model, over fresh episodes: the paper's Table 1.

    It is the best checkpoint of the run whose best evaluation in training was the highest; of
    equals, that of the smallest seed. `noise` is a number, 'task' for the image noise under which
    the paper tests policies on this task, or None for that of training. The choice does not look
    at it.
    """
    opened = _ready(runs, episodes, seed, noise)
    best = max(opened, key=lambda run: (run.summary["best_return"], -run.config.seed))
    asked: dict[str, Any] = {"episodes": episodes, "noise": noise, "seed": seed}
    return _played("best", opened, [best], progress, checkpoint="best", **asked)


def mean_over_runs(
    runs: Sequence[Run | StrPath],
    *,
    episodes: int = 50,
    noise: Noise | None = None,
    checkpoint: str = "best",
    seed: int = FIRST_SEED,
    progress: bool = False,
) -> RunsEvaluation:
    """The mean over all runs of a model, each over the same fresh episodes.

    Each plays its best checkpoint; with `checkpoint='last'` nothing at all is chosen. `noise` is
    as in `best_of_runs`.
    """
    opened = _ready(runs, episodes, seed, noise)
    asked: dict[str, Any] = {"episodes": episodes, "noise": noise, "seed": seed}
    return _played("mean", opened, opened, progress, checkpoint=checkpoint, **asked)


def runs_table(result: dict[str, Any]) -> str:
    """A few lines for people, from what `RunsEvaluation.as_json` gives."""
    runs, best = result["runs"], result["protocol"] == "best"
    named = [result[part] for part in ("task", "variant", "agent", "model")]
    what = f"{'best of' if best else 'mean over'} {len(runs)} run{'s' if len(runs) > 1 else ''}"
    head = ", ".join([*(name for name in named if name is not None), f"noise {result['noise']:g}"])
    played = [run for run in runs if run["return_mean"] is not None]
    lines = [f"{head}: {what}", f"{result['return_mean']:.1f}  ({_interval(result, len(played))})"]
    said = _chosen if best else _one_of_all
    return "\n".join([*lines, *map(said, played)])


def _interval(result: dict[str, Any], runs: int) -> str:
    each = result["episodes"] // runs
    best = result["protocol"] == "best"
    if result["return_ci95"] is None:
        one = "one episode" if best else f"one run over {each} episodes"
        return f"{one}, which gives no interval{'' if best else ' over runs'}"
    low, high = result["return_ci95"]
    over = f"{each} episodes" if best else f"{runs} runs of {each} episodes"
    return f"95 % interval {low:.1f} to {high:.1f}, {result['interval']} over {over}"


def _chosen(run: dict[str, Any]) -> str:
    return (
        f"Seed {run['seed']} was chosen by its best evaluation in training, "
        f"{run['best_return']:.1f}; the episodes are others."
    )


def _one_of_all(run: dict[str, Any]) -> str:
    best = f"best evaluation in training {run['best_return']:.1f}"
    return f"  seed {run['seed']}: {run['return_mean']:.1f}  ({best})"


def _ready(
    runs: Sequence[Run | StrPath], episodes: int, seed: int, noise: Noise | None
) -> list[Run]:
    """The runs, opened, or the reason why they cannot be played together."""
    opened = runs_of_one_model(runs)
    for run in opened:
        _ = run.summary  # an error for a run that has not come to its end
        _refuse_seen(run, episodes, seed)
    if noise is not None:
        opened[0].task.with_noise(noise)  # an error where there are no images
    return opened


def _refuse_seen(run: Run, episodes: int, seed: int) -> None:
    """A run was chosen by the episodes that its evaluations played: these are not fresh."""
    first = seeds_of(run.config.seed)["evaluation"]
    if first - episodes < seed < first + run.config.training.eval_episodes:
        raise UsageError(
            f"`seed` {seed} would play episodes that the evaluations of {run.path} have played: "
            "choose another."
        )


def _played(
    protocol: Literal["best", "mean"],
    opened: list[Run],
    players: list[Run],
    progress: bool,
    **asked: Any,
) -> RunsEvaluation:
    with progress_bar(asked["episodes"] * len(players), "episode", progress) as advance:
        found = {run.path: evaluate_run(run, progress=advance, **asked) for run in players}
    scores = [
        RunReturns(
            run=str(run.path),
            seed=run.config.seed,
            best_return=run.summary["best_return"],
            returns=tuple(found[run.path]["returns"]) if run.path in found else (),
        )
        for run in opened
    ]
    noise = found[players[0].path]["noise"]
    about = shared_by(opened[0].config)
    return RunsEvaluation(protocol, about, tuple(scores), noise, asked["checkpoint"])
