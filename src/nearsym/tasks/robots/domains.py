"""The seven tasks, and an ant that is paid for nothing but standing, which all of D4 keeps."""

from typing import Any

import numpy as np

from nearsym.groups.catalog import dihedral
from nearsym.physics.body import BodyMove, blocks
from nearsym.tasks.robots.domain import Domain, plane, positions_and_velocities

STILL = np.eye(3)
X, Y = np.diag([-1.0, 1.0, 1.0]), np.diag([1.0, -1.0, 1.0])
"""The mirrors x → −x and y → −y."""


def _double_pendulum(model: Any, move: BodyMove, g: int) -> np.ndarray:
    """Cart, sines, cosines, velocities, and the force that holds the cart on its rail."""
    q = move.qpos.matrix
    return blocks([q, np.abs(q[1:, 1:]), move.qvel.matrix, q[:1, :1]])


def _arm(model: Any, move: BodyMove, g: int) -> np.ndarray:
    """Cosines and sines of both joints, the target, velocities, and fingertip to target."""
    flat, turn = move.isometry[:2, :2], np.sign(np.linalg.det(move.isometry))
    matrix = blocks([np.zeros((4, 4)), flat, turn * np.eye(2), flat])
    matrix[np.ix_([0, 2], [0, 2])] = flat  # the first joint's cosine and sine are a point
    matrix[1, 1], matrix[3, 3] = 1.0, turn
    return matrix


_LEGS = {part: f"{part}_left" for part in ("thigh", "leg", "foot")}
_SQUARE = dihedral(4)
# Turned or mirrored, the first joint of an arm along x points to where the x-axis goes.
_POINTING = tuple(
    round(np.arctan2(m[1, 0], m[0, 0]) / (np.pi / 2)) % 4
    for m in _SQUARE.plane  # type: ignore[union-attr]
)
_ANT = positions_and_velocities("cfrc_ext", hidden=2)

_ALL = (
    Domain(
        "inverted_pendulum",
        "InvertedPendulum-v5",
        dihedral(1),
        (STILL, X),
        positions_and_velocities(hidden=0),
        lean=(1.0, 0.0),
    ),
    Domain(
        "inverted_double_pendulum",
        "InvertedDoublePendulum-v5",
        dihedral(1),
        (STILL, X),
        _double_pendulum,
        lean=(1.0, 0.0),
    ),
    Domain(
        "swimmer",
        "Swimmer-v5",
        dihedral(1),
        (STILL, Y),
        positions_and_velocities(hidden=2),
        lean=(0.0, 1.0),
    ),
    Domain(
        "walker2d",
        "Walker2d-v5",
        dihedral(1),
        (STILL, STILL),
        positions_and_velocities(hidden=1),
        partners=_LEGS,
        foot="foot_left_geom",
    ),
    Domain(
        "ant",
        "Ant-v5",
        dihedral(1),
        (STILL, Y),
        _ANT,
        lean=(0.0, 1.0),
        foot="left_ankle_geom",
    ),
    Domain(
        "ant-stand",
        "Ant-v5",
        _SQUARE,
        plane(_SQUARE),
        _ANT,
        lean=(0.0, 1.0),
        foot="left_ankle_geom",
        options={"forward_reward_weight": 0.0},
    ),
    Domain(
        "reacher",
        "Reacher-v5",
        _SQUARE,
        plane(_SQUARE),
        _arm,
        turns={"joint0": _POINTING},
        lean=(1.0, 0.0),
    ),
    Domain(
        "humanoid",
        "Humanoid-v5",
        dihedral(1),
        (STILL, Y),
        positions_and_velocities("cinert", "cvel", "qfrc_actuator", "cfrc_ext", hidden=2),
        lean=(0.0, 1.0),
        foot="left_foot",
        worn=3,  # the first three are the abdomen's, in the plane of the mirror
    ),
)
DOMAINS = {domain.name: domain for domain in _ALL}
