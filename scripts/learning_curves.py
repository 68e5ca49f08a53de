"""The learning curves of the docs: train what is missing, then write CSV files and figures.

    python scripts/learning_curves.py state-cartpole state-others
    python scripts/learning_curves.py pixels-cartpole --only none-seed0 approx-seed1
    python scripts/learning_curves.py --draw

Every run is an ordinary `nearsym train` in runs/curves; one that was stopped is resumed, one that
is finished is left alone. Curves go to docs/results/NAME.csv, figures to docs/images.
"""

import argparse
import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nearsym.cli.train import Train, configure
from nearsym.experiments.run import resume, start
from nearsym.training.log import read_metrics

RUNS = Path("runs/curves")
RESULTS = Path("docs/results")
IMAGES = Path("docs/images")
MODELS = ("none", "exact", "approx", "rpp")


def _named(train: Train) -> tuple[str, Train]:
    parts = [train.task, train.variant, train.obs, train.agent, train.layers, train.model]
    noise = None if train.noise is None else f"noise{train.noise:g}"
    name = "-".join(p for p in [*parts, noise] if p and p != "group")
    return f"{name}-seed{train.seed}", train


def _state(task: str, model: str, agent: str, frames: int, seed: int) -> Train:
    every = 5000 if frames < 100_000 else 10_000
    return Train(
        task=task,
        obs="state",
        agent=agent,
        model=model,
        frames=frames,
        seed=seed,
        eval_every=every,
    )


def _pixels(task: str, model: str, seed: int, *, frames: int = 65_000, **options: object) -> Train:
    return Train(
        task=task, obs="pixels", agent="drqv2", model=model, frames=frames, seed=seed, **options
    )


def curves() -> dict[str, list[Train]]:
    """The sets of runs, by name."""
    cartpole = "cartpole-swingup"
    return {
        "state-cartpole": [_state(cartpole, m, "sac", 60_000, s) for s in range(3) for m in MODELS],
        "state-drqv2": [_state(cartpole, m, "drqv2", 100_000, 0) for m in ("approx", "none")],
        "state-others": [
            _state(task, "approx", "sac", frames, s)
            for task, frames in (("reacher-hard", 250_000), ("ball_in_cup-catch", 125_000))
            for s in range(3)
        ],
        "pixels-cartpole": [
            _pixels(cartpole, m, s) for s in range(2) for m in ("exact", "approx", "none")
        ],
        "pixels-cartpole-repeat": [
            _pixels(cartpole, m, s, variant="repeat_action")
            for s in range(2)
            for m in ("exact", "approx", "none")
        ],
        "pixels-others": [
            _pixels(cartpole, "rpp", 0, frames=30_000),
            _pixels(cartpole, "sit", 0, frames=30_000),
            _pixels(cartpole, "approx", 0, frames=30_000, layers="steerable"),
            _pixels(cartpole, "approx", 0, frames=30_000, noise=0.06),
        ],
    }


def train(names: list[str], only: list[str]) -> None:
    """Run what is missing, in order; of runs with one of these endings, if any are given."""
    for which in names:
        for name, options in map(_named, curves()[which]):
            folder = RUNS / name
            if (folder / "summary.json").exists() or (only and not name.endswith(tuple(only))):
                continue
            if (folder / "config.json").exists():
                resume(folder)
            else:
                start(configure(options), folder)
            write(which)


def points(which: str) -> Iterator[dict[str, Any]]:
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
    """The curves so far, as a small CSV file; what other machines ran stays in it."""
    rows = list(points(which))
    here = {_key(row) for row in rows}
    rows = [row for row in read(which) if _key(row) not in here] + rows
    if rows:
        RESULTS.mkdir(parents=True, exist_ok=True)
        with (RESULTS / f"{which}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def _key(row: Mapping[str, object]) -> tuple[str, ...]:
    """What identifies a run among the rows."""
    return tuple(str(value) for name, value in row.items() if name not in ("frames", "return"))


def read(which: str) -> list[dict[str, Any]]:
    """The rows of a CSV file; none if it has not been made."""
    path = RESULTS / f"{which}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_run(rows: list[dict[str, str]]) -> dict[tuple[str, str], dict[int, float]]:
    """(what, seed) to its curve: frames to return."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        layers = "" if row["layers"] == "group" else f" {row['layers']}"
        noise = "" if float(row["noise"]) == 0 else f" noise {row['noise']}"
        what = f"{row['task']} {row['variant']} {row['model']}{layers}{noise}"
        found.setdefault((what, row["seed"]), {})[int(row["frames"])] = float(row["return"])
    return found


def table(which: str) -> str:
    """The mean of the last three evaluations of every run, as Markdown."""
    runs = by_run(read(which))
    lines = [
        "| run | frames | last three evaluations, one number a seed | mean |",
        "|---|---:|---|---:|",
    ]
    for what in dict.fromkeys(what for what, _ in runs):
        frames = max(max(curve) for (name, _), curve in runs.items() if name == what)
        finals = [
            final(curve)
            for (name, _), curve in runs.items()
            if name == what and len(curve) >= 3 and max(curve) == frames
        ]
        if finals:
            cells = ", ".join(f"{value:.0f}" for value in finals)
            lines.append(f"| {what} | {frames:,} | {cells} | {sum(finals) / len(finals):.0f} |")
    return "\n".join(lines)


def final(curve: Mapping[int, float]) -> float:
    """The mean of the last three evaluations."""
    last = [value for _, value in sorted(curve.items())[-3:]]
    return sum(last) / len(last)


def differences(which: str) -> str:
    """Final returns of models that trained as long on the same task with the same seed, less each
    other."""
    finals: dict[tuple[str, str, int], dict[str, float]] = {}
    for (what, seed), curve in by_run(read(which)).items():
        task, variant, model = what.split(" ", 2)
        if len(curve) >= 3:
            of = finals.setdefault((f"{task} {variant}", seed, max(curve)), {})
            of[model] = final(curve)
    lines = ["| task | difference | one number a seed | mean |", "|---|---|---|---:|"]
    for task in dict.fromkeys(task for task, *_ in finals):
        for one, other in (("approx", "exact"), ("approx", "none"), ("exact", "none")):
            pairs = [
                of[one] - of[other]
                for (name, *_), of in finals.items()
                if name == task and {one, other} <= of.keys()
            ]
            if pairs:
                cells = ", ".join(f"{value:+.0f}" for value in pairs)
                mean = sum(pairs) / len(pairs)
                lines.append(f"| {task} | {one} − {other} | {cells} | {mean:+.0f} |")
    return "\n".join(lines)


def draw(which: str) -> None:
    """Every run as a thin line, the mean over seeds as a thick one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    runs = by_run(read(which))
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for i, what in enumerate(dict.fromkeys(what for what, _ in runs)):
        curves_of = [curve for (name, _), curve in runs.items() if name == what]
        for curve in curves_of:
            axes.plot(*zip(*sorted(curve.items()), strict=True), color=f"C{i}", alpha=0.3, lw=0.8)
        shared = sorted(set.intersection(*(set(curve) for curve in curves_of)))
        means = [sum(curve[x] for curve in curves_of) / len(curves_of) for x in shared]
        axes.plot(shared, means, color=f"C{i}", lw=2, label=f"{what} ({len(curves_of)})")
    axes.set(xlabel="frames", ylabel="mean return of an evaluation", title=which, ylim=(0, 1000))
    axes.legend(fontsize=8)
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / f"curves-{which}.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"sets to train: {', '.join(curves())}")
    parser.add_argument("--only", nargs="*", default=[], help="train only runs that end in one")
    parser.add_argument("--draw", action="store_true", help="figures and tables of what is there")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(curves())
    if unknown:
        parser.error(f"no such set: {', '.join(unknown)}")
    train(arguments.names, arguments.only)
    if arguments.draw:
        for which in curves():
            write(which)
            if not read(which):
                continue
            draw(which)
            print(f"\n{which}\n\n{table(which)}\n\n{differences(which)}")


if __name__ == "__main__":
    main()
