"""What the built-in studies share: worlds, models, seeds and sizes."""

from typing import Any

from nearsym.studies.study import Grid
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
STRENGTHS = [f"reflect_action={strength:g}" for strength in (0.25, 0.5, 0.75)]
"""Between the original and the paper's reflect_action."""
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


def seeds_from_first(count: int) -> range:
    """So many seeds; smaller ones were used to choose the presets."""
    return range(FIRST_SEED, FIRST_SEED + count)


def grids_of(worlds: dict[str, list[str]], seeds: int, **axes: Any) -> tuple[Grid, ...]:
    """One grid for each task: tasks differ in their variants."""
    return tuple(
        Grid({"task": task, "variant": variants, **axes, "seed": seeds_from_first(seeds)})
        for task, variants in worlds.items()
    )


SMOKE_PIXELS = grids_of({CARTPOLE: ["original"]}, 2, model=MODELS, **PIXELS, **SMOKE)
SMOKE_VECTORS = grids_of(
    {"craft": [TILTS[0], TILTS[-1]]}, 2, model=["exact", "approx"], **VECTORS, **SMOKE
)
