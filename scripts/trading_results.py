"""The trading results of the docs: train what is missing, evaluate it, write tables and figures.

    python scripts/trading_results.py train
    python scripts/trading_results.py draw

Every run is an ordinary one of `nearsym.train` in runs/trading; one that was stopped goes on from
its last checkpoint, one that is finished is left alone. The test part is played once, by
`Run.evaluate`, and kept as test.json beside the run. Results go to docs/results/trading.csv,
figures to docs/images.
"""

import argparse
import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.layers.scale import SCALES
from nearsym.runs.folder import write_json
from nearsym.runs.run import Run
from nearsym.runs.run import train as train_run
from nearsym.tasks.trading.leak_check import held_uniformly
from nearsym.tasks.trading.make import make_trading
from nearsym.tasks.trading.portfolio import Metrics, Track, markdown_table, metrics, summary_row
from nearsym.training.allocator import keep_freed_memory
from nearsym.training.evaluate import rollouts
from nearsym.training.log import read_metrics

RUNS = Path("runs/trading")
RESULTS = Path("docs/results")
IMAGES = Path("docs/images")
MODELS = [("none", "T"), ("exact", "T"), ("exact", "ST"), ("approx", "T"), ("approx", "ST")]
SEEDS = range(3)
EPISODES = 10  # the paper's ten rollouts


def label(model: str, symmetry: str) -> str:
    return model if model == "none" else f"{model} {symmetry}"


def folder_of(model: str, symmetry: str, seed: int) -> Path:
    return RUNS / f"{label(model, symmetry).replace(' ', '-')}-seed{seed}"


def train(seeds: Iterable[int]) -> None:
    """Run what is missing, seed by seed, so that every model is seen early."""
    keep_freed_memory()
    for seed in seeds:
        for model, symmetry in MODELS:
            folder = folder_of(model, symmetry, seed)
            if not (folder / "summary.json").exists():
                if (folder / "config.json").exists():
                    Run(folder).resume(progress=True)
                else:
                    options: dict[str, Any] = {"symmetry": symmetry, "seed": seed, "threads": 1}
                    train_run("trading", model=model, out=folder, progress=True, **options)
            if not (folder / "test.json").exists():
                result = Run(folder).evaluate(EPISODES, progress=True)
                write_json(folder / "test.json", result)


def tests(model: str, symmetry: str) -> list[dict[str, Any]]:
    """What `nearsym eval` said of the seeds that are done."""
    paths = [folder_of(model, symmetry, seed) / "test.json" for seed in SEEDS]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def over_seeds(name: str, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One row for several runs, each counted by the mean of its episodes."""
    runs = [
        Metrics(**{k: v["mean"] for k, v in row.items() if isinstance(v, dict)}) for row in rows
    ]
    return summary_row(name, runs)


def table() -> list[dict[str, Any]]:
    """Models, sampled and as mean policies, over the seeds; then the baselines."""
    found, baselines = [], []
    for model, symmetry in MODELS:
        results = tests(model, symmetry)
        for i, kind in enumerate(("sampled", "mean policy")) if results else ():
            name = f"{label(model, symmetry)}, {kind}"
            found.append(over_seeds(name, (result["metrics"][i] for result in results)))
            baselines = results[0]["metrics"][2:]
    return [*found, random_orders(), *baselines] if found else []


def random_orders(episodes: int = 30) -> dict[str, Any]:
    """What uniformly random orders earn: an agent that has learned nothing."""
    env, rng = make_trading(part="test"), np.random.default_rng(0)
    played = rollouts(
        lambda obs: rng.uniform(-1, 1, (len(obs), env.action_space.shape[0])),
        env,
        episodes=episodes,
        seed=0,
        keep_infos=True,
    )
    tracks = (Track.from_infos("random", episode.infos) for episode in played)
    return summary_row("random orders", [metrics(track) for track in tracks])


def write(rows: list[dict[str, Any]]) -> None:
    """The table as a small CSV file."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    names = [name for name in rows[0] if name not in ("name", "runs")]
    with (RESULTS / "trading.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
        writer.writerow(["portfolio", "seeds", *columns])
        for row in rows:
            cells = [x for n in names for x in (row[n]["mean"], *(row[n]["ci95"] or ("", "")))]
            writer.writerow([row["name"], row["runs"], *(_short(cell) for cell in cells)])


def _short(cell: float | str) -> str:
    return cell if isinstance(cell, str) else f"{cell:.6g}"


def draw() -> None:
    """Value and cumulative costs over the test part; relaxed weights of what was tested."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    IMAGES.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for i, (model, symmetry) in enumerate(MODELS):
        results = tests(model, symmetry)
        for axes, key, scale in ((left, "value", 1e-6), (right, "costs", 1e-3)):
            for j, result in enumerate(results):
                daily = np.mean(result[key], axis=0) * scale
                line = daily if key == "value" else daily.cumsum()
                dates = np.array(result["dates"], dtype="datetime64[D]")
                axes.plot(
                    dates,
                    line,
                    color=f"C{i}",
                    lw=1,
                    alpha=0.8,
                    label=None if j else label(model, symmetry),
                )
    uniform = held_uniformly(make_trading(part="test"))
    dates = np.array(uniform.dates, dtype="datetime64[D]")
    left.plot(dates, uniform.value * 1e-6, color="black", lw=1.2, ls="--", label="uniform")
    left.set(ylabel="portfolio value (mm)", title="Mean of ten sampled episodes, one line a seed")
    right.set(ylabel="thousand", title="Fees paid so far")
    left.legend(fontsize=8)
    for axes in (left, right):
        axes.tick_params(axis="x", rotation=30)
    figure.savefig(IMAGES / "trading-results.png", dpi=110)
    draw_relaxed(plt)


def draw_relaxed(plt: Any) -> None:
    """Relaxed weights of the approximate encoders, over time and over scale, every seed."""
    axes_titles = {
        ("T", "time"): "approx T: weights of the days",
        ("ST", "time"): "approx ST: weights of the days",
        ("ST", "scale"): "approx ST: weights of the scales",
    }
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for axes, ((symmetry, kind), title) in zip(panels, axes_titles.items(), strict=True):
        for seed in SEEDS:
            for i, (layer, weights) in enumerate(best_relaxed(symmetry, seed, kind)):
                steps = range(1, len(weights) + 1) if kind == "time" else SCALES
                style: dict[str, Any] = {"ms": 3, "lw": 1, "color": f"C{i}", "alpha": 0.8}
                axes.plot(steps, weights, "o-", label=None if seed else layer, **style)
        axes.axhline(1.0, color="black", lw=0.6)
        axes.set(title=title, xlabel="day of the window (the last is today)")
        if kind == "scale":
            axes.set(xlabel="scale", xticks=SCALES)
        axes.legend(fontsize=7)
    figure.savefig(IMAGES / "trading-relaxed.png", dpi=110)


def best_relaxed(symmetry: str, seed: int, kind: str) -> list[tuple[str, list[float]]]:
    """(layer, weights) of a run's encoder at the evaluation whose checkpoint was tested."""
    path = folder_of("approx", symmetry, seed) / "metrics.jsonl"
    rows = [row for row in read_metrics(path) if "eval/return_mean" in row] if path.exists() else []
    found = []
    best = max(rows, key=lambda row: row["eval/return_mean"], default={})
    for name, weights in best.items():
        if name.startswith("relaxed/encoder."):
            layer, _, suffix = name.removeprefix("relaxed/encoder.").partition(".relaxed_")
            if (suffix or "time") == kind:
                number = layer.removeprefix("layers.")
                found.append(
                    (f"layer {int(number) + 1}" if number.isdigit() else layer, weights[0])
                )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["train", "draw"])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="which to train")
    arguments = parser.parse_args()
    if arguments.what == "train":
        train(arguments.seeds)
    rows = table()
    if rows:
        write(rows)
        draw()
        print(markdown_table(rows))


if __name__ == "__main__":
    main()
