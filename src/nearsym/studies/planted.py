"""Positive controls: how much of a planted signal each model finds, as the signal gets weaker.

Where nothing can be learned, a model that learns nothing is no worse than another. So the study
trades in markets whose signal is known (`tasks/trading/planted.py`), with settings that let it be
seen: nothing drifts, orders are weights, trading is free, and a day's reward is all that counts.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from nearsym.errors import UsageError
from nearsym.studies.charts.chart import Chart, Line
from nearsym.studies.claims.portfolios import figure_of
from nearsym.studies.luck import beyond, chance
from nearsym.studies.results import RunResult
from nearsym.studies.scores import Score, by_seed
from nearsym.studies.selection import (
    TRADING,
    Variant,
    by_arm,
    by_scale,
    is_planted,
    unique,
    variant_of,
)
from nearsym.studies.statistics import Measured, differences, mean_over_seeds
from nearsym.studies.study import Evaluation, Grid, Study
from nearsym.studies.tables.table import Cell, Table, tabled
from nearsym.tasks.trading.oracle import ORACLE
from nearsym.tasks.trading.planted import PREFIX, SPLIT

STRENGTHS = {"momentum": (0.3, 0.2, 0.1), "stretched": (3.0, 2.0, 1.0)}
"""From strong to weak."""
VISIBLE: dict[str, Any] = {
    "split": SPLIT,
    "features": "returns",
    "orders": "weights",
    "reward": "excess",
    "reward_scale": 5.0,
    "start_portfolio": "random",
    "episode_days": 50,
    "max_shares": 10**9,
    "cash": 1e8,
    "cost": 0.0,
    "training.discount": 0.0,
    "training.update_every": 8,
    "training.eval_every": 5000,
    "algorithm.learning_rate": 1e-3,
    "algorithm.temperature": 0.05,
    "algorithm.policy_average": 0.002,
    "network.hidden": 48,
    "network.window_features": 64,
}
"""Settings with which a signal can be found at all: tomorrow is all that an order is about, and
cash and orders are so large that whole shares and limits do not matter. Nine parts in ten of a
reward are noise, which critics with more weights, or with more updates for each day, remember."""


FRAMES = 50_000
"""Days of training, whatever the preset has."""


def planted_study(scale: str, seeds: Callable[[int], range]) -> Study:
    """One signal at three strengths and without any; the one that is stretched for ST."""
    shared: dict[str, Any] = {"task": TRADING, "preset": scale} | VISIBLE
    if scale == "smoke":
        one = {"data": f"{PREFIX}momentum=0.3", "model": "approx", "symmetry": "T"}
        grids = [shared | one | {"seed": seeds(2)}]
    else:
        momentum = [f"{PREFIX}momentum={s:g}" for s in (*STRENGTHS["momentum"], 0.0)]
        stretched = [f"{PREFIX}stretched={s:g}" for s in STRENGTHS["stretched"]]
        shared["frames"] = FRAMES
        none: dict[str, Any] = {"model": "none", "symmetry": "T", "seed": seeds(5)}
        both: dict[str, Any] = {"model": ["exact", "approx"], "seed": seeds(5)}
        grids = [
            shared | none | {"data": [*momentum, *stretched]},
            shared | both | {"symmetry": "T", "data": momentum},
            shared | both | {"symmetry": ["T", "ST"], "data": stretched},
        ]
    return Study(
        name="planted",
        title="How much of a planted signal is found",
        scale=scale,
        grids=tuple(Grid(axes) for axes in grids),
        evaluation=Evaluation(episodes=2 if scale == "smoke" else 10),
        tables=("planted",),
        figures=("planted",),
    )


def share_found(run: RunResult, portfolio: int = 0) -> float:
    """The excess log growth over uniform holding, as a share of the oracle's.

        log(V/U) / log(O/U)

    with V, U and O what the agent, uniform holding and the oracle end at.
    """
    told = [row for row in run.details["metrics"] if "final_value" in row]
    ends = {row["name"]: row["final_value"]["mean"] for row in told}
    if ORACLE not in ends or "uniform" not in ends:
        raise UsageError(f"Run {run.key} has no oracle beside it.")
    value = figure_of(run, "final_value", portfolio)
    return float(np.log(value / ends["uniform"]) / np.log(ends[ORACLE] / ends["uniform"]))


def planted_table(results: list[RunResult]) -> list[Table]:
    """For every signal and strength what each model finds, and how probable that is by chance; and
    the differences of models."""
    rows: list[dict[str, Cell]] = []
    for scale, signal, strength, runs in _markets(results):
        for arm, some in by_arm(runs).items():
            rows.append(
                {"scale": scale, "signal": signal, "strength": f"{strength:g}", "model": arm}
                | (_shares(some) if strength else {})
                | _chances(some)
            )
    about = (
        "Share of the oracle's log growth over uniform holding that a model finds in the test "
        "part; p: how probable its final value is by chance."
    )
    return [*tabled("planted", about, rows), *_compared(results)]


def _compared(results: list[RunResult]) -> list[Table]:
    """How much more one model finds than another, paired by seed."""
    rows: list[dict[str, Cell]] = [
        {"scale": scale, "signal": signal, "strength": f"{strength:g}", "models": f"{a} − {b}"}
        | {
            name: mean_over_seeds(differences(by_seed(arms[a], score), by_seed(arms[b], score)))
            for name, score in _SCORES.items()
        }
        for scale, signal, strength, runs in _markets(results)
        if strength
        for arms in [by_arm(runs)]
        for a, b in combinations(reversed(arms), 2)
        if {run.seed for run in arms[a]} & {run.seed for run in arms[b]}
    ]
    about = "How much more of the oracle's growth one model finds than another, paired by seed."
    return tabled("planted differences", about, rows)


def planted_charts(results: list[RunResult]) -> list[Chart]:
    """The share that is found, over the strength of the signal."""
    charts = []
    for scale, mine in by_scale(_of_planted(results)).items():
        for signal in STRENGTHS:
            found = {s: runs for _, name, s, runs in _markets(mine) if name == signal and s > 0}
            lines, points = _lines(found)
            if lines:
                charts.append(
                    Chart(
                        name=f"planted {signal} {scale}",
                        title=f"Planted {signal}",
                        x_label="strength of the signal",
                        y_label="share of the oracle's growth",
                        lines=lines,
                        about="Sampled policy, test part; 1 is the oracle, 0 uniform holding.",
                        points=points,
                        group=f"planted {scale}",
                    )
                )
    return charts


def _lines(
    by_strength: dict[float, list[RunResult]],
) -> tuple[tuple[Line, ...], tuple[Measured, ...]]:
    measured: dict[str, dict[float, Measured]] = {}
    for strength, runs in sorted(by_strength.items()):
        for arm, some in by_arm(runs).items():
            found = mean_over_seeds(by_seed(some, share_found))
            measured.setdefault(arm, {})[strength] = found
    lines = tuple(Line.of(arm, list(p), list(p.values())) for arm, p in measured.items())
    return lines, tuple(point for p in measured.values() for point in p.values())


def _of_planted(results: list[RunResult]) -> list[RunResult]:
    return [run for run in unique(results) if is_planted(run) and run.details.get("metrics")]


def _markets(results: list[RunResult]) -> Iterator[tuple[str, str, float, list[RunResult]]]:
    """Runs by scale, signal and strength, strong ones first."""
    for scale, runs in by_scale(_of_planted(results)).items():
        found: dict[Variant, list[RunResult]] = {}
        for run in runs:
            found.setdefault(variant_of(run.task, run.variant), []).append(run)
        for (signal, strength), some in sorted(found.items(), key=lambda i: (i[0][0], -i[0][1])):
            yield str(scale), signal, strength, some


_SCORES: dict[str, Score] = {
    "found, sampled": share_found,
    "found, mean policy": partial(share_found, portfolio=1),
}


def _shares(runs: Sequence[RunResult]) -> dict[str, Cell]:
    return {name: mean_over_seeds(by_seed(runs, score)) for name, score in _SCORES.items()}


def _chances(runs: Sequence[RunResult]) -> dict[str, Cell]:
    probability, seeds = chance(runs, 0), beyond(runs, 0)
    if probability is None or seeds is None:
        return {}
    return {"p of the value": probability, "seeds beyond chance": f"{seeds[0]} of {seeds[1]}"}
