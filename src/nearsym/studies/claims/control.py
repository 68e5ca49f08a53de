"""The paper's claims about control tasks: curves, final returns, noise, time."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations, product

import numpy as np

from nearsym.studies.claims.claim import Claim
from nearsym.studies.claims.evidence import Evidence
from nearsym.studies.comparison import by_length, comparable, equally_long, timed_alike
from nearsym.studies.paper import NOISE_TRAINED, TABLE_1, best_models
from nearsym.studies.scores import (
    area,
    at_end,
    by_seed,
    fresh,
    last_third,
    median_seconds_to,
    nearly_best,
    noise_of_tests,
    seconds_per_frame,
    tau_of,
)
from nearsym.studies.selection import by_arm, plain
from nearsym.studies.statistics import Values
from nearsym.studies.worlds import ACROBOT, CARTPOLE, CUP, REACHER, TAUS
from nearsym.tasks.control.domains import DOMAINS

TASKS = (ACROBOT, CARTPOLE, CUP, REACHER)
VARIANTS = {
    ACROBOT: ("repeat_action", "gravity"),
    CARTPOLE: ("repeat_action", "gravity", "reflect_action"),
    CUP: ("repeat_action", "gravity", "reflect_action"),
    REACHER: ("repeat_action", "reflect_action"),
}
"""The modified worlds of the paper's appendix."""
MARGIN = 0.05
"""What counts as equal: this share of the better one's return."""


def _sample_efficiency(e: Evidence) -> None:
    for task in TASKS:
        for model in ("exact", "approx"):
            e.compare(task, None, model, "none", area)


def _acrobot(e: Evidence) -> None:
    for variant in ("repeat_action", "reflect_action"):
        for other in ("exact", "rpp"):
            e.compare(ACROBOT, variant, "approx", other, last_third)


def _reacher(e: Evidence) -> None:
    for variant in (None, *VARIANTS[REACHER]):
        e.compare(REACHER, variant, "exact", "approx", last_third)
        e.compare(REACHER, variant, "approx", "rpp", last_third)


def _all_alike(e: Evidence) -> None:
    models = ("none", "exact", "approx", "rpp", *(("sit",) if e.scale.obs == "pixels" else ()))
    for task in (CARTPOLE, CUP):
        for variant in (None, *VARIANTS[task]):
            for a, b in combinations(models, 2):
                e.compare(task, variant, a, b, at_end, -MARGIN, MARGIN, shares=True)


def _no_cost(e: Evidence) -> None:
    for task in TASKS:
        e.compare(task, None, "exact", "approx", at_end, -np.inf, MARGIN, shares=True)


def _row(task: str, variant: str | None, e: Evidence) -> None:
    row = TABLE_1[task, variant].clean
    best = best_models(row)
    for model in best:
        for other in (other for other in row if other not in best):
            e.compare(task, variant, model, other, "final", -MARGIN, shares=True)


def _robust(e: Evidence) -> None:
    for task, variant in TABLE_1:
        if variant is not None:
            for other in ("exact", "none"):
                e.compare(task, variant, "approx", other, "kept")


def _trained_with_noise(e: Evidence) -> None:
    where = e.world(CUP, "gravity")._replace(noise=DOMAINS[CUP].test_noise)
    arms = by_arm(plain(e.noisy.get(where, [])))
    for other in ("exact", "none"):
        pair = equally_long(arms.get("approx", []), arms.get(other, []))
        scores = [by_seed(runs, partial(fresh, name=noise_of_tests(CUP))) for runs in pair]
        what = f"approx − {other}, best checkpoint under noise"
        e.ask(f"{CUP} gravity, trained with noise", what, scores[0], scores[1])


def _tau(e: Evidence) -> None:
    """Over τ, for each seed, how far the highest final return lies above the lowest."""
    for task in (ACROBOT, CUP):
        runs = plain(e.runs(task, None), but="target_tau")
        swept = product(("rpp", "approx"), TAUS)
        some = [[r for r in runs if (r.model, tau_of(r)) == one] for one in swept]
        scores = [by_seed(each, at_end) for each in comparable(*some)]
        ranges = [_ranges(scores[: len(TAUS)]), _ranges(scores[len(TAUS) :])]
        what = "rpp − approx, range of the last three evaluations over τ"
        e.ask(f"{task} original", what, ranges[0], ranges[1])


def _ranges(scores: Sequence[Values]) -> Values:
    return {seed: float(np.ptp([values[seed] for values in scores])) for seed in scores[0]}


def _wall_clock(e: Evidence) -> None:
    for world in e.worlds:
        arms = e.arms(world.task, world.variant)
        if world.task in TASKS and "none" in arms:
            for model in ("exact", "approx"):
                e.compare(world.task, world.variant, model, "none", seconds_per_frame)
            e.more.setdefault("seconds_to_return", {})[str(world)] = _time_to_return(e, *world[:2])
    if not e.questions:
        e.missing.append("any control task with none, exact and approx")


def _time_to_return(e: Evidence, task: str, variant: str | None) -> dict[str, float | None]:
    """The median time to nine tenths of the best model's final return; None if half never get
    there."""
    lengths = by_length(plain(e.runs(task, variant)))
    if not lengths:  # the study parameters trains nothing
        return {}
    usual = max(lengths.values(), key=len)
    level, timed = nearly_best(by_arm(usual).values()), by_arm(timed_alike(usual))
    times = {model: median_seconds_to(runs, level) for model, runs in timed.items()}
    return {model: time if np.isfinite(time) else None for model, time in times.items()}


def _table_1(task: str, variant: str | None, *, noise: bool = False) -> str:
    row = TABLE_1[task, variant].noise if noise else TABLE_1[task, variant].clean
    numbers = ", ".join(f"{model} {number}" for model, number in row.items())
    return f"Table 1, {task} {variant or 'original'}{' under noise' if noise else ''}: {numbers}."


def _rows() -> list[Claim]:
    return [
        Claim(
            f"C{9 + i}",
            f"{task} {variant or 'original'}: of none, exact and approx no other ends more than "
            f"5 % above the paper's best, "
            f"{' and '.join(best_models(TABLE_1[task, variant].clean))}.",
            "final",
            "No other model of the paper's row ends more than 5 % above its best one: the 95 % "
            "interval of best − other lies above −5 % of the higher return. Refuted if it lies "
            "below.",
            _table_1(task, variant),
            partial(_row, task, variant),
            family="final",
            needs=f"{task} {variant or 'original'} × none, exact, approx × 5 seeds (15 runs)",
        )
        for i, (task, variant) in enumerate(TABLE_1)
    ]


_NOISE = " ".join(_table_1(*row, noise=True) for row in TABLE_1 if row[1] is not None)
_TRAINED = ", ".join(f"{m} {n}" for m, n in NOISE_TRAINED[CUP, "gravity"].items())

CLAIMS = [
    Claim(
        "C2",
        "From pixels, none is much less sample-efficient than models with symmetry.",
        "curves",
        "Area under the curve: exact and approx above none on all four originals.",
        "Figure 3; no numbers.",
        _sample_efficiency,
        family="curves",
        pixels_only=True,
        needs="4 originals × none, exact, approx × 5 seeds from pixels (60 runs)",
    ),
    Claim(
        "C3",
        "Acrobot with repeat_action or reflect_action: approx ends above exact and rpp.",
        "curves",
        "Mean of the last third of the curve: approx above exact and above rpp in both worlds.",
        "Figure 3; no numbers.",
        _acrobot,
        family="curves",
        needs="acrobot repeat_action, reflect_action × exact, approx, rpp × 5 seeds (30 runs)",
    ),
    Claim(
        "C4",
        "Reacher: exact ends a little above approx, approx above rpp.",
        "curves",
        "Mean of the last third of the curve: exact above approx and approx above rpp, in the "
        "original, repeat_action and reflect_action.",
        "Figure 3; no numbers.",
        _reacher,
        family="curves",
        needs="reacher × 3 worlds × exact, approx, rpp × 5 seeds (45 runs)",
    ),
    Claim(
        "C5",
        "Cartpole and ball in cup: all models end alike, and quickly at the optimum.",
        "curves",
        "Last three evaluations: the difference of every two models inside ±5 % of the higher one, "
        "in all eight worlds. Refuted if one lies outside.",
        "Figure 3; no numbers.",
        _all_alike,
        family="curves",
        needs="cartpole, ball_in_cup × 4 worlds × none, exact, approx, rpp × 5 seeds (160 runs)",
    ),
    Claim(
        "C6",
        "Originals: approx is not worse than exact.",
        "curves",
        "Last three evaluations: the interval of exact − approx ends below 5 % of the higher one, "
        "on all four originals.",
        "Figure 3; no numbers.",
        _no_cost,
        family="curves",
        needs="4 originals × exact, approx × 5 seeds (40 runs)",
    ),
    *_rows(),
    Claim(
        "C17",
        "Under noise at test time approx keeps most, above all on ball in cup and reacher.",
        "noise",
        "Share of the noise-free return that the best checkpoint keeps under noise: approx above "
        "exact and none in the modified worlds of Table 1.",
        _NOISE,
        _robust,
        family="noise",
        pixels_only=True,
        needs="4 modified worlds × none, exact, approx × 5 seeds from pixels (60 runs)",
    ),
    Claim(
        "C18",
        "Trained with noise, ball in cup gravity: approx is above exact and none.",
        "noise-trained",
        "Return of the best checkpoint under noise: approx above exact and none.",
        f"Appendix, trained on noisy inputs, ball in cup gravity: {_TRAINED}.",
        _trained_with_noise,
        family="noise-trained",
        pixels_only=True,
        needs="ball_in_cup gravity, noise 0.06 × none, exact, approx × 5 seeds (15 runs)",
    ),
    Claim(
        "C19",
        "rpp is sensitive to τ on acrobot and ball in cup.",
        "rpp-tau",
        "Over τ = 0.005, 0.009, 0.01, 0.02: the range of the last three evaluations is larger for "
        "rpp than for approx, seed by seed, on both originals.",
        "Text, models; no numbers.",
        _tau,
        family="rpp-tau",
        needs="acrobot, ball_in_cup × rpp, approx × 4 τ × 5 seeds (80 runs)",
    ),
    Claim(
        "C20",
        "Equivariant models take longer in wall-clock.",
        "wall-clock",
        "Seconds of training per frame (of processor time on a CPU): exact and approx above none "
        "in every control world that was run. The time to nine tenths of the best return is "
        "reported beside it.",
        "Appendix, training details; no numbers.",
        _wall_clock,
        family="wall-clock",
        needs="any control task × none, exact, approx × 5 seeds, timed on one machine",
    ),
]
