"""Reacher: two torques bring a planar arm's tip to a target. D2 turns and mirrors the plane."""

import math
from typing import Any

import numpy as np

from nearsym.groups.catalog import dihedral
from nearsym.tasks.control.domain import FAR, Domain
from nearsym.tasks.control.sector import Sector, joint


def _shoulder_as_point(flat: np.ndarray) -> np.ndarray:
    """The shoulder's angle as cosine and sine.

    dm_control shows the raw angle, on which two elements act with a half turn; its cosine and sine
    carry the same and make every element linear.
    """
    return np.concatenate([[np.cos(flat[0]), np.sin(flat[0])], flat[1:]])


def _lift_lid(model: Any) -> None:
    """The root's lid and the arm lie at one height and fight over the centre pixel."""
    model.geom("root").size[1] = model.geom("root").pos[2] = 0.011


# The rows of signs follow D2 = (e, rot180, mirror_x, mirror_y).
REACHER = Domain(
    domain="reacher",
    task="hard",
    group=dihedral(2),
    joints=("shoulder", "wrist"),
    angles=(True, True, False, False),  # then the target's x and y
    signs=((1, 1, 1, 1), (1, 1, -1, -1), (-1, -1, -1, 1), (-1, -1, 1, -1)),
    half_turns=((0, 0, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0)),
    action_signs=((1, 1), (1, 1), (-1, -1), (-1, -1)),
    entries=(
        ("cos shoulder", 1.0),
        ("sin shoulder", 1.0),
        ("angle wrist", FAR),
        ("x to target", FAR),
        ("y to target", FAR),
        ("velocity shoulder", FAR),
        ("velocity wrist", FAR),
    ),
    observation_signs=(
        (1, 1, 1, 1, 1, 1, 1),
        (-1, -1, 1, -1, -1, 1, 1),
        (-1, 1, -1, -1, 1, -1, -1),
        (1, -1, -1, 1, -1, -1, -1),
    ),
    regions={
        "repeat_action": Sector(0.0, math.pi / 2, joint(0)),
        "reflect_action": Sector(math.pi / 2, math.pi / 2, joint(0)),
    },
    # The paper has no gravity for reacher, which lies flat: ±1 m/s² along both axes is about a
    # quarter of what its motors can hold.
    gravity=-1.0,
    test_noise=0.02,
    medium=True,
    sparse=True,
    show=_shoulder_as_point,
    retouch=_lift_lid,
)
