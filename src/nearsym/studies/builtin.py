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
from nearsym.studies.planted import planted_study
from nearsym.studies.study import SCALES, Evaluation, Grid, Study
from nearsym.tasks.control.domains import DOMAINS

FIRST_SEED = 100
ACROBOT, CARTPOLE, CUP, REACHER = DOMAINS
MODELS = ["none", "exact", "approx"]
TAUGHT = ["augment", "mirror"]
"""Not the paper's: the baselines that every comparison with symmetric networks is asked for."""
ALL_BUT_SIT = [*MODELS, "rpp", *TAUGHT]
"""sit reads pixels alone and costs several times as much."""
ALL_MODELS = [*ALL_BUT_SIT, "sit"]
TILTS = [f"tilt={degrees}" for degrees in range(0, 91, 15)]
TAUS = [0.005, 0.009, 0.01, 0.02]
VARIANTS = ["original", "repeat_action", "gravity", "reflect_action"]
WORLDS = dict.fromkeys((ACROBOT, CARTPOLE, CUP), VARIANTS) | {
    REACHER: ["original", "repeat_action", "reflect_action"]
}
"""The paper's; it names acrobot's reflect_action in its results and does not define it."""
TABLE_1 = {
    ACROBOT: ["original", "gravity"],
    CARTPOLE: ["original", "repeat_action"],
    CUP: ["original", "gravity"],
    REACHER: ["original", "reflect_action"],
}
PIXELS: dict[str, Any] = {"obs": "pixels", "agent": "drqv2"}
VECTORS: dict[str, Any] = {"obs": "state", "agent": "sac"}
SMOKE: dict[str, Any] = {"preset": "smoke", "frames": 800, "training.eval_every": 400}
SHORT = 60_000
"""Frames of cartpole and ball in cup from state vectors: all models have learned by then."""
FINAL = {"smoke": 2, "laptop": 50, "paper": 50}
"""Episodes of the best checkpoint."""


def builtin_study(name: str, scale: str = "laptop") -> Study:
    """A study by name.

    >>> len(builtin_study("regret", "laptop").cells())
    735
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    return STUDIES[name](scale)


def _seeds(count: int) -> range:
    return range(FIRST_SEED, FIRST_SEED + count)


def _grids(worlds: dict[str, list[str]], seeds: int, **axes: Any) -> tuple[Grid, ...]:
    """One grid for each task: tasks differ in their variants."""
    return tuple(
        Grid({"task": task, "variant": variants, **axes, "seed": _seeds(seeds)})
        for task, variants in worlds.items()
    )


def _pixels(scale: str, worlds: dict[str, list[str]], models: Sequence[str]) -> tuple[Grid, ...]:
    """Control tasks from pixels; on a laptop those of Table 1 that can be learned there."""
    if scale == "paper":
        return _grids(worlds, 5, model=models, **PIXELS, preset="paper")
    here = {task: TABLE_1[task] for task in (CARTPOLE, CUP)}
    laptop: dict[str, Any] = {**PIXELS, "preset": "laptop"}
    others = [model for model in models if model not in (*MODELS, "sit")]
    return _grids(here, 3, model=MODELS, **laptop) + _grids(here, 1, model=others, **laptop)


SMOKE_PIXELS = _grids({CARTPOLE: ["original"]}, 2, model=MODELS, **PIXELS, **SMOKE)
SMOKE_VECTORS = _grids({"craft": TILTS[:1]}, 2, model=MODELS, **VECTORS, **SMOKE) + _grids(
    {"craft": TILTS[-1:]}, 2, model=["exact", "approx"], **VECTORS, **SMOKE
)


def _curves(scale: str) -> Study:
    smoke = SMOKE_PIXELS + SMOKE_VECTORS
    grids = smoke if scale == "smoke" else _pixels(scale, WORLDS, ALL_MODELS)
    return Study(
        name="curves",
        title="Learning curves (Figure 3)",
        scale=scale,
        grids=grids,
        tables=("end", "area", "differences", "aggregates"),
        figures=("curves",),
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
        claims=("C17",),
    )


def _table_1(scale: str) -> tuple[Grid, ...]:
    return _pixels(scale, TABLE_1, [*MODELS, *TAUGHT])


def _noise_trained(scale: str) -> Study:
    noise = {"noise": DOMAINS[CUP].test_noise}
    if scale == "smoke":
        grids = _grids({CARTPOLE: ["original"]}, 2, model="approx", **noise, **PIXELS, **SMOKE)
    else:
        seeds = 5 if scale == "paper" else 3
        rows = {CUP: TABLE_1[CUP]}
        models = [*MODELS, *TAUGHT] if scale == "paper" else MODELS
        grids = _grids(rows, seeds, model=models, **noise, **PIXELS, preset=scale)
    return Study(
        name="noise-trained",
        title="Trained with noise, tested with noise (appendix)",
        scale=scale,
        grids=grids,
        evaluation=Evaluation(episodes=FINAL[scale], noise="task"),
        tables=("noise-trained",),
        claims=("C18",),
    )


def _weights(scale: str) -> Study:
    axes: dict[str, Any] = {"model": "approx"}
    if scale == "smoke":
        grids = _grids({CARTPOLE: ["original"]}, 2, **axes, **PIXELS, **SMOKE)
        grids += _grids({"craft": [TILTS[0], TILTS[-1]]}, 2, **axes, **VECTORS, **SMOKE)
    elif scale == "laptop":
        here = {task: TABLE_1[task] for task in (CARTPOLE, CUP)}
        grids = _grids(here, 3, **axes, **PIXELS, preset="laptop")
        grids += _grids({REACHER: TABLE_1[REACHER]}, 5, **axes, **VECTORS, preset="laptop")
    else:
        grids = _grids(WORLDS, 5, **axes, **PIXELS, preset="paper")
    return Study(
        name="weights",
        title="Relaxed weights by layer and element (Figure 5)",
        scale=scale,
        grids=grids,
        tables=("spread",),
        figures=("weights",),
        claims=("C1", "C7", "C8"),
    )


def _rpp_tau(scale: str) -> Study:
    if scale == "smoke":
        slow = {"algorithm.target_tau": TAUS[0]}
        grids = _grids({CARTPOLE: ["original"]}, 2, model="rpp", **slow, **PIXELS, **SMOKE)
        grids += _grids({CARTPOLE: ["original"]}, 2, model="approx", **PIXELS, **SMOKE)
    else:
        tasks = [ACROBOT, CUP] if scale == "paper" else [CUP]
        tau = {"algorithm.target_tau": TAUS}
        axes = {"model": ["rpp", "approx"], **tau, **PIXELS, "preset": scale}
        grids = _grids({t: ["original"] for t in tasks}, 5 if scale == "paper" else 3, **axes)
    return Study(
        name="rpp-tau",
        title="How sensitive rpp is to τ, the speed of the target critic",
        scale=scale,
        grids=grids,
        tables=("rpp-tau",),
        claims=("C19",),
    )


def _tasks(scale: str) -> Study:
    grids = _grids(WORLDS, 1, model="none", **PIXELS, preset=scale)
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
    shared: dict[str, Any] = {"task": "trading", "preset": scale, "seed": _seeds(5)}
    if scale == "smoke":
        axes = [{"model": "approx", "symmetry": "T", "seed": _seeds(2)}]
    else:
        both = {"model": ["exact", "approx"], "symmetry": ["T", "ST"]}
        axes = [{"model": "none", "symmetry": "T"}, both]
    return Study(
        name="trading",
        title="Trading (Table 2, Figures 6 and 7)",
        scale=scale,
        grids=tuple(Grid(shared | given) for given in axes),
        evaluation=Evaluation(episodes=2 if scale == "smoke" else 10),
        tables=("trading",),
        figures=("trading", "trading-weights", "prices"),
        claims=("C21", "C22", "C23", "C24"),
    )


def _parameters(scale: str) -> Study:
    worlds = {task: ["original"] for task in WORLDS}
    return Study(
        name="parameters",
        title="Numbers that the networks learn",
        scale=scale,
        grids=_grids(worlds, 1, model=ALL_MODELS, **PIXELS, preset=scale),
        trains=False,
        tables=("parameters",),
    )


def _wall_clock(scale: str) -> Study:
    originals = {task: ["original"] for task in WORLDS}
    if scale == "smoke":
        grids = SMOKE_PIXELS
    elif scale == "laptop":
        grids = _grids({CARTPOLE: ["original"]}, 3, model=MODELS, **PIXELS, preset="laptop")
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


def _regret(scale: str) -> Study:
    craft = _grids({"craft": TILTS}, 10, model=ALL_BUT_SIT, **VECTORS, preset="laptop")
    if scale == "smoke":
        grids = SMOKE_VECTORS
    elif scale == "laptop":
        grids = craft + _vector_worlds()
    else:
        control = _grids(WORLDS, 5, model=ALL_BUT_SIT, **PIXELS, preset="paper")
        grids = craft + control
    return Study(
        name="regret",
        title="What choosing a model for all worlds costs",
        scale=scale,
        grids=grids,
        tables=("regret", "sweeps", "aggregates", "end", "settings"),
        figures=("regret", "sweeps"),
        claims=("N1", "N2"),
    )


def _vector_worlds() -> tuple[Grid, ...]:
    """Control tasks from state vectors, and a sweep of one strength."""
    here = {task: WORLDS[task] for task in (CARTPOLE, CUP)}
    sweep = {CUP: [f"reflect_action={strength:g}" for strength in (0.25, 0.5, 0.75)]}
    laptop: dict[str, Any] = {**VECTORS, "preset": "laptop"}
    short = {**laptop, "frames": SHORT}
    grids = _grids(here, 5, model=MODELS, **short)
    grids += _grids(sweep, 5, model=MODELS, **short)
    grids += _grids({REACHER: TABLE_1[REACHER]}, 5, model=MODELS, **laptop)
    return grids + _grids(here, 5, model=["rpp", *TAUGHT], **short)


STUDIES: dict[str, Callable[[str], Study]] = {
    "curves": _curves,
    "final": _final,
    "noise": _noise,
    "noise-trained": _noise_trained,
    "weights": _weights,
    "rpp-tau": _rpp_tau,
    "tasks": _tasks,
    "trading": _trading,
    "planted": lambda scale: planted_study(scale, _seeds),
    "parameters": _parameters,
    "wall-clock": _wall_clock,
    "regret": _regret,
}
