"""Moves of a state by numbers: entries change places and signs, and angles turn by quarters."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nearsym.audits.coordinates import Coordinates, coordinates_of_arrays
from nearsym.audits.world import World
from nearsym.physics.signed import SignedPermutation, identity
from nearsym.protocols import State

QUARTER = np.pi / 2


@dataclass(frozen=True)
class Move:
    """x[i] becomes sign[i]·x[source[i]] + turns[i]·π/2, and actions move by signs and places.

    >>> mirror = Move(SignedPermutation(np.array([0]), np.array([-1.0])), (2,), identity(1))
    >>> mirror.after(mirror).key == still(1, 1).key
    True
    """

    state: SignedPermutation
    turns: tuple[int, ...]
    """Quarter turns that are added, modulo 4."""
    action: SignedPermutation

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.state(x) + QUARTER * np.array(self.turns)

    def after(self, first: "Move") -> "Move":
        """First the one given, then this one."""
        added = self.state(np.array(first.turns, dtype=float)) + np.array(self.turns)
        return Move(
            self.state.after(first.state),
            tuple(int(t) for t in np.round(added) % 4),
            self.action.after(first.action),
        )

    @cached_property
    def key(self) -> tuple[int, ...]:
        """Equal for equal moves."""
        parts = (self.state.source, self.state.sign, self.turns, self.action.source)
        return tuple(int(v) for part in (*parts, self.action.sign) for v in part)

    @property
    def changes(self) -> int:
        """How many entries do not stay as they are."""
        return sum(
            int(((p.source != np.arange(len(p.source))) | (p.sign < 0)).sum())
            for p in (self.state, self.action)
        ) + sum(t != 0 for t in self.turns)


def still(entries: int, actions: int) -> Move:
    """The move that moves nothing."""
    return Move(identity(entries), (0,) * entries, identity(actions))


class Entries:
    """The entries of a world's state that a move can move.

    They are the coordinates, where all of these stand in the state, or else every number of it.
    """

    def __init__(self, world: World, state: State):
        named = world.coordinates
        located = all(place is not None for place in named.places)
        self.coordinates: Coordinates = named if located else coordinates_of_arrays(state)
        self.places = [place for place in self.coordinates.places if place is not None]
        self.followers: Mapping[str, str] = world.followers

    def __len__(self) -> int:
        return len(self.places)

    def of(self, state: State) -> np.ndarray:
        """The entries as they stand."""
        return np.array([np.reshape(state[key], -1)[i] for key, i in self.places], dtype=float)

    def put(self, state: State, values: np.ndarray) -> dict[str, np.ndarray]:
        """The state with other entries."""
        changed = {key: np.array(value, copy=True) for key, value in state.items()}
        for (key, i), value in zip(self.places, values, strict=True):
            changed[key].reshape(-1)[i] = value
        return changed

    def moved(self, move: Move, state: State) -> dict[str, np.ndarray]:
        """The state moved, with all that follows."""
        changed = self.put(state, move(self.of(state)))
        for key, leader in self.followers.items():
            if key not in state:
                continue
            if leader == "action":
                changed[key] = move.action(np.asarray(state[key]))
            else:
                changed[key] = self._following(move, leader, state[key])
        return changed

    def _following(self, move: Move, leader: str, array: np.ndarray) -> np.ndarray:
        """An array of the shape of `leader`, moved as that is; derivatives do not turn."""
        index = {i: at for at, (key, i) in enumerate(self.places) if key == leader}
        flat, result = np.reshape(array, -1), np.array(array, copy=True).reshape(-1)
        positions = {at: i for i, at in index.items()}
        for i, at in index.items():
            source = positions.get(int(move.state.source[at]))
            if source is not None:
                result[i] = move.state.sign[at] * flat[source] + QUARTER * move.turns[at]
        return result.reshape(np.shape(array))
