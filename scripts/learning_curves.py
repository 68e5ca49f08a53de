"""The learning curves of the docs: train what is missing, then write CSV files and figures.

    python scripts/learning_curves.py state-cartpole state-others
    python scripts/learning_curves.py --draw

Every run is an ordinary `nearsym train` in runs/curves; one that was stopped is resumed, one that
is finished is left alone. Curves go to docs/results/NAME.csv, figures to docs/images.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from nearsym.cli.train import Train, configure
from nearsym.experiments.run import resume, start
from nearsym.training.log import read_metrics

RUNS = Path("runs/curves")
RESULTS = Path("docs/results")
MODELS = ("none", "exact", "approx", "rpp")


def _named(train: Train) -> tuple[str, Train]:
    parts = [train.task, train.variant, train.obs, train.agent, train.layers, train.model]
    noise = None if train.noise is None else f"noise{train.noise:g}"
    name = "-".join(p for p in [*parts, noise] if p and p != "group")
    return f"{name}-seed{train.seed}", train


def _state(task: str, model: str, agent: str, frames: int, seed: int) -> Train:
    return Train(task=task, obs="state", agent=agent, model=model, frames=frames, seed=seed)


def _pixels(task: str, model: str, seed: int, *, frames: int = 100_000, **options: object) -> Train:
    return Train(
        task=task, obs="pixels", agent="drqv2", model=model, frames=frames, seed=seed, **options
    )


def curves() -> dict[str, list[Train]]:
    """The sets of runs, by name."""
    cartpole = "cartpole-swingup"
    return {
        "state-cartpole": [_state(cartpole, m, "sac", 50_000, s) for s in range(3) for m in MODELS],
        "state-drqv2": [_state(cartpole, m, "drqv2", 100_000, 0) for m in ("approx", "none")],
        "state-others": [
            _state(task, "approx", "sac", 250_000, s)
            for s in range(3)
            for task in ("ball_in_cup-catch", "reacher-hard")
        ],
        "pixels-cartpole": [
            _pixels(cartpole, m, s) for s in range(2) for m in ("approx", "exact", "none")
        ],
        "pixels-cartpole-repeat": [
            _pixels(cartpole, m, s, variant="repeat_action")
            for s in range(2)
            for m in ("approx", "exact", "none")
        ],
        "pixels-others": [
            _pixels(cartpole, "rpp", 0, frames=40_000),
            _pixels(cartpole, "sit", 0, frames=40_000),
            _pixels(cartpole, "approx", 0, frames=40_000, layers="steerable"),
            _pixels(cartpole, "approx", 0, frames=40_000, noise=0.06),
        ],
    }


def train(names: list[str]) -> None:
    """Run what is missing, in order."""
    for which in names:
        for name, options in map(_named, curves()[which]):
            folder = RUNS / name
            if (folder / "summary.json").exists():
                continue
            if any((folder / "checkpoints").glob("checkpoint-*")):
                resume(folder)
            else:
                start(configure(options), folder)
            write(which)


def points(which: str) -> Iterator[dict[str, object]]:
    """One row for each evaluation of each run."""
    for name, options in map(_named, curves()[which]):
        path = RUNS / name / "metrics.jsonl"
        if not path.exists():
            continue
        for row in read_metrics(path):
            if "eval/return_mean" in row:
                yield {
                    "task": options.task,
                    "variant": options.variant or "original",
                    "obs": options.obs,
                    "agent": options.agent,
                    "layers": options.layers,
                    "model": options.model,
                    "noise": options.noise or 0,
                    "seed": options.seed,
                    "frames": row["frames"],
                    "return": round(row["eval/return_mean"], 2),
                }


def write(which: str) -> None:
    """The curves so far, as a small CSV file."""
    rows = list(points(which))
    if rows:
        RESULTS.mkdir(parents=True, exist_ok=True)
        with (RESULTS / f"{which}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*curves(), []], help="sets to train")
    arguments = parser.parse_args()
    train(arguments.names)
