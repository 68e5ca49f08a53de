"""What each model is worth as the craft's mirrors break: train what is missing, then draw the map.

    python scripts/tilt_map.py [--workers 2]

Runs lie in runs/tilt_map, the learning curves of finished ones in docs/results/craft-tilt.csv, the
picture is docs/images/craft-tilt.png. A run that was stopped goes on from its last checkpoint; one
whose curve is in the file is not repeated.
"""

import argparse
import csv
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import nearsym

RUNS = Path("runs/tilt_map")
RESULTS = Path("docs/results/craft-tilt.csv")
PICTURE = Path("docs/images/craft-tilt.png")
TILTS = (0, 15, 30, 45, 60, 75, 90)
MODELS = ("none", "exact", "approx", "rpp")
SEEDS = (0, 1, 2)
PAIRS = 600
"""Pairs of steps that the audit of a tilt compares."""

Job = tuple[int, str, int]
"""Tilt, model, seed."""
Curve = list[tuple[int, float]]
"""Frames, and the mean return of the evaluation there."""


def train(job: Job) -> tuple[Job, Curve]:
    """One run on one core, from where it stands."""
    tilt, model, seed = job
    out = RUNS / f"tilt{tilt}-{model}-seed{seed}"
    if (out / "config.json").exists():
        run = nearsym.Run(out)
        run.resume()
    else:
        run = nearsym.train(
            "craft", variant=f"tilt={tilt}", model=model, seed=seed, out=out, threads=1
        )
    rows = [row for row in run.metrics if "eval/return_mean" in row]
    return job, [(row["frames"], row["eval/return_mean"]) for row in rows]


def read() -> dict[Job, Curve]:
    """The curves of the runs that are finished."""
    found: dict[Job, Curve] = {}
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                job = (int(row["tilt"]), row["model"], int(row["seed"]))
                found.setdefault(job, []).append((int(row["frames"]), float(row["return"])))
    return found


def write(curves: dict[Job, Curve]) -> None:
    aside = RESULTS.with_suffix(".new")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("tilt", "model", "seed", "frames", "return"))
        for job, curve in sorted(curves.items()):
            writer.writerows((*job, frames, round(value, 2)) for frames, value in curve)
    aside.replace(RESULTS)


def train_missing(workers: int) -> dict[Job, Curve]:
    """All runs of the map, each written down as it ends; seed by seed over the whole map."""
    curves = read()
    jobs = [(t, m, s) for s, m, t in product(SEEDS, MODELS, TILTS) if (t, m, s) not in curves]
    pool = ProcessPoolExecutor(workers, get_context("spawn"))
    try:
        for future in tqdm(
            as_completed([pool.submit(train, job) for job in jobs]), total=len(jobs)
        ):
            job, curve = future.result()
            curves[job] = curve
            write(curves)
    finally:
        pool.shutdown(cancel_futures=True)
    return curves


def breaks() -> list[float]:
    """The ε of each tilt from which the audit would call all of D4 kept, in mean steps."""
    return [
        nearsym.audit(nearsym.make("craft", variant=f"tilt={tilt}"), samples=PAIRS).smallest_epsilon
        for tilt in TILTS
    ]


def last(curves: dict[Job, Curve], tilt: int, model: str) -> list[float]:
    """The last evaluation of each seed."""
    return [curves[tilt, model, seed][-1][1] for seed in SEEDS]


def draw(curves: dict[Job, Curve], epsilons: Sequence[float]) -> None:
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(7, 5.6), layout="constrained", sharex=True, height_ratios=(3, 1)
    )
    for i, model in enumerate(MODELS):
        values = np.array([last(curves, tilt, model) for tilt in TILTS])
        above.plot(TILTS, values.mean(1), "-", color=f"C{i}", lw=2, label=model)
        above.plot(TILTS, values, "o", color=f"C{i}", ms=3.5, alpha=0.6)
    above.set(ylabel="return of the last evaluation", ylim=(0, 115))
    above.set_title("The craft: one dot a seed, lines are means over three seeds")
    above.legend()
    below.plot(TILTS, epsilons, "-o", color="black", ms=4)
    below.set(xlabel="angle at which the thrusters are mounted, degrees", xticks=TILTS)
    below.set(ylabel="audit's ε", ylim=(0, None))
    figure.savefig(PICTURE, dpi=110)


def table(curves: dict[Job, Curve], epsilons: Sequence[float]) -> str:
    lines = [f"| tilt | ε | {' | '.join(MODELS)} |", f"|---:|---:|{'---|' * len(MODELS)}"]
    for tilt, epsilon in zip(TILTS, epsilons, strict=True):
        cells = (", ".join(f"{v:.0f}" for v in last(curves, tilt, model)) for model in MODELS)
        lines.append(f"| {tilt}° | {epsilon:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=1, help="runs at a time (1)")
    curves = train_missing(parser.parse_args().workers)
    epsilons = breaks()
    draw(curves, epsilons)
    print(table(curves, epsilons))


if __name__ == "__main__":
    main()
