"""Studies that the paper does not have: regret, and relaxed weights that stay put."""

from typing import Any

from nearsym.studies.study import Grid, Study
from nearsym.studies.worlds import (
    ALL_BUT_SIT,
    CARTPOLE,
    CUP,
    MODELS,
    PIXELS,
    REACHER,
    SHORT,
    SMOKE,
    SMOKE_VECTORS,
    STRENGTHS,
    TABLE_1,
    TAUGHT,
    TILTS,
    VECTORS,
    WORLDS,
    grids_of,
)

TREATMENTS: list[dict[str, Any]] = [
    {"model": "approx", "network.relaxed_rate": 0.1},
    {"model": "approx", "network.relaxed_decay": 1e-3},
    {"model": "approx", "network.spread_strength": 1e-2},
]
"""A tenth of the learning rate for relaxed weights; a thousandth of their distance to their mean
lost in every update; a penalty on their spread."""


def begins(updates: int) -> dict[str, Any]:
    """Relaxed weights that begin to learn after so many updates: exact until then."""
    return {"model": "approx", "network.relaxed_from": updates}


AT_ONCE = begins(0)
"""As in the paper, where the preset begins later."""


def regret_study(scale: str) -> Study:
    """What choosing one model for all worlds costs."""
    craft = grids_of({"craft": TILTS}, 10, model=ALL_BUT_SIT, **VECTORS, preset="laptop")
    if scale == "smoke":
        grids = SMOKE_VECTORS
    elif scale == "laptop":
        grids = craft + _vector_worlds()
    else:
        control = grids_of(WORLDS, 5, model=ALL_BUT_SIT, **PIXELS, preset="paper")
        grids = craft + control
    return Study(
        name="regret",
        title="What choosing a model for all worlds costs",
        scale=scale,
        grids=grids,
        tables=("regret", "regret-compared", "sweeps", "aggregates", "end", "settings"),
        figures=("regret", "sweeps", "profiles", "curves"),
        claims=("N1", "N2", "N4"),
    )


def _vector_worlds() -> tuple[Grid, ...]:
    """Control tasks from state vectors, and a sweep of one strength on two of them."""
    here = {task: WORLDS[task] for task in (CARTPOLE, CUP)}
    sweep = dict.fromkeys((CUP, CARTPOLE), STRENGTHS)
    laptop: dict[str, Any] = {**VECTORS, "preset": "laptop"}
    short = {**laptop, "frames": SHORT}
    grids = grids_of(here, 5, model=MODELS, **short)
    grids += grids_of(sweep, 5, model=MODELS, **short)
    grids += grids_of({REACHER: TABLE_1[REACHER]}, 5, model=MODELS, **laptop)
    return grids + grids_of(here, 5, model=["rpp", *TAUGHT], **short)


def stay_put_study(scale: str) -> Study:
    """Do relaxed weights that are held together keep approx at exact's level where the world is
    symmetric, without a loss where it is not?"""
    if scale == "smoke":
        grids = grids_of({"craft": TILTS[:1]}, 2, model=["exact", "approx"], **VECTORS, **SMOKE)
        grids += grids_of({"craft": TILTS[:1]}, 2, **TREATMENTS[0], **VECTORS, **SMOKE)
    elif scale == "laptop":
        craft = {"craft": [TILTS[0], TILTS[-2]]}
        cup, reacher = ({task: ["original", "reflect_action"]} for task in (CUP, REACHER))
        here: dict[str, Any] = {**VECTORS, "preset": scale}
        grids = _treated(craft, here, [begins(1000), *TREATMENTS])
        grids += _treated(reacher, here, [AT_ONCE])
        held = [{**treatment, **AT_ONCE} for treatment in TREATMENTS]
        grids += _treated(cup, {**here, "frames": SHORT}, [AT_ONCE, *held])
    else:
        grids = _treated(TABLE_1, {**PIXELS, "preset": scale}, [begins(5000), *TREATMENTS])
    return Study(
        name="stay-put",
        title="Relaxed weights that are held together",
        scale=scale,
        grids=grids,
        tables=("settings", "end", "spread"),
        figures=("weights", "curves"),
        claims=("N3",),
    )


def _treated(
    worlds: dict[str, list[str]], axes: dict[str, Any], treatments: list[dict[str, Any]]
) -> tuple[Grid, ...]:
    """Both symmetric models as they are, and approx with each of the treatments."""
    plain = grids_of(worlds, 5, model=["exact", "approx"], **axes)
    return sum((grids_of(worlds, 5, **held, **axes) for held in treatments), plain)
