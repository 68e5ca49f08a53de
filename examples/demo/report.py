"""What the demo says: the audit, the table, what to try next."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training import Runs

KINDS = {"rot": "rotations", "mirror": "mirrors"}


@dataclass(frozen=True)
class Score:
    """How the runs of one model went."""

    last: list[float]
    """The mean return of the last evaluation, one for each seed."""
    area: list[float]
    """The area under the learning curve over its length: the mean return while learning."""

    def as_json(self) -> dict[str, list[float]]:
        return asdict(self)


def scores(runs: Runs) -> dict[str, Score]:
    """The scores of each model."""
    curves = {model: [run.curve() for run in found] for model, found in runs.items()}
    return {
        model: Score(
            last=[float(curve.mean[-1]) for curve in found],
            area=[_area(curve.frames, curve.mean) for curve in found],
        )
        for model, found in curves.items()
    }


def _area(frames: np.ndarray, returns: np.ndarray) -> float:
    return float(np.trapezoid(returns, frames) / (frames[-1] - frames[0]))


def table(found: Mapping[str, Score]) -> str:
    """One row a model."""
    seeds = len(next(iter(found.values())).last)
    numbers = "".join(f"{f'seed {seed}':>8}" for seed in range(seeds))
    lines = [
        f"\n{'':8}{'last evaluation':>16}{'':{8 * seeds}}{'area under the curve':>24}",
        f"{'model':8}{'mean':>16}{numbers}{'mean, per frame':>24}",
    ]
    for model, score in found.items():
        each = "".join(f"{value:8.1f}" for value in score.last)
        lines.append(f"{model:8}{np.mean(score.last):16.1f}{each}{np.mean(score.area):24.1f}")
    return "\n".join(lines)


def audit_text(audit: Any) -> str:
    """The audit in a few lines: for each element, whether it holds."""
    lines = [
        "The world: a craft with two thrusters flies to a target in the plane. A square has four",
        "rotations and four mirrors (the group D4). Does this world keep them? Its thrusters were",
        f"mounted at an angle. The audit compares {audit.samples} steps with their images:\n",
    ]
    lines += [f"  {element.name:10} {_finding(element)}" for element in audit.elements]
    return "\n".join([*lines, f"\nSo {in_short(audit)}."])


def _finding(element: Any) -> str:
    if element.strength.exact:
        return "holds exactly"
    return f"off by {element.eps_p_relative.mean:.2f} mean steps"


def in_short(audit: Any) -> str:
    """The audit in one clause, kind by kind."""
    clauses = []
    for start, kind in KINDS.items():
        of_kind = [element for element in audit.elements if element.name.startswith(start)]
        broken = [e.eps_p_relative.mean for e in of_kind if not e.strength.exact]
        if not broken:
            clauses.append(f"{kind} hold exactly")
        else:
            some = "" if len(broken) == len(of_kind) else f"{len(broken)} of {len(of_kind)} "
            clauses.append(f"{some}{kind} are off by {np.mean(broken):.1f} steps")
    return ", ".join(clauses)


def next_text(out: Path) -> str:
    """Three commands that lead on."""
    command, here = Path(sys.executable).with_name("nearsym"), Path.cwd()
    shown = command.relative_to(here) if command.is_relative_to(here) else command
    return "\n".join(
        [
            "\nTry next:",
            f"  {shown} eval {out / 'approx-seed0'} --video film.mp4    # watch it fly",
            f"  {shown} audit craft --variant wind=0.5    # what does wind leave of the symmetry?",
            f"  {shown} train craft --variant tilt=30 --model exact    # a smaller angle",
        ]
    )
