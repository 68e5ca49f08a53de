"""The four control domains and how their symmetry moves configurations, actions, observations.

A configuration c is `qpos` followed by whatever else stands in the scene (reacher's target). Each
element acts on it by changes of sign and half turns,

    (g·c)[i] = signs[g, i] · c[i] + half_turns[g, i] · π,

on velocities by the same signs, on actions and observations by sign changes alone. Everything
here is numbers: nothing needs the simulator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nearsym.groups.catalog import dihedral
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation, diagonal

# Entries without a natural bound get this one, far outside what the suite's motors can reach, so
# that observation spaces stay finite.
FAR = 1000.0


@dataclass(frozen=True)
class Domain:
    """One dm_control task and its symmetry, one row of signs for each group element."""

    domain: str
    """dm_control's name of the domain."""
    task: str
    """dm_control's name of the task."""
    group: FiniteGroup
    joints: tuple[str, ...]
    """Names of the entries of qpos."""
    angles: tuple[bool, ...]
    """For each entry of the configuration, whether it is an angle, equal to itself mod 2π."""
    signs: tuple[tuple[int, ...], ...]
    """How each element changes the sign of each entry of the configuration."""
    half_turns: tuple[tuple[int, ...], ...]
    """How many half turns each element adds to each entry of the configuration."""
    action_signs: tuple[tuple[int, ...], ...]
    entries: tuple[tuple[str, float], ...]
    """Name and bound of each entry of the state observation."""
    observation_signs: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """The task's name in nearsym, such as "cartpole-swingup"."""
        return f"{self.domain}-{self.task}"

    @property
    def has_target(self) -> bool:
        """Whether a target, moved from episode to episode, belongs to the configuration."""
        return len(self.angles) > len(self.joints)

    @cached_property
    def coordinate_places(self) -> dict[str, tuple[str, int]]:
        """The coordinates of a state: joints, then the target, then velocities; and where they
        stand in it."""
        targets = ("target x", "target y")[: len(self.angles) - len(self.joints)]
        places = {name: ("qpos", i) for i, name in enumerate(self.joints)}
        places |= {name: ("target", i) for i, name in enumerate(targets)}
        return places | {f"velocity {name}": ("qvel", i) for i, name in enumerate(self.joints)}

    @cached_property
    def action(self) -> Representation:
        """How an element moves an action."""
        return self._by_signs(self.action_signs, "action")

    @cached_property
    def observation(self) -> Representation:
        """How an element moves a state observation."""
        return self._by_signs(self.observation_signs, "state")

    def move_configuration(self, g: int, configuration: np.ndarray) -> np.ndarray:
        """g·c for a configuration, or for its first entries."""
        n = configuration.shape[-1]
        shift = np.pi * np.array(self.half_turns[g][:n], dtype=float)
        return np.array(self.signs[g][:n]) * configuration + shift

    def move_velocity(self, g: int, velocity: np.ndarray) -> np.ndarray:
        """g·v for joint velocities and accelerations: the same signs, no half turns."""
        return np.array(self.signs[g][: len(self.joints)]) * velocity

    def _by_signs(self, rows: Sequence[Sequence[int]], what: str) -> Representation:
        names = self.group.elements
        return diagonal(
            self.group, {names[g]: rows[g] for g in range(1, self.group.order)}, f"{what} signs"
        )


_D1, _D2 = dihedral(1), dihedral(2)


def _mirror(*signs: int) -> tuple[tuple[int, ...], ...]:
    """The rows of D1 = {e, mirror_x}: nothing, then the signs given."""
    return (1,) * len(signs), signs


_ACROBOT = Domain(
    domain="acrobot",
    task="swingup",
    group=_D1,
    joints=("shoulder", "elbow"),
    angles=(True, True),
    signs=_mirror(-1, -1),
    half_turns=((0, 0), (0, 0)),
    action_signs=_mirror(-1),
    entries=(
        ("sin upper arm", 1.0),
        ("sin lower arm", 1.0),
        ("cos upper arm", 1.0),
        ("cos lower arm", 1.0),
        ("velocity shoulder", FAR),
        ("velocity elbow", FAR),
    ),
    observation_signs=_mirror(-1, -1, 1, 1, -1, -1),
)

_CARTPOLE = Domain(
    domain="cartpole",
    task="swingup",
    group=_D1,
    joints=("slider", "hinge"),
    angles=(False, True),
    signs=_mirror(-1, -1),
    half_turns=((0, 0), (0, 0)),
    action_signs=_mirror(-1),
    entries=(
        ("x cart", FAR),
        ("cos pole", 1.0),
        ("sin pole", 1.0),
        ("velocity cart", FAR),
        ("velocity pole", FAR),
    ),
    observation_signs=_mirror(-1, 1, -1, -1, -1),
)

_BALL_IN_CUP = Domain(
    domain="ball_in_cup",
    task="catch",
    group=_D1,
    joints=("cup_x", "cup_z", "ball_x", "ball_z"),
    angles=(False, False, False, False),
    signs=_mirror(-1, 1, -1, 1),
    half_turns=((0,) * 4, (0,) * 4),
    action_signs=_mirror(-1, 1),
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
    observation_signs=_mirror(-1, 1, -1, 1, -1, 1, -1, 1),
)

# The rows below follow D2 = (e, rot180, mirror_x, mirror_y).
_REACHER = Domain(
    domain="reacher",
    task="hard",
    group=_D2,
    joints=("shoulder", "wrist"),
    angles=(True, True, False, False),  # then the target's x and y
    signs=((1, 1, 1, 1), (1, 1, -1, -1), (-1, -1, -1, 1), (-1, -1, 1, -1)),
    half_turns=((0, 0, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0)),
    action_signs=((1, 1), (1, 1), (-1, -1), (-1, -1)),
    # dm_control shows the shoulder's raw angle, on which two elements act with a half turn; its
    # cosine and sine carry the same and make every element linear.
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
)

DOMAINS = {d.name: d for d in (_ACROBOT, _CARTPOLE, _BALL_IN_CUP, _REACHER)}
