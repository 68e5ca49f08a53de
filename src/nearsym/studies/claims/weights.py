"""The paper's claims about relaxed weights: they differ more where the symmetry is broken."""

from itertools import product
from typing import Any

import numpy as np

from nearsym.studies.claims.claim import Claim
from nearsym.studies.claims.control import ACROBOT, CARTPOLE, CUP, VARIANTS
from nearsym.studies.claims.evidence import Evidence
from nearsym.studies.comparison import comparable, equally_long
from nearsym.studies.results import RunResult
from nearsym.studies.scores import by_seed, final_weights, first_layer, spread
from nearsym.studies.selection import TRADING, alike, by_arm, by_world, plain, settings_of
from nearsym.studies.statistics import mean_over_seeds


def _compare_spreads(e: Evidence, task: str, parts: tuple[str, ...]) -> None:
    """Modified worlds against the original, in the first layer of the first part there is."""
    for variant in VARIANTS[task]:
        modified, originals = comparable(*_of_approx(e, task, variant))
        layers = [first_layer(run, part) for run in modified + originals for part in parts]
        layer = next((name for name in layers if name is not None), None)
        found = [_spreads(runs, layer) for runs in (modified, originals)]
        what = f"{variant} − original, spread of {layer or f'the {parts[0]}'}"
        e.ask(task, what, found[0], found[1])


def _of_approx(e: Evidence, task: str, variant: str) -> list[list[RunResult]]:
    """The runs of approx in a modified world and in the original, if their settings are equal."""
    found = [e.arms(task, name).get("approx", []) for name in (variant, None)]
    return found if alike(settings_of(run) for runs in found for run in runs) else [[], []]


def _spreads(runs: list[RunResult], layer: str | None) -> dict[int, float]:
    having = [run for run in runs if layer is not None and layer in run.relaxed]
    return by_seed(having, lambda run: spread(run, str(layer)))


def _first_layers(e: Evidence) -> None:
    for task in (ACROBOT, CARTPOLE):
        _compare_spreads(e, task, ("encoder", "actor"))


def _policies(e: Evidence) -> None:
    _compare_spreads(e, CUP, ("actor",))


def _last_day(e: Evidence) -> None:
    """The last day's weight less the highest of the others, in the encoder's first layer."""
    for (market, runs), kind in product(e.markets().items(), ("T", "ST")):
        (arm,) = equally_long(by_arm(runs).get(f"approx {kind}", []))
        relaxed = [run for run in arm if len(_days(run)) > 1]
        found = by_seed(relaxed, _last_beyond_others)
        where = f"{market}, approx {kind}".removeprefix(f"{TRADING}, ")
        e.ask_of(where, "weight of the last day − highest other", found)
        if kind == "ST" and relaxed:
            e.more["scales" if market == TRADING else f"scales, {market}"] = _by_scale(relaxed)
        e.more.setdefault("rank of the last day", {})[where] = [
            int((_days(run) > _days(run)[-1]).sum()) + 1 for run in relaxed
        ]


def _days(run: RunResult) -> np.ndarray:
    """Weights of the first layer over time: as many as there are days in the window."""
    return _mean_weights(run, scale=False)


def _mean_weights(run: RunResult, *, scale: bool) -> np.ndarray:
    names = [n for n in run.relaxed if n.startswith("encoder.") and n.endswith("_scale") == scale]
    if not names:
        return np.array([])
    return final_weights(run, names[0]).mean(axis=0)


def _last_beyond_others(run: RunResult) -> float:
    days = _days(run)
    return float(days[-1] - days[:-1].max())


def _by_scale(runs: list[RunResult]) -> dict[str, list[float]]:
    """Mean and standard deviation over runs of each scale's weight in the first layer."""
    found = [w for run in runs if len(w := _mean_weights(run, scale=True))]
    if not found:
        return {}
    return {"mean": np.mean(found, 0).tolist(), "std": np.std(found, 0).tolist()}


def drift_in_originals(runs: list[RunResult]) -> dict[str, Any]:
    """The spread of the first relaxed layer of approx in symmetric worlds: what chance does."""
    found = {
        f"{world.task} ({world.scale})": mean_over_seeds(_spreads(approx, next(iter(relaxed))))
        for world, all_runs in by_world(runs).items()
        if world.variant is None and not world.noise
        for approx in [by_arm(plain(all_runs)).get("approx", [])]
        for relaxed in [approx[0].relaxed if approx else {}]
        if relaxed
    }
    named = {name: measured.as_json() for name, measured in found.items()}
    return {"spread in runs of symmetric worlds": named} if named else {}


CLAIMS = [
    Claim(
        "C7",
        "Acrobot, cartpole: relaxed weights, above all of the encoder's first layer, differ more "
        "in modified worlds than in the original.",
        "weights",
        "Mean absolute spread of the weights of the encoder's first layer (of the actor's where "
        "there is no encoder) at the end: above the original's, paired by seed, in every modified "
        "world.",
        "Figure 5; no numbers.",
        _first_layers,
        family="weights",
        needs="acrobot (3 worlds), cartpole (4 worlds) × approx × 5 seeds (35 runs)",
    ),
    Claim(
        "C8",
        "Ball in cup: the same of the policy's first layer.",
        "weights",
        "Mean absolute spread of the weights of the actor's first layer at the end: above the "
        "original's, paired by seed, in every modified world.",
        "Figure 5; no numbers.",
        _policies,
        family="weights",
        needs="ball_in_cup (4 worlds) × approx × 5 seeds (20 runs)",
    ),
    Claim(
        "C23",
        "Trading: of the relaxed weights over time that of the last day is highest.",
        "trading",
        "Encoder's first layer at the end, approx T and approx ST: the weight of the last day "
        "lies above the highest of the others. Ranks, and the scales' means and standard "
        "deviations over runs, are reported.",
        "Figure 7; no numbers. It adds that scales are alike, with more variance at larger ones.",
        _last_day,
        family="trading",
        needs="trading × approx T, approx ST × 5 seeds (10 runs)",
    ),
]
