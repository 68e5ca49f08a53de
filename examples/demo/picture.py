"""The picture of the demo: how they learned, how they fly, and the relaxed weights of approx."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from report import Score, in_short

import nearsym
from nearsym.tasks.craft.dynamics import EPISODE
from training import MODELS, VARIANT, Runs

# From Okabe and Ito's palette, which everybody can tell apart.
COLOURS = {"none": "#5f5f5f", "exact": "#0072b2", "approx": "#d55e00"}
MEANINGS = {
    "none": "no symmetry built in",
    "exact": "all 8 symmetries forced",
    "approx": "begins with all 8, may unlearn them",
}
DISTANCE = 1.8
"""Of the eight starts from the target: an orbit of D4, evenly spaced on a circle."""
VIEW = 2.4
LAYER = "actor.body.layers.0"


def draw(runs: Runs, audit: Any, found: Mapping[str, Score], path: Path) -> None:
    """Learning curves and relaxed weights above, paths below."""
    figure = Figure(figsize=(10, 8.8), layout="constrained")
    figure.suptitle(headline(runs, audit, found), fontsize=12)
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.05], hspace=0.04)
    curves, weights = above.subplots(1, 2, width_ratios=[7, 5], gridspec_kw={"wspace": 0.08})
    draw_curves(curves, runs)
    draw_weights(weights, runs["approx"], audit)
    below.suptitle(paths_title(runs) + "\n", x=0.005, ha="left", fontsize=12, weight="bold")
    for model, axes in zip(MODELS, below.subplots(1, len(MODELS)), strict=True):
        draw_paths(axes, model, runs[model])
    figure.savefig(path, dpi=150)


def headline(runs: Runs, audit: Any, found: Mapping[str, Score]) -> str:
    """What the numbers say, in their own order."""
    order = sorted(found, key=lambda model: -np.mean(found[model].last))
    returns = ", ".join(f"{model} {np.mean(found[model].last):.0f}" for model in order)
    frames = runs["approx"][0].config.training.frames
    agents = "; ".join(f"{model}: {meaning}" for model, meaning in MEANINGS.items())
    return (
        f"A craft whose thrusters were mounted {VARIANT.removeprefix('tilt=')}° askew: "
        f"{in_short(audit)}.\n{agents}.\n"
        f"Return after {frames:,} steps of training, mean of {_seeds(runs)}: {returns}."
    )


def _seeds(runs: Runs) -> str:
    count = len(runs["approx"])
    return "1 seed" if count == 1 else f"{count} seeds"


def draw_curves(axes: Axes, runs: Runs) -> None:
    """The mean over seeds and a band from the lowest to the highest."""
    ends = {}
    for model, found in runs.items():
        curves = [run.curve() for run in found]
        frames, returns = curves[0].frames, np.stack([curve.mean for curve in curves])
        low, high, mean = returns.min(axis=0), returns.max(axis=0), returns.mean(axis=0)
        axes.fill_between(frames, low, high, color=COLOURS[model], alpha=0.18, linewidth=0)
        axes.plot(frames, mean, color=COLOURS[model], linewidth=2.2)
        ends[model] = float(mean[-1])
    last, top = int(frames[-1]), 1.08 * axes.get_ylim()[1]
    for model, height in apart(ends, smallest=0.065 * top).items():
        axes.text(last * 1.02, height, model, color=COLOURS[model], weight="bold", va="center")
    axes.set(xlabel="steps of training", xlim=(0, last * 1.16), ylim=(0, top))
    axes.set_ylabel(f"return ≈ time at the target, at most {EPISODE}")
    axes.set_xticks(np.linspace(0, last, 5))
    axes.spines[["top", "right"]].set_visible(False)
    _title(axes, "How they learn", f"mean of {_seeds(runs)}; band: lowest to highest")


def apart(heights: Mapping[str, float], smallest: float) -> dict[str, float]:
    """Heights of labels, moved up where one would cover the one below."""
    placed: dict[str, float] = {}
    below = -math.inf
    for model in sorted(heights, key=heights.__getitem__):
        below = placed[model] = max(heights[model], below + smallest)
    return placed


def draw_weights(axes: Axes, runs: list[nearsym.Run], audit: Any) -> None:
    """A bar for each element, the mean over seeds, and a point for each seed."""
    order = sorted(range(audit.group.order), key=lambda g: _kind_and_angle(audit.group, g))
    weights = np.stack([run.relaxed_weights()[LAYER][-1].mean(axis=0) for run in runs])[:, order]
    holds = np.array([True, *(element.strength.exact for element in audit.elements)])[order]
    x = np.arange(len(order))
    for which, word in ((holds, "hold"), (~holds, "broken")):
        draw_bars(axes, x[which], weights[:, which], word)
    axes.plot(x, weights.T, "o", color="black", markersize=3.5, alpha=0.7)
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.text(len(x) - 0.45, 1, "start", va="center", fontsize=9)
    axes.set_xticks(x, [f"{_kind_and_angle(audit.group, g)[1]:.0f}°" for g in order])
    for kind, middle in (("rotations by", 1.5), ("mirrors, by their axis", 5.5)):
        axes.text(middle, -0.14, kind, transform=axes.get_xaxis_transform(), ha="center")
    axes.set_ylim(0, 1.15 * weights.max())
    axes.spines[["top", "right"]].set_visible(False)
    _title(axes, "What approx found out", "relaxed weights of its first layer; dots: seeds")


def draw_bars(axes: Axes, x: np.ndarray, weights: np.ndarray, word: str) -> None:
    """Filled where the audit says that elements hold, hatched where it says broken."""
    fill = {"color": COLOURS["approx"]}
    if word == "broken":
        fill = {"facecolor": "white", "edgecolor": COLOURS["approx"], "hatch": "////"}
    axes.bar(x, weights.mean(axis=0), width=0.75, **fill)
    if len(x):
        height = weights.max() + 0.05
        axes.text(x.mean(), height, f"{word} in this world", ha="center", weight="bold")


def _kind_and_angle(group: Any, g: int) -> tuple[bool, float]:
    """Whether g is a mirror, and the degrees that it turns by or of the axis that it keeps."""
    matrix = group.plane[g]
    mirror = bool(np.linalg.det(matrix) < 0)
    angle = math.degrees(math.atan2(matrix[1, 0], matrix[0, 0])) % 360
    return mirror, angle / 2 if mirror else angle


def paths_title(runs: Runs) -> str:
    seeds = "" if len(runs["approx"]) == 1 else "; seed 0 dark, other seeds pale"
    return f"How they fly: from the same eight starts (•) to the target (+){seeds}"


def draw_paths(axes: Axes, model: str, runs: list[nearsym.Run]) -> None:
    """From above, to the target at the origin: the first seed in full, the others pale."""
    for run in reversed(runs):
        first = run is runs[0]
        width, alpha = (1.3, 1.0) if first else (0.8, 0.45)
        for path in paths(run):
            axes.plot(*path.T, color=COLOURS[model], linewidth=width, alpha=alpha)
    axes.plot(*starts().T, "o", color="black", markersize=4)
    axes.plot(0, 0, "+", color="black", markersize=14, markeredgewidth=2)
    axes.set(xlim=(-VIEW, VIEW), ylim=(-VIEW, VIEW), xticks=[], yticks=[], aspect="equal")
    _title(axes, model, MEANINGS[model], COLOURS[model])


def starts() -> np.ndarray:
    """(8, 2) positions."""
    angles = math.pi / 8 + np.arange(8) * math.pi / 4
    return DISTANCE * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def paths(run: nearsym.Run) -> np.ndarray:
    """(8, steps, 2) positions of the agent at its last checkpoint, from all starts at rest."""
    agent, dynamics = run.load_agent("last"), run.task.make("test").unwrapped.dynamics
    state = np.concatenate([starts(), np.zeros((8, 2))], axis=1).T  # x, y, velocity x, velocity y
    flown = [state[:2].T]
    for _ in range(EPISODE):
        actions = agent.policy(state.T.astype(np.float32)).astype(np.float64)
        state = np.stack(dynamics.advance(*state, *actions.T))
        flown.append(state[:2].T)
    return np.stack(flown, axis=1)


def _title(axes: Axes, title: str, remark: str, colour: str = "black") -> None:
    axes.set_title(f"{title}\n", loc="left", weight="bold", fontsize=12, color=colour)
    axes.text(0, 1.02, remark, transform=axes.transAxes, fontsize=10, color="#404040")
