"""What makes up one of Gymnasium's MuJoCo tasks: its group, and how elements move the model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearsym.groups.group import FiniteGroup
from nearsym.physics.body import BodyMove, blocks, body_move
from nearsym.physics.model import HINGE
from nearsym.physics.signed import of_matrix


@dataclass(frozen=True)
class Domain:
    """One task. Everything here is numbers and names: nothing needs the simulator."""

    name: str
    """The task's name in nearsym."""
    gymnasium_id: str
    group: FiniteGroup
    isometries: Sequence[np.ndarray]
    """For each element, how it moves space: an orthogonal 3×3 matrix."""
    shows: Callable[[Any, BodyMove, int], np.ndarray]
    """Model, move and index of the element to the matrix that moves observations."""
    partners: Mapping[str, str] = field(default_factory=dict)
    """Bodies that change places under every element but e, where they stand in one plane."""
    turns: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Quarter turns that each element adds to a joint."""
    lean: tuple[float, float] | None = None
    """The direction towards which the variant `tilt` lets the ground slope."""
    foot: str | None = None
    """The geom whose friction the variant `friction` lowers."""
    worn: int = 0
    """The motor that the variant `wear` strengthens."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What Gymnasium's constructor is given."""

    def move(self, model: Any, g: int) -> BodyMove:
        """How element g moves the model."""
        partners = self.partners if g else None
        if self.turns:  # an arm: joints stay what they are, the plane turns around them
            return _arm_move(model, self.isometries[g])
        return body_move(model, self.isometries[g], partners)

    def quarter_turns(self, model: Any, g: int) -> np.ndarray:
        """What element g adds to positions, in quarter turns."""
        added = np.zeros(model.nq)
        for joint, turns in self.turns.items():
            added[model.joint(joint).qposadr[0]] = turns[g]
        return added


def positions_and_velocities(*more: str, hidden: int) -> Callable[[Any, BodyMove, int], np.ndarray]:
    """Observations of positions, without the first `hidden`, velocities, and more of the model."""

    def shows(model: Any, move: BodyMove, g: int) -> np.ndarray:
        parts = {
            "cinert": lambda: move.per_body(move.inertia()),
            "cvel": lambda: move.per_body(move.spatial()),
            "cfrc_ext": lambda: move.per_body(move.spatial()),
            "qfrc_actuator": lambda: move.qvel.matrix[6:, 6:],
        }
        seen = move.qpos.matrix[hidden:, hidden:]
        return blocks([seen, move.qvel.matrix, *(parts[name]() for name in more)])

    return shows


def plane(group: FiniteGroup) -> list[np.ndarray]:
    """The plane's isometries as isometries of space that keep the vertical."""
    return [blocks([matrix, np.eye(1)]) for matrix in group.plane]  # type: ignore[union-attr]


def _arm_move(model: Any, isometry: np.ndarray) -> BodyMove:
    """Hinges turn the other way in a mirror, and the two slides of the target are a point."""
    turn = round(np.linalg.det(isometry)) * np.eye(1)
    hinges = int((model.jnt_type == HINGE).sum())
    joints = of_matrix(blocks([*[turn] * hinges, isometry[:2, :2]]))
    controls = of_matrix(blocks([turn] * model.nu))
    assert joints is not None
    assert controls is not None
    return BodyMove(isometry, np.arange(model.nbody), joints, joints, controls)
