"""Over worlds: regret, aggregates of normalised returns, and maps over a variant's strength."""

from collections.abc import Iterator
from itertools import combinations

from nearsym.studies.audited import MEASURES
from nearsym.studies.regret import Regret, model_sets, regret_of
from nearsym.studies.results import RunResult
from nearsym.studies.scores import area, at_end, by_seed
from nearsym.studies.selection import by_arm, by_scale
from nearsym.studies.statistics import (
    interquartile_mean,
    mean_over_seeds,
    probability_of_improvement,
)
from nearsym.studies.sweeps import Sweep, sweeps
from nearsym.studies.tables.table import Cell, Table, tabled

LEAST_WORLDS = 2
"""Fewer make no aggregate."""
_SCORES = {
    "regret": (at_end, "the mean return of the last three evaluations"),
    "regret over the curve": (area, "the area under the learning curve"),
}
RIVAL = "approx"
"""The model with which others are compared: the one that should lose little anywhere."""
_HOW = (
    "Regret of each model in {}. Returns are normalised per task, from the first evaluations (0) "
    "to the best model (1). Which model and which world count as best and worst is chosen on "
    "other seeds than those measured; a 0 without an interval was best in every choice. In the "
    "mean every task counts the same."
)


def regrets(results: list[RunResult]) -> list[Table]:
    """The gap of each model to the best, world by world, their mean and their worst."""
    found: dict[tuple[str, str], list[dict[str, Cell]]] = {}
    for scale, runs in by_scale(results).items():
        for place, models in enumerate(model_sets(runs)):
            for name, (score, said) in _SCORES.items():
                each = regret_of(runs, score, models=models)
                title = f"{name}, {len(models)} models" if place else name
                if each is not None:
                    about = _HOW.format(said)
                    found.setdefault((title, about), []).extend(_rows(each, str(scale)))
    return [
        table
        for (title, about), rows in sorted(found.items())
        for table in tabled(title, about, rows)
    ]


def _rows(found: Regret, scale: str) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for i, world in enumerate(found.worlds):
        about: dict[str, Cell] = {"task": world.task, "variant": world.variant_name, "scale": scale}
        rows.append({**about, **{model: found.gap(i, model) for model in found.models}})
    if len(found.worlds) >= LEAST_WORLDS:
        for name, some in _summaries(found):
            about = {"task": "mean over", "variant": name, "scale": scale}
            rows.append({**about, **{model: some.mean(model) for model in some.models}})
        about = {"task": "worst over", "variant": _over(found), "scale": scale}
        rows.append({**about, **{model: found.worst(model) for model in found.models}})
    return rows


def _summaries(found: Regret) -> Iterator[tuple[str, Regret]]:
    """Each of several tasks by itself, then all of them."""
    if len(found.tasks) > 1:
        for task in found.tasks:
            some = found.of_tasks([task])
            if len(some.worlds) >= LEAST_WORLDS:
                yield f"{_over(some)} of {task}", some
    yield _over(found), found


def _over(found: Regret) -> str:
    tasks = f" of {len(found.tasks)} tasks" if len(found.tasks) > 1 else ""
    return f"{len(found.worlds)} worlds{tasks}"


def regrets_compared(results: list[RunResult]) -> list[Table]:
    """How much more other models lose than approx over all worlds, and without each task."""
    found: dict[str, list[dict[str, Cell]]] = {}
    for scale, runs in by_scale(results).items():
        for place, models in enumerate(model_sets(runs)):
            each = regret_of(runs, models=models)
            if each is not None and RIVAL in models and len(each.worlds) >= LEAST_WORLDS:
                title = f"regret compared, {len(models)} models" if place else "regret compared"
                found.setdefault(title, []).extend(_compared(each, str(scale)))
    about = (
        f"How much more a model loses than {RIVAL}, in the regret of the mean return of the last "
        "three evaluations. The mean without each task shows what rests on that task alone."
    )
    return [table for title, rows in found.items() for table in tabled(title, about, rows)]


def _compared(found: Regret, scale: str) -> Iterator[dict[str, Cell]]:
    others = [model for model in found.models if model != RIVAL]
    parts = {f"mean over {_over(found)}": found}
    if len(found.tasks) > 1:
        parts |= {f"mean without {t}": found.of_tasks({*found.tasks} - {t}) for t in found.tasks}
    for name, some in parts.items():
        cells = {f"{other} − {RIVAL}": some.mean_beyond(other, RIVAL) for other in others}
        yield {"regret": name, "scale": scale, **cells}
    cells = {f"{other} − {RIVAL}": found.worst_beyond(other, RIVAL) for other in others}
    yield {"regret": f"worst over {_over(found)}", "scale": scale, **cells}


def aggregates(results: list[RunResult]) -> list[Table]:
    """Interquartile mean and probability of improvement over all worlds of a scale."""
    middles: list[dict[str, Cell]] = []
    wins: list[dict[str, Cell]] = []
    for scale, runs in by_scale(results).items():
        found = regret_of(runs)
        if found is None or len(found.worlds) < LEAST_WORLDS:
            continue
        scores = {m: [s[i] for s in found.scores] for i, m in enumerate(found.models)}
        about: dict[str, Cell] = {"scale": str(scale), "worlds": len(found.worlds)}
        middles.append({**about, **{m: interquartile_mean(s) for m, s in scores.items()}})
        wins += [
            {**about, "model": a, "beats": b, "probability": probability_of_improvement(x, y)}
            for (a, x), (b, y) in combinations(reversed(scores.items()), 2)
        ]
    iqm = "Interquartile mean over the runs of all worlds, of normalised returns at the end."
    better = "Probability that a run of a model beats one of another in the same world."
    return [*tabled("aggregates", iqm, middles), *tabled("improvement", better, wins)]


def strengths(results: list[RunResult]) -> list[Table]:
    """Return and regret over the strength of each variant, and what the audit says beside it."""
    found: dict[str, list[dict[str, Cell]]] = {}
    for sweep in sweeps(results):
        found.setdefault(f"{sweep.task} {sweep.variant}", []).extend(_map(sweep))
    about = (
        "{}: return at the end and regret by strength. The audit's ε is the smallest tolerance at "
        "which it accepts every group element; its mean error is that over all samples, of the "
        "element that fails most. Both are in mean steps."
    )
    return [
        table
        for what, rows in found.items()
        for table in tabled(f"strength {what}", about.format(what), rows)
    ]


def _map(sweep: Sweep) -> list[dict[str, Cell]]:
    found = sweep.regret()
    audits = {name: sweep.measured(quantity) for quantity, name in MEASURES.items()}
    rows: list[dict[str, Cell]] = []
    for strength, runs in sweep.runs.items():
        row: dict[str, Cell] = {"scale": str(sweep.scale), "strength": strength}
        row |= {name: values[strength] for name, values in audits.items()}
        for model, some in by_arm(runs).items():
            row[model] = mean_over_seeds(by_seed(some, at_end))
        world = sweep.worlds[strength]
        if found is not None and world in found.worlds:
            place = found.worlds.index(world)
            row |= {f"regret of {m}": found.gap(place, m) for m in found.models}
        rows.append(row)
    return rows
