"""The studies of the paper, and ours on regret, at three scales.

| scale | what it is |
|---|---|
| smoke | 24 runs of seconds, which all studies share: shows that everything works |
| laptop | what one machine can do: fewer worlds and seeds, the preset laptop |
| paper | the paper's sizes and five seeds, for a machine with GPUs or a cluster |

Seeds begin at 100: the presets were chosen on smaller ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

from nearsym.errors import unknown_name
from nearsym.studies.ours import regret_study, stay_put_study
from nearsym.studies.planted import planted_study
from nearsym.studies.study import SCALES, Evaluation, Grid, Study
from nearsym.studies.worlds import (
    ACROBOT,
    ALL_MODELS,
    CARTPOLE,
    CUP,
    FINAL,
    MODELS,
    PIXELS,
    REACHER,
    SMOKE,
    SMOKE_PIXELS,
    SMOKE_VECTORS,
    TABLE_1,
    TAUGHT,
    TAUS,
    TILTS,
    VECTORS,
    WORLDS,
    grids_of,
    seeds_from_first,
)
from nearsym.tasks.control.domains import DOMAINS


def builtin_study(name: str, scale: str = "laptop") -> Study:
    """A study by name.

    >>> len(builtin_study("regret", "laptop").cells())
    780
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    return STUDIES[name](scale)


def _pixels(scale: str, worlds: dict[str, list[str]], models: Sequence[str]) -> tuple[Grid, ...]:
    """Control tasks from pixels; on a laptop those of Table 1 that can be learned there."""
    if scale == "paper":
        return grids_of(worlds, 5, model=models, **PIXELS, preset="paper")
    here = {task: TABLE_1[task] for task in (CARTPOLE, CUP)}
    laptop: dict[str, Any] = {**PIXELS, "preset": "laptop"}
    others = [model for model in models if model not in (*MODELS, "sit")]
    return grids_of(here, 3, model=MODELS, **laptop) + grids_of(here, 1, model=others, **laptop)


def _curves(scale: str) -> Study:
    smoke = SMOKE_PIXELS + SMOKE_VECTORS
    grids = smoke if scale == "smoke" else _pixels(scale, WORLDS, ALL_MODELS)
    return Study(
        name="curves",
        title="Learning curves (Figure 3)",
        scale=scale,
        grids=grids,
        tables=("end", "area", "differences", "aggregates"),
        figures=("curves", "profiles"),
        claims=("C2", "C3", "C4", "C5", "C6"),
    )


def _final(scale: str) -> Study:
    return Study(
        name="final",
        title="Final returns (Table 1)",
        scale=scale,
        grids=SMOKE_PIXELS + SMOKE_VECTORS if scale == "smoke" else _table_1(scale),
        evaluation=Evaluation(episodes=FINAL[scale], noise="task"),
        tables=("final", "end"),
        figures=("curves",),
        claims=tuple(f"C{n}" for n in range(9, 17)),
    )


def _noise(scale: str) -> Study:
    return Study(
        name="noise",
        title="Noise at test time (Table 1)",
        scale=scale,
        grids=SMOKE_PIXELS if scale == "smoke" else _table_1(scale),
        evaluation=Evaluation(episodes=FINAL[scale], noise="task"),
        tables=("final", "noise"),
        figures=("curves",),
        claims=("C17",),
    )


def _table_1(scale: str) -> tuple[Grid, ...]:
    return _pixels(scale, TABLE_1, [*MODELS, *TAUGHT])


def _noise_trained(scale: str) -> Study:
    noise = {"noise": DOMAINS[CUP].test_noise}
    if scale == "smoke":
        grids = grids_of({CARTPOLE: ["original"]}, 2, model="approx", **noise, **PIXELS, **SMOKE)
    else:
        seeds = 5 if scale == "paper" else 3
        rows = {CUP: TABLE_1[CUP]}
        models = [*MODELS, *TAUGHT] if scale == "paper" else MODELS
        grids = grids_of(rows, seeds, model=models, **noise, **PIXELS, preset=scale)
    return Study(
        name="noise-trained",
        title="Trained with noise, tested with noise (appendix)",
        scale=scale,
        grids=grids,
        evaluation=Evaluation(episodes=FINAL[scale], noise="task"),
        tables=("noise-trained",),
        figures=("curves",),
        claims=("C18",),
    )


def _weights(scale: str) -> Study:
    axes: dict[str, Any] = {"model": "approx"}
    if scale == "smoke":
        grids = grids_of({CARTPOLE: ["original"]}, 2, **axes, **PIXELS, **SMOKE)
        grids += grids_of({"craft": [TILTS[0], TILTS[-1]]}, 2, **axes, **VECTORS, **SMOKE)
    elif scale == "laptop":
        here = {task: TABLE_1[task] for task in (CARTPOLE, CUP)}
        grids = grids_of(here, 3, **axes, **PIXELS, preset="laptop")
        grids += grids_of({REACHER: TABLE_1[REACHER]}, 5, **axes, **VECTORS, preset="laptop")
    else:
        grids = grids_of(WORLDS, 5, **axes, **PIXELS, preset="paper")
    return Study(
        name="weights",
        title="Relaxed weights by layer and element (Figure 5)",
        scale=scale,
        grids=grids,
        tables=("spread",),
        figures=("weights", "relaxed"),
        claims=("C1", "C7", "C8"),
    )


def _rpp_tau(scale: str) -> Study:
    if scale == "smoke":
        slow = {"algorithm.target_tau": TAUS[0]}
        grids = grids_of({CARTPOLE: ["original"]}, 2, model="rpp", **slow, **PIXELS, **SMOKE)
        grids += grids_of({CARTPOLE: ["original"]}, 2, model="approx", **PIXELS, **SMOKE)
    else:
        tasks = [ACROBOT, CUP] if scale == "paper" else [CUP]
        tau = {"algorithm.target_tau": TAUS}
        axes = {"model": ["rpp", "approx"], **tau, **PIXELS, "preset": scale}
        grids = grids_of({t: ["original"] for t in tasks}, 5 if scale == "paper" else 3, **axes)
    return Study(
        name="rpp-tau",
        title="How sensitive rpp is to τ, the speed of the target critic",
        scale=scale,
        grids=grids,
        tables=("rpp-tau",),
        figures=("curves",),
        claims=("C19",),
    )


def _tasks(scale: str) -> Study:
    grids = grids_of(WORLDS, 1, model="none", **PIXELS, preset=scale)
    return Study(
        name="tasks",
        title="Tasks and variants (Figure 4)",
        scale=scale,
        grids=grids,
        trains=False,
        tables=("tasks",),
        figures=("tasks",),
    )


def _trading(scale: str) -> Study:
    axes: list[dict[str, Any]]
    shared: dict[str, Any] = {"task": "trading", "preset": scale, "seed": seeds_from_first(5)}
    if scale == "smoke":
        axes = [{"model": "approx", "symmetry": "T", "seed": seeds_from_first(2)}]
    else:
        both = {"model": ["exact", "approx"], "symmetry": ["T", "ST"]}
        axes = [{"model": "none", "symmetry": "T"}, both]
    return Study(
        name="trading",
        title="Trading (Table 2, Figures 6 and 7)",
        scale=scale,
        grids=tuple(Grid(shared | given) for given in axes),
        evaluation=Evaluation(episodes=2 if scale == "smoke" else 10),
        tables=("trading", "months"),
        figures=("rollouts", "trading", "trading-weights", "prices"),
        claims=("C21", "C22", "C23", "C24"),
    )


def _parameters(scale: str) -> Study:
    worlds = {task: ["original"] for task in WORLDS}
    return Study(
        name="parameters",
        title="Numbers that the networks learn",
        scale=scale,
        grids=grids_of(worlds, 1, model=ALL_MODELS, **PIXELS, preset=scale),
        trains=False,
        tables=("parameters",),
    )


def _wall_clock(scale: str) -> Study:
    originals = {task: ["original"] for task in WORLDS}
    if scale == "smoke":
        grids = SMOKE_PIXELS
    elif scale == "laptop":
        grids = grids_of({CARTPOLE: ["original"]}, 3, model=MODELS, **PIXELS, preset="laptop")
    else:
        grids = _pixels(scale, originals, ALL_MODELS)
    return Study(
        name="wall-clock",
        title="Time for a frame, and to a given return",
        scale=scale,
        grids=grids,
        tables=("wall-clock",),
        figures=("wall-clock",),
        claims=("C20",),
    )


STUDIES: dict[str, Callable[[str], Study]] = {
    "curves": _curves,
    "final": _final,
    "noise": _noise,
    "noise-trained": _noise_trained,
    "weights": _weights,
    "rpp-tau": _rpp_tau,
    "tasks": _tasks,
    "trading": _trading,
    "planted": lambda scale: planted_study(scale, seeds_from_first),
    "parameters": _parameters,
    "wall-clock": _wall_clock,
    "regret": regret_study,
    "stay-put": stay_put_study,
}
