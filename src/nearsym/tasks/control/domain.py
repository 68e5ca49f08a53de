"""What makes up one control domain; each has a file of its own beside this one.

A configuration c is `qpos` followed by whatever else stands in the scene (reacher's target). Each
element acts on it by changes of sign and half turns,

    (g·c)[i] = signs[g, i] · c[i] + half_turns[g, i] · π,

on velocities by the same signs, on actions and observations by sign changes alone. Everything
here is numbers: nothing needs the simulator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation, diagonal
from nearsym.tasks.control.sector import Sector

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
    regions: Mapping[str, Sector]
    """Where the variants that change actions do so, by the variant's name."""
    gravity: float
    """Default strength of the variant gravity, in m/s²."""
    test_noise: float
    """Standard deviation of the image noise under which the paper tests policies."""
    medium: bool = False
    """Whether DrQ-v2 counts the task as medium and not as easy: it trains for 3.1 million frames,
    not 1.1, and its exploration noise falls over 500k agent steps, not 100k."""
    sparse: bool = False
    """Reward 1 at the goal and 0 elsewhere."""
    rpp_slow_target: bool = False
    """Whether the paper had to slow RPP's target down to be stable."""
    show: Callable[[np.ndarray], np.ndarray] = lambda flat: flat
    """dm_control's flat observation to the state observation."""
    retouch: Callable[[Any], None] = lambda model: None
    """Changes the model that is drawn (never the one that moves), so that it draws exactly."""

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


def mirror(*signs: int) -> tuple[tuple[int, ...], ...]:
    """The rows of D1 = {e, mirror_x}: nothing, then the signs given."""
    return (1,) * len(signs), signs
