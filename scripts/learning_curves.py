"""The learning curves of the docs: train what is missing and write small CSV files.

    python scripts/learning_curves.py state-cartpole state-others
    python scripts/learning_curves.py pixels-cartpole --only none-seed0 approx-seed1

Every run is an ordinary one of `nearsym.train` in runs/curves; one that was stopped, or is shorter
than it should be, goes on from its last checkpoint; one that is finished is left alone. Curves go
to docs/results/NAME.csv, which `draw_curves.py` draws.
"""

import argparse
import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearsym.runs.config import RunConfig
from nearsym.runs.configure import configure
from nearsym.runs.run import Run, start_run
from nearsym.training.allocator import keep_freed_memory
from nearsym.training.log import read_metrics

RUNS = Path("runs/curves")
RESULTS = Path("docs/results")
MODELS = ("none", "exact", "approx", "rpp")
RELAXED = "pixels-relaxed"
RELAXED_SETS = ("pixels-cartpole", "pixels-cartpole-repeat")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is asked for; the preset laptop gives the rest."""

    task: str
    obs: str
    agent: str
    model: str
    frames: int
    seed: int
    variant: str | None = None
    layers: str = "group"
    noise: float | None = None
    eval_every: int | None = None

    def config(self) -> RunConfig:
        return configure(
            self.task,
            variant=self.variant,
            obs=self.obs,
            noise=self.noise,
            agent=self.agent,
            model=self.model,
            frames=self.frames,
            seed=self.seed,
            threads=1,
            network={"layers": self.layers},
            training={} if self.eval_every is None else {"eval_every": self.eval_every},
        )


def _named(plan: Plan) -> tuple[str, Plan]:
    parts = [plan.task, plan.variant, plan.obs, plan.agent, plan.layers, plan.model]
    noise = None if plan.noise is None else f"noise{plan.noise:g}"
    name = "-".join(p for p in [*parts, noise] if p and p != "group")
    return f"{name}-seed{plan.seed}", plan


def _state(task: str, model: str, agent: str, frames: int, seed: int) -> Plan:
    every = 5000 if frames < 100_000 else 10_000
    return Plan(
        task=task,
        obs="state",
        agent=agent,
        model=model,
        frames=frames,
        seed=seed,
        eval_every=every,
    )


def _pixels(task: str, model: str, seed: int, *, frames: int, **options: Any) -> Plan:
    return Plan(
        task=task, obs="pixels", agent="drqv2", model=model, frames=frames, seed=seed, **options
    )


def curves() -> dict[str, list[Plan]]:
    """The sets of runs, by name."""
    cartpole = "cartpole-swingup"
    return {
        "state-cartpole": [_state(cartpole, m, "sac", 80_000, s) for s in range(3) for m in MODELS],
        "state-drqv2": [_state(cartpole, m, "drqv2", 40_000, 0) for m in ("approx", "none")],
        "state-others": [
            _state(task, "approx", "sac", frames, s)
            for task, frames in (("reacher-hard", 200_000), ("ball_in_cup-catch", 100_000))
            for s in range(3)
        ],
        "pixels-cartpole": [
            _pixels(cartpole, m, s, frames=80_000)
            for s in range(2)
            for m in ("exact", "approx", "none")
        ],
        "pixels-cartpole-repeat": [
            _pixels(cartpole, m, s, frames=100_000, variant="repeat_action")
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
    keep_freed_memory()
    for which in names:
        for name, plan in map(_named, curves()[which]):
            folder = RUNS / name
            if only and not name.endswith(tuple(only)):
                continue
            if (folder / "config.json").exists():
                Run(folder).resume(plan.frames, progress=True)  # at once if it has them already
            else:
                start_run(plan.config(), folder, progress=True)
            write(which)


def points(which: str) -> Iterator[dict[str, Any]]:
    """One row for each evaluation of each run that has come to its end."""
    for name, plan in map(_named, curves()[which]):
        if not (RUNS / name / "summary.json").exists():
            continue
        for row in read_metrics(RUNS / name / "metrics.jsonl"):
            if "eval/return_mean" in row:
                yield {
                    "task": plan.task,
                    "variant": plan.variant or "original",
                    "obs": plan.obs,
                    "agent": plan.agent,
                    "layers": plan.layers,
                    "model": plan.model,
                    "noise": plan.noise or 0,
                    "seed": plan.seed,
                    "frames": row["frames"],
                    "return": round(row["eval/return_mean"], 2),
                }


def element_weights(which: str) -> Iterator[dict[str, Any]]:
    """w(g) − w(e) for each element g but e, of each relaxed layer of each run at its last
    evaluation, the mean over filters: 0 is symmetry."""
    for name, plan in map(_named, curves()[which]):
        if plan.model != "approx" or not (RUNS / name / "summary.json").exists():
            continue
        run = Run(RUNS / name)
        elements = run.task.domain.group.elements
        for layer, weights in run.relaxed_weights().items():
            last = weights[-1].mean(axis=tuple(range(weights.ndim - 2)))
            for g in range(1, len(elements)):
                yield {
                    "task": plan.task,
                    "variant": plan.variant or "original",
                    "seed": plan.seed,
                    "frames": int(run.curve().frames[-1]),
                    "layer": layer,
                    "element": elements[g],
                    "difference": round(float(last[g] - last[0]), 4),
                }


def write(which: str) -> None:
    """The curves so far, as a small CSV file; what other machines ran stays in it."""
    _merge(which, list(points(which)))
    if which in RELAXED_SETS:
        _merge(RELAXED, list(element_weights(which)))


def _merge(which: str, rows: list[dict[str, Any]]) -> None:
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
    measured = ("frames", "return", "layer", "element", "difference")
    return tuple(str(value) for name, value in row.items() if name not in measured)


def read(which: str) -> list[dict[str, Any]]:
    """The rows of a CSV file; none if it has not been made."""
    path = RESULTS / f"{which}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", help=f"sets to train: {', '.join(curves())}")
    parser.add_argument("--only", nargs="*", default=[], help="train only runs that end in one")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(curves())
    if unknown:
        parser.error(f"no such set: {', '.join(unknown)}")
    train(arguments.names, arguments.only)


if __name__ == "__main__":
    main()
