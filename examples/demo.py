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

import nearsym

MODELS = {"none": "tab:gray", "exact": "tab:blue", "approx": "tab:red"}
FOLDER = Path("runs/demo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--frames", type=int, default=24_000, help="length of each run")
    frames = parser.parse_args().frames
    runs = {model: train(model, frames) for model in MODELS}
    titles = ("model", "parameters", "best return", "last return", "seconds")
    print("\n{:8} {:>10} {:>12} {:>12} {:>8}".format(*titles))
    for model, run in runs.items():
        summary = run.summary
        print(
            f"{model:8} {summary['parameters']['total']:10,} {summary['best_return']:12.1f} "
            f"{summary['final_return']:12.1f} {summary['seconds']:8.0f}"
        )
    print(f"\nLook at {draw(runs)}")


def train(model: str, frames: int) -> nearsym.Run:
    """A run of the laptop preset on state vectors; one that was stopped goes on."""
    folder = FOLDER / f"{model}-{frames}"
    if (folder / "config.json").exists():
        return nearsym.Run(folder).resume(progress=True)
    return nearsym.train(
        "cartpole-swingup",
        variant="repeat_action",
        obs="state",
        model=model,
        frames=frames,
        threads=1,
        training={"eval_every": max(frames // 6, 1000), "eval_episodes": 5},
        out=folder,
        progress=True,
    )


def draw(runs: dict[str, nearsym.Run]) -> Path:
    """Learning curves on the left, the relaxed weights of the approximate agent on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for model, run in runs.items():
        curve = run.curve()
        left.plot(curve.frames / 1000, curve.mean, marker="o", color=MODELS[model], label=model)
    left.set(
        xlabel="thousand frames", ylabel="return of 5 episodes", title="cartpole, repeat_action"
    )
    left.legend()
    draw_weights(right, runs["approx"])
    path = FOLDER / "demo.png"
    figure.savefig(path, dpi=120)
    return path


def draw_weights(axes: Axes, run: nearsym.Run) -> None:
    """w(mirror) − w(e) of every relaxed layer at the last evaluation: zero is symmetry."""
    weights = {layer: values[-1][0] for layer, values in run.relaxed_weights().items()}
    axes.barh(list(weights), [w[1] - w[0] for w in weights.values()], color=MODELS["approx"])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set(xlabel="relaxed weight of the mirror image − of e", title="what approx learned")


if __name__ == "__main__":
    main()
