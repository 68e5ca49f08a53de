"""Ball in cup: forces on the cup swing a ball on a string into it. D1 is the mirror x → −x."""

import math

import numpy as np

from nearsym.groups.catalog import dihedral
from nearsym.tasks.control.domain import FAR, Domain, mirror
from nearsym.tasks.control.sector import Sector

_BALL_X, _BALL_Z = 2, 3


def _around_corner(qpos: np.ndarray) -> np.ndarray:
    """The ball's angle around the corner of the region x > 0, height > 0.3 m.

    The ball hangs 0.2 m above the floor at ball_z = 0.
    """
    return np.arctan2(qpos[..., _BALL_Z] - (0.3 - 0.2), qpos[..., _BALL_X])


_ABOVE_RIGHT = Sector(0.0, math.pi / 2, _around_corner, closed=False)

BALL_IN_CUP = Domain(
    domain="ball_in_cup",
    task="catch",
    group=dihedral(1),
    joints=("cup_x", "cup_z", "ball_x", "ball_z"),
    angles=(False, False, False, False),
    signs=mirror(-1, 1, -1, 1),
    half_turns=((0,) * 4, (0,) * 4),
    action_signs=mirror(-1, 1),
    entries=(
        ("x cup", FAR),
        ("z cup", FAR),
        ("x ball", FAR),
        ("z ball", FAR),
        ("velocity x cup", FAR),
        ("velocity z cup", FAR),
        ("velocity x ball", FAR),
        ("velocity z ball", FAR),
    ),
    observation_signs=mirror(-1, 1, -1, 1, -1, 1, -1, 1),
    regions={"repeat_action": _ABOVE_RIGHT, "reflect_action": _ABOVE_RIGHT},
    gravity=-2.0,
    test_noise=0.06,
    sparse=True,
    rpp_slow_target=True,
)
