"""Fill the table of docs/speed.md that has learning before and after updates were made faster.

    python scripts/learning.py

Cartpole, mean of the last three evaluations of each seed: of version 0.1.0 from docs/results/*.csv,
of today's from docs/results/*.jsonl, up to the frames that both have.
"""

import csv
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from nearsym.studies.results import RunResult, read_results

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "speed.md", DOCS / "results"
BLOCK = re.compile(r"(<!-- learning -->\n).*?(<!-- end -->)", re.DOTALL)
TASK, FRAMES, LAST = "cartpole-swingup", 60_000, 3
SOURCES = {
    "state": ("state-cartpole.csv", "control.jsonl"),
    "pixels": ("pixels-cartpole.csv", "pixels.jsonl"),
}
"""Before and after, by observations."""
Curves = dict[tuple[str, int], dict[int, float]]
"""For each model and seed the return by frames."""


def before(name: str) -> Curves:
    """The curves of version 0.1.0."""
    found: Curves = {}
    with (RESULTS / name).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["task"], row["variant"]) == (TASK, "original"):
                curve = found.setdefault((row["model"], int(row["seed"])), {})
                curve[int(row["frames"])] = float(row["return"])
    return found


def after(results: Iterable[RunResult], obs: str) -> Curves:
    """The curves of runs at the preset as it is."""
    return {
        (run.model, run.seed): dict(zip(run.frames, run.curve(), strict=True))
        for run in results
        if run.task == TASK and run.variant in (None, "original") and run.obs == obs
        if not run.settings
    }


def ends(curves: Curves, model: str) -> list[np.ndarray]:
    """The last evaluations of each seed."""
    return [
        np.array([value for frames, value in sorted(curve.items()) if frames <= FRAMES][-LAST:])
        for (name, _), curve in sorted(curves.items())
        if name == model
    ]


def said(found: list[np.ndarray]) -> str:
    means = ", ".join(f"{each.mean():.0f}" for each in found)
    apart = max(np.ptp(each) for each in found)
    return f"{means} | {apart:.0f}"


def table() -> str:
    """Both versions side by side, for the models that both have."""
    lines = ["| observations | model | 0.1.0: each seed | apart | today: each seed | apart |"]
    lines.append("|---|---|---|---:|---|---:|")
    for obs, (old, new) in SOURCES.items():
        known = before(old), after(read_results(RESULTS / new), obs)
        for model in ("none", "exact", "approx"):
            first, second = (ends(curves, model) for curves in known)
            if first and second:
                lines.append(f"| {obs} | {model} | {said(first)} | {said(second)} |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with its table as the results have it."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{table()}\n\n{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
