"""Where an environment keeps its MuJoCo model, and what the model's coordinates are called."""

from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.errors import MissingExtraError

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's kinds of joints."""
LIFT = 2.0
"""How far the reference state is lifted off the ground, in metres."""


@dataclass(frozen=True)
class Place:
    """A coordinate: its name, and where it stands in a state."""

    name: str
    key: str
    index: int
    joint: int
    angle: bool = False
    """Whether it is equal to itself mod 2π: a hinge without limits."""


_PARTS = {
    FREE: (("x", "y", "z", "qw", "qx", "qy", "qz"), ("x", "y", "z", "turn x", "turn y", "turn z")),
    BALL: (("qw", "qx", "qy", "qz"), ("turn x", "turn y", "turn z")),
    SLIDE: (("",), ("",)),
    HINGE: (("",), ("",)),
}


def physics_of(env: gym.Env) -> tuple[Any, Any] | None:
    """Model and data of an environment on MuJoCo; None for others.

    Gymnasium's own keep `model` and `data`, dm_control's a `physics`, which wrappers keep as
    `physics` or inside an attribute `_env`.

    >>> physics_of(gym.make("Pendulum-v1")) is None
    True
    """
    inner: Any = env.unwrapped
    held = [inner, getattr(inner, "_env", None), getattr(inner, "env", None)]
    for holder in held:
        physics = getattr(holder, "physics", None)
        if physics is not None and hasattr(physics, "model") and hasattr(physics.model, "ptr"):
            return physics.model.ptr, physics.data.ptr
    model, data = getattr(inner, "model", None), getattr(inner, "data", None)
    if type(model).__name__ == "MjModel" and type(data).__name__ == "MjData":
        return model, data
    return None


def places_of(model: Any) -> list[Place]:
    """The coordinates of a model: positions of all joints, then velocities."""
    positions, velocities = [], []
    for j in range(model.njnt):
        name, kind = model.joint(j).name or f"joint {j}", int(model.jnt_type[j])
        turns = kind == HINGE and not model.jnt_limited[j]
        for i, part in enumerate(_PARTS[kind][0]):
            full = f"{name} {part}".strip()
            positions.append(Place(full, "qpos", int(model.jnt_qposadr[j]) + i, j, turns))
        for i, part in enumerate(_PARTS[kind][1]):
            full = f"velocity {name} {part}".strip()
            velocities.append(Place(full, "qvel", int(model.jnt_dofadr[j]) + i, j))
    return _distinct(positions) + _distinct(velocities)


def velocity_partners(places: list[Place]) -> dict[int, int]:
    """Which velocity belongs to which position, as indices into `places`.

    A free joint's turning speeds belong to the last three entries of its quaternion, which move as
    they do under every isometry; the first entry has no partner.
    """
    partners = {}
    velocities = {place.name: i for i, place in enumerate(places) if place.key == "qvel"}
    for i, place in enumerate(places):
        if place.key == "qpos":
            name = f"velocity {place.name}".replace(" q", " turn ")
            if name in velocities:
                partners[i] = velocities[name]
    return partners


def reference_positions(model: Any) -> np.ndarray:
    """Positions that every symmetry of a model keeps: limited joints in the middle of their ranges,
    and high enough to touch nothing."""
    qpos = model.qpos0.copy()
    for j in np.flatnonzero(model.jnt_limited & (model.jnt_type >= SLIDE)):
        qpos[model.jnt_qposadr[j]] = model.jnt_range[j].mean()
    data = mujoco().MjData(model)
    data.qpos[:] = qpos
    mujoco().mj_forward(model, data)
    if data.ncon:
        for j in np.flatnonzero(_upright(model, data)):
            qpos[model.jnt_qposadr[j] + 2 * (model.jnt_type[j] == FREE)] += LIFT
    return qpos


def mujoco() -> Any:
    """The library, or what to install."""
    try:
        import mujoco
    except ModuleNotFoundError as error:
        raise MissingExtraError("An environment on MuJoCo", "dmc") from error
    return mujoco


def _upright(model: Any, data: Any) -> np.ndarray:
    """Which joints of the first bodies of their trees lift them: free ones, and vertical slides."""
    root = model.body_parentid[model.jnt_bodyid] == 0
    vertical = np.abs(data.xaxis[:, 2]) > 0.999
    return root & ((model.jnt_type == FREE) | ((model.jnt_type == SLIDE) & vertical))


def _distinct(places: list[Place]) -> list[Place]:
    """Joints may share a name, or have none: then the index is added."""
    names = [place.name for place in places]
    return [
        replace(place, name=f"{place.name} [{place.index}]")
        if names.count(place.name) > 1
        else place
        for place in places
    ]
