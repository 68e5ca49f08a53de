"""Cartpole: a force on the cart swings the pole up. D1, the mirror x → −x, negates everything."""

import math

from nearsym.groups.catalog import dihedral
from nearsym.tasks.control.domain import FAR, Domain, mirror
from nearsym.tasks.control.sector import Sector, joint

CARTPOLE = Domain(
    domain="cartpole",
    task="swingup",
    group=dihedral(1),
    joints=("slider", "hinge"),
    angles=(False, True),
    signs=mirror(-1, -1),
    half_turns=((0, 0), (0, 0)),
    action_signs=mirror(-1),
    entries=(
        ("x cart", FAR),
        ("cos pole", 1.0),
        ("sin pole", 1.0),
        ("velocity cart", FAR),
        ("velocity pole", FAR),
    ),
    observation_signs=mirror(-1, 1, -1, -1, -1),
    regions={
        "repeat_action": Sector(0.0, math.pi / 2, joint(1)),
        "reflect_action": Sector(0.0, math.pi / 2 / 2, joint(1)),
    },
    gravity=0.2,
    test_noise=0.06,
)
