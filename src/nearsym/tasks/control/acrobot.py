"""Acrobot: a torque at the elbow swings two arms up. D1, the mirror x → −x, negates everything."""

import math

from nearsym.groups.catalog import dihedral
from nearsym.tasks.control.domain import FAR, Domain, mirror
from nearsym.tasks.control.sector import Sector, joint

# The inner arm in quadrant IV: sin q₀ > 0 and cos q₀ < 0.
_FOURTH = Sector(math.pi / 2, math.pi / 2, joint(0), closed=False)

ACROBOT = Domain(
    domain="acrobot",
    task="swingup",
    group=dihedral(1),
    joints=("shoulder", "elbow"),
    angles=(True, True),
    signs=mirror(-1, -1),
    half_turns=((0, 0), (0, 0)),
    action_signs=mirror(-1),
    entries=(
        ("sin upper arm", 1.0),
        ("sin lower arm", 1.0),
        ("cos upper arm", 1.0),
        ("cos lower arm", 1.0),
        ("velocity shoulder", FAR),
        ("velocity elbow", FAR),
    ),
    observation_signs=mirror(-1, -1, 1, 1, -1, -1),
    regions={
        "repeat_action": _FOURTH,
        # Named in the paper's results, defined nowhere in it: the region is ours.
        "reflect_action": _FOURTH,
    },
    gravity=-2.0,
    test_noise=0.02,
    medium=True,
    rpp_slow_target=True,
)
