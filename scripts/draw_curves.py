"""Figures of the learning curves in docs/images, and the tables of the docs on the terminal.

python scripts/draw_curves.py
"""

from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from learning_curves import RELAXED, curves, read, write

import nearsym
from nearsym.training.evaluate import rollouts

IMAGES = Path("docs/images")


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
    """The mean of the last three evaluations, as Markdown; a row for all runs of one length."""
    rows: dict[tuple[str, int], dict[str, float]] = {}
    for (what, seed), curve in by_run(read(which)).items():
        if len(curve) >= 3:
            rows.setdefault((what, max(curve)), {})[seed] = final(curve)
    lines = [
        "| run | frames | seeds | last three evaluations, one number a seed | mean |",
        "|---|---:|---|---|---:|",
    ]
    for (what, frames), of in rows.items():
        seeds, values = zip(*sorted(of.items()), strict=True)
        cells = ", ".join(f"{value:.0f}" for value in values)
        mean = sum(values) / len(values)
        lines.append(f"| {what} | {frames:,} | {', '.join(seeds)} | {cells} | {mean:.0f} |")
    return "\n".join(lines)


def final(curve: Mapping[int, float]) -> float:
    """The mean of the last three evaluations."""
    return sum(curve[x] for x in sorted(curve)[-3:]) / 3


def differences(which: str) -> str:
    """Returns of models on the same task with the same seed, less each other, at the evaluations
    that both runs have: the mean of the last three, and of all, which is who learned sooner."""
    models: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for (what, seed), curve in by_run(read(which)).items():
        task, variant, model = what.split(" ", 2)
        if len(curve) >= 3:
            models.setdefault((f"{task} {variant}", seed), {})[model] = curve
    lines = [
        "| task | difference | last three evaluations | mean | all evaluations | mean |",
        "|---|---|---|---:|---|---:|",
    ]
    for task in dict.fromkeys(task for task, _ in models):
        for one, other in (("approx", "exact"), ("approx", "none"), ("exact", "none")):
            pairs = [
                (of[one], of[other])
                for (name, _), of in sorted(models.items())
                if name == task and {one, other} <= of.keys()
            ]
            if pairs:
                cells = " | ".join(_cells(pairs, part) for part in (slice(-3, None), slice(None)))
                lines.append(f"| {task} | {one} − {other} | {cells} |")
    return "\n".join(lines)


def _cells(pairs: list[tuple[dict[int, float], dict[int, float]]], part: slice) -> str:
    values = [_difference(one, other, part) for one, other in pairs]
    return f"{', '.join(f'{round(v):+d}' for v in values)} | {round(sum(values) / len(values)):+d}"


def _difference(one: Mapping[int, float], other: Mapping[int, float], part: slice) -> float:
    shared = sorted(one.keys() & other.keys())[part]
    return sum(one[x] - other[x] for x in shared) / len(shared)


@cache
def random_return(task: str, variant: str | None, action_repeat: int) -> float:
    """What uniformly random actions earn, a mean over 20 episodes."""
    env = nearsym.make(task, variant=variant, obs="state", action_repeat=action_repeat)
    rng = np.random.default_rng(0)
    shape = env.action_space.shape
    assert shape is not None
    played = rollouts(lambda obs: rng.uniform(-1, 1, (1, *shape)), env, episodes=20, seed=0)
    return sum(episode.total for episode in played) / 20


def random_returns(which: str) -> dict[str, float]:
    """The tasks of a set, and what random actions earn there."""
    tasks = [(plan, plan.config().task) for plan in curves()[which]]
    return {
        f"{plan.task} {plan.variant or 'original'}": random_return(
            plan.task, plan.variant, task.frames_per_step
        )
        for plan, task in tasks
    }


def draw(which: str) -> None:
    """Every run as a thin line, the mean over seeds as a thick one, random actions dotted."""
    runs = by_run(read(which))
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for i, what in enumerate(dict.fromkeys(what for what, _ in runs)):
        curves_of = [curve for (name, _), curve in runs.items() if name == what]
        for curve in curves_of:
            axes.plot(*zip(*sorted(curve.items()), strict=True), color=f"C{i}", alpha=0.3, lw=0.8)
        shared = sorted(set.intersection(*(set(curve) for curve in curves_of)))
        means = [sum(curve[x] for curve in curves_of) / len(curves_of) for x in shared]
        axes.plot(shared, means, color=f"C{i}", lw=2, label=f"{what} ({len(curves_of)})")
    for i, mean in enumerate(random_returns(which).values()):
        axes.axhline(mean, color="black", ls=":", lw=1, label=None if i else "random actions")
    axes.set(xlabel="frames", ylabel="mean return of an evaluation", title=which, ylim=(0, 1000))
    axes.legend(fontsize=8)
    figure.savefig(IMAGES / f"curves-{which}.png", dpi=110)


def draw_relaxed() -> None:
    """What the relaxed weights of each layer learned, one dot a seed, task beside task, with a
    marker for each element."""
    rows = read(RELAXED)
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    elements = list(dict.fromkeys(row["element"] for row in rows))
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for variant, element in product(variants, elements):
        i, marker = variants.index(variant), "os^vDPX"[elements.index(element)]
        of = [row for row in rows if (row["variant"], row["element"]) == (variant, element)]
        places = [layers.index(row["layer"]) + 0.2 * i for row in of]
        found, label = [float(row["difference"]) for row in of], f"{variant}, {element}"
        axes.plot(found, places, marker, color=f"C{i}", alpha=0.7, label=label)
    axes.axvline(0, color="black", lw=0.8)
    axes.set_yticks(range(len(layers)), layers)
    axes.invert_yaxis()
    axes.set(xlabel="relaxed weight of an element − that of e, at the end", title=RELAXED)
    axes.legend(fontsize=8)
    figure.savefig(IMAGES / f"{RELAXED}.png", dpi=110)


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for which in curves():
        write(which)
        if not read(which):
            continue
        draw(which)
        print(f"\n{which}\n\n{table(which)}\n\n{differences(which)}\n")
        for task, mean in random_returns(which).items():
            print(f"Random actions on {task}: {mean:.0f}")
    if read(RELAXED):
        draw_relaxed()


if __name__ == "__main__":
    main()
