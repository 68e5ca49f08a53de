"""Returns of worlds and models: at the end, over the curve, tested, beside the paper's."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from nearsym.measures.intervals import episode_interval
from nearsym.studies.comparison import by_length
from nearsym.studies.paper import (
    NOISE_TRAINED,
    NOISE_TRAINED_SOURCE,
    TABLE_1,
    TABLE_1_SOURCE,
    Printed,
)
from nearsym.studies.results import RunResult
from nearsym.studies.scores import Score, area, at_end, by_seed, fresh, kept, noise_of_tests, tau_of
from nearsym.studies.selection import TRADING, World, by_arm, by_world, plain
from nearsym.studies.statistics import Measured, differences, mean_over_seeds
from nearsym.studies.tables.table import Cell, Table, tabled
from nearsym.tasks.control.domains import DOMAINS

PAIRED = ("approx", "exact", "none", "rpp", "augment", "mirror", "sit")
"""The first of two models is compared with the second."""


def end(results: list[RunResult]) -> list[Table]:
    """The last three evaluations in training."""
    return _by_model("end", "Mean return of the last three evaluations.", results, at_end)


def areas(results: list[RunResult]) -> list[Table]:
    """The whole of training."""
    about = "Area under the learning curve over its frames: the mean return in training."
    return _by_model("area", about, results, area)


def shares(results: list[RunResult]) -> list[Table]:
    """What is kept under noise at test time."""
    about = "Share of the noise-free return that the best checkpoint keeps under noise. Runs whose "
    about += "noise-free return is 0 are left out."
    found = [run for run in results if run.evaluations.get("clean")]
    rows = [
        about_row | {"noise": name.removeprefix("noise=")} | _means(some, partial(kept, name=name))
        for world, runs in _control(found).items()
        for about_row, some in of_one_length(world, plain(runs))
        for name in _noises(some)
    ]
    return tabled("noise", about, rows)


def tau_sweep(results: list[RunResult]) -> list[Table]:
    """The end of training by τ, the speed of the target critic, where several were tried."""
    rows: list[dict[str, Cell]] = []
    for world, runs in by_world(results).items():
        trained = plain([run for run in runs if run.task in DOMAINS], but="target_tau")
        for about, some in of_one_length(world, trained):
            taus = sorted({tau for run in some if (tau := tau_of(run)) is not None})
            for tau in taus if len(taus) > 1 else ():
                row: dict[str, Cell] = {**about, "τ": tau}
                for model in dict.fromkeys(run.model for run in some):
                    these = [run for run in some if (run.model, tau_of(run)) == (model, tau)]
                    if these:
                        row[model] = mean_over_seeds(by_seed(these, at_end))
                rows.append(row)
    return tabled("rpp-tau", "Mean return of the last three evaluations by τ.", rows)


def compared(results: list[RunResult]) -> list[Table]:
    """Differences of models, paired by seed, at the end and over the curve."""
    tables = []
    for name, what, score in (
        ("differences", "the last three evaluations", at_end),
        ("area differences", "the area under the learning curve", area),
    ):
        rows = [
            about | _differences(runs, score)
            for world, every in _control(results).items()
            for about, runs in of_one_length(world, plain(every))
        ]
        about = f"Differences of models in {what}, paired by seed."
        tables += tabled(name, about, [row for row in rows if len(row) > len(_ABOUT)])
    return tables


def settings(results: list[RunResult]) -> list[Table]:
    """Runs that differ in a setting: sweeps, treatments."""
    rows: list[dict[str, Cell]] = []
    for world, runs in by_world(results).items():
        for about_row, same in of_one_length(world, runs):
            arms = by_arm(same)
            if len(arms) > len({run.model for run in same}) and world.task != TRADING:
                rows += [
                    about_row
                    | {"run": arm, **_both(some), **_beyond(some, arms.get(some[0].model, []))}
                    for arm, some in arms.items()
                ]
    about = (
        "Runs that differ in their settings: last three evaluations, and area under the curve. "
        "− usual: less those of the same model with its usual settings, paired by seed."
    )
    return tabled("settings", about, rows)


def final(results: list[RunResult]) -> list[Table]:
    """The best checkpoint in fresh episodes, with and without noise: both protocols of Table 1."""
    rows = []
    for world, runs in by_world(results).items():
        printed = None if world.noise else TABLE_1.get((world.task, world.variant))
        paper = (
            {"clean": printed.clean, noise_of_tests(world.task): printed.noise} if printed else {}
        )
        for about, some in of_one_length(world, [] if world.noise else plain(runs)):
            rows += _tested(about, some, paper)
    caption = (
        "Return of the best checkpoint in fresh episodes. Mean of runs: every run is played. Best "
        f"run: only the one that did best in training, as in the paper. {TABLE_1_SOURCE}"
    )
    return tabled("final", caption, rows)


def noise_trained(results: list[RunResult]) -> list[Table]:
    """The same for runs that were trained with noise on their images."""
    rows = []
    for world, runs in by_world(results).items():
        printed = NOISE_TRAINED.get((world.task, world.variant))
        paper = {noise_of_tests(world.task): printed} if printed else {}
        for about, some in of_one_length(world, plain(runs) if world.noise else []):
            rows += _tested(about, some, paper)
    caption = (
        "Trained with noise on the images: return of the best checkpoint in fresh episodes. "
        f"{NOISE_TRAINED_SOURCE}"
    )
    return tabled("noise-trained", caption, rows)


def best_run(runs: Sequence[RunResult], name: str) -> Measured:
    """The run that did best in training, in its fresh episodes; of equals the smallest seed.

    The interval is over these episodes, so it says nothing about other runs.
    """
    best = max(runs, key=lambda run: (max(run.curve()), -run.seed))
    episodes = best.evaluations[name]
    ends, kind = episode_interval(episodes)
    kind = f"{kind} over {len(episodes)} episodes of the best run"
    return Measured(float(np.mean(episodes)), ends, len(runs), kind)


def of_one_length(
    world: World, runs: Sequence[RunResult]
) -> Iterable[tuple[dict[str, Cell], list[RunResult]]]:
    """A row for all runs of one length."""
    for some in by_length(runs).values():
        yield _about(world, some), some


_ABOUT = ("task", "variant", "scale", "frames")


def _about(world: World, runs: Sequence[RunResult]) -> dict[str, Cell]:
    frames = max((run.frames[-1] for run in runs if run.frames), default=0)
    about: dict[str, Cell] = {"task": world.task, "variant": world.variant_name}
    return about | {"scale": str(world.scale), "frames": frames}


def _by_model(name: str, about: str, results: list[RunResult], score: Score) -> list[Table]:
    rows = [
        row | _means(some, score)
        for world, runs in _control(results).items()
        for row, some in of_one_length(world, plain(runs))
    ]
    return tabled(name, about, rows)


def _means(runs: list[RunResult], score: Score) -> dict[str, Cell]:
    values = {arm: by_seed(each, score) for arm, each in by_arm(runs).items()}
    return {arm: mean_over_seeds(found) for arm, found in values.items() if found}


def _noises(runs: list[RunResult]) -> list[str]:
    """The noises under which any of some runs was played."""
    return sorted({n for run in runs for n in run.evaluations if n.startswith("noise")})


def _control(results: list[RunResult]) -> dict[World, list[RunResult]]:
    """All worlds but trading, whose returns are told as portfolios."""
    return {w: runs for w, runs in by_world(results).items() if w.task != TRADING}


_SCORES: dict[str, Score] = {"end": at_end, "area": area}


def _both(runs: list[RunResult]) -> dict[str, Cell]:
    found = {name: by_seed(runs, score) for name, score in _SCORES.items()}
    return {name: mean_over_seeds(values) for name, values in found.items() if values}


def _beyond(runs: list[RunResult], usual: list[RunResult]) -> dict[str, Cell]:
    """What their settings gain: usual runs may have more seeds, and failures among them."""
    if usual is runs:
        return {}
    lengths = {run.seed: run.frames[-1:] for run in runs}
    alike = [run for run in usual if run.frames[-1:] == lengths.get(run.seed)]
    gains = {n: differences(by_seed(runs, s), by_seed(alike, s)) for n, s in _SCORES.items()}
    return {f"{name} − usual": mean_over_seeds(gain) for name, gain in gains.items() if gain}


def _differences(runs: list[RunResult], score: Score) -> dict[str, Cell]:
    values = {arm: by_seed(some, score) for arm, some in by_arm(runs).items()}
    ordered = [arm for arm in PAIRED if arm in values]
    return {
        f"{a} − {b}": mean_over_seeds(differences(values[a], values[b]))
        for a, b in combinations(ordered, 2)
        if values[a].keys() & values[b].keys()
    }


def _tested(
    about: dict[str, Cell], runs: list[RunResult], paper: dict[str, dict[str, Printed]]
) -> list[dict[str, Cell]]:
    """A row for each noise and each protocol."""
    rows: list[dict[str, Cell]] = []
    for evaluation in ("clean", *_noises(runs)):
        arms = {
            arm: having
            for arm, some in by_arm(runs).items()
            if (having := [run for run in some if run.evaluations.get(evaluation)])
        }
        if not arms:
            continue
        printed = {f"paper: {m}": number for m, number in paper.get(evaluation, {}).items()}
        means = {a: mean_over_seeds(by_seed(r, _fresh(evaluation))) for a, r in arms.items()}
        best = {a: best_run(r, evaluation) for a, r in arms.items()}
        row: dict[str, Cell] = about | {"noise": evaluation.removeprefix("noise=")}
        rows.append({**row, "protocol": "mean of runs", **means})
        rows.append({**row, "protocol": "best run", **best, **printed})
    return rows


def _fresh(evaluation: str) -> Callable[[RunResult], float]:
    return lambda run: fresh(run, evaluation)
