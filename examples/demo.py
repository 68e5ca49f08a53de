"""Three agents in a world that is almost symmetric, and what the third one noticed.

A pole on a cart, swung up by an agent that knows no symmetry, one that believes in it exactly and
one that believes in it approximately; in a quarter of all positions each action acts twice, on one
side only. Trains for a few minutes, prints a table and draws `runs/demo/demo.png`.

    python examples/demo.py [--frames N]
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from nearsym.cli.train import Train, configure
from nearsym.runs.run import resume, start
from nearsym.training.log import read_metrics

MODELS = {"none": "tab:gray", "exact": "tab:blue", "approx": "tab:red"}
FOLDER = Path("runs/demo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--frames", type=int, default=24_000, help="length of each run")
    frames = parser.parse_args().frames
    runs = {model: train(model, frames) for model in MODELS}
    titles = ("model", "parameters", "best return", "last return", "seconds")
    print("\n{:8} {:>10} {:>12} {:>12} {:>8}".format(*titles))
    for model, summary in runs.items():
        print(
            f"{model:8} {summary['parameters']['total']:10,} {summary['best_return']:12.1f} "
            f"{summary['final_return']:12.1f} {summary['seconds']:8.0f}"
        )
    print(f"\nLook at {draw(runs)}")


def train(model: str, frames: int) -> dict:
    """A run of the laptop preset on state vectors; one that was stopped goes on."""
    options = Train(
        task="cartpole-swingup",
        variant="repeat_action",
        obs="state",
        model=model,
        frames=frames,
        eval_every=max(frames // 6, 1000),
        eval_episodes=5,
    )
    folder = FOLDER / f"{model}-{frames}"
    if (folder / "config.json").exists():
        return resume(folder)
    return start(configure(options), folder)


def draw(runs: dict[str, dict]) -> Path:
    """Learning curves on the left, the relaxed weights of the approximate agent on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for model, summary in runs.items():
        curve = evaluations(summary)
        left.plot(
            [row["frames"] / 1000 for row in curve],
            [row["eval/return_mean"] for row in curve],
            marker="o",
            color=MODELS[model],
            label=model,
        )
    left.set(
        xlabel="thousand frames", ylabel="return of 5 episodes", title="cartpole, repeat_action"
    )
    left.legend()
    draw_weights(right, evaluations(runs["approx"]))
    path = FOLDER / "demo.png"
    figure.savefig(path, dpi=120)
    return path


def draw_weights(axes: Axes, curve: list[dict]) -> None:
    """w(mirror) − w(e) of every relaxed layer: zero is symmetry."""
    names = [name for name in curve[-1] if name.startswith("relaxed/")]
    spread = [curve[-1][name][0][1] - curve[-1][name][0][0] for name in names]
    labels = [name.removeprefix("relaxed/") for name in names]
    axes.barh(labels, spread, color=MODELS["approx"])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set(xlabel="relaxed weight of the mirror image − of e", title="what approx learned")


def evaluations(summary: dict) -> list[dict]:
    rows = read_metrics(Path(summary["run"]) / "metrics.jsonl")
    return [row for row in rows if "eval/return_mean" in row]


if __name__ == "__main__":
    main()
