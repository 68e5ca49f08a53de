"""Moves that a world might obey: those that keep it to first order around a reference state."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.audits.automorphisms import EXACTLY, Matcher, Tolerance
from nearsym.audits.linear import Linear, Reference
from nearsym.audits.moves import Entries, Move
from nearsym.audits.world import World
from nearsym.errors import UsageError
from nearsym.physics.signed import SignedPermutation
from nearsym.protocols import State

ANGLES = 3
"""Angles up to which every combination of quarter turns is tried."""


@dataclass(frozen=True)
class Candidates:
    """What the first order allows, and whether that is all of it."""

    entries: Entries
    moves: list[Move]
    complete: bool


def can_search(world: World) -> bool:
    """Whether actions are vectors, so that signs and places of their entries mean something."""
    space = world.env.action_space
    return isinstance(space, gym.spaces.Box) and len(space.shape) == 1


def find_candidates(
    world: World, visited: list[State], tolerance: Tolerance = EXACTLY
) -> Candidates:
    """Moves of state and action that keep J at the reference state, the identity first.

    `visited` are states that occur; entries that never vary among them stay in place.
    """
    entries = Entries(world, visited[0])
    if not can_search(world):
        return Candidates(entries, [], True)
    reference = _reference(world, entries, visited)
    still = None if reference is None else _linear(reference, (0,) * len(entries))
    if reference is None or still is None:
        return Candidates(entries, [], False)
    moves, complete = [], True
    for turns in quarter_turns(entries, reference.varies):
        turned = still if not any(turns) else _linear(reference, turns)
        if turned is not None:
            found = _matches(reference, still, turned, turns, tolerance)
            moves += found.moves
            complete &= found.complete
    return Candidates(entries, moves, complete)


def _reference(world: World, entries: Entries, visited: list[State]) -> Reference | None:
    try:
        return Reference(world, entries, visited)
    except UsageError:  # an environment that refuses the state 0
        return None


def _linear(reference: Reference, turns: tuple[int, ...]) -> Linear | None:
    try:
        return reference.linear(turns)
    except UsageError:
        return None


def quarter_turns(entries: Entries, varies: np.ndarray) -> list[tuple[int, ...]]:
    """Combinations of quarter turns of the angles, none first."""
    angles = np.flatnonzero(entries.coordinates.angle & varies)
    choices: list[Any] = [(0,)] * len(entries)
    for i in angles[:ANGLES] if len(angles) <= ANGLES else ():
        choices[int(i)] = range(4)
    return list(product(*choices))


def _matches(
    reference: Reference,
    still: Linear,
    turned: Linear,
    turns: tuple[int, ...],
    tolerance: Tolerance,
) -> Candidates:
    n = len(reference.entries)
    allowed = _allowed(reference, still, turned, tolerance)
    matcher = Matcher(still.matrices, turned.matrices, allowed, tolerance)
    moves = [_move(found, n, turns) for found in matcher.solutions()]
    return Candidates(reference.entries, moves, matcher.complete)


def _move(found: SignedPermutation, n: int, turns: tuple[int, ...]) -> Move:
    state = SignedPermutation(found.source[:n], found.sign[:n])
    return Move(state, turns, SignedPermutation(found.source[n:] - n, found.sign[n:]))


def _allowed(
    reference: Reference, still: Linear, turned: Linear, tolerance: Tolerance
) -> np.ndarray:
    """Which node may come from which with which sign: by kind, s₀, a₀ and, if exactly, drift."""
    n, m = len(reference.entries), len(reference.action)
    allowed = np.zeros((n + m, n + m, 2), dtype=bool)
    angle, varies = reference.entries.coordinates.angle, reference.varies
    alike = (angle[:, None] == angle) & varies[:, None] & varies
    alike |= np.eye(n, dtype=bool)
    reach = np.isclose(reference.half[:, None], reference.half)
    for s, sign in enumerate((1.0, -1.0)):
        kept = _equal(reference.x[:, None], sign * reference.x, 1e-9)
        if tolerance is EXACTLY:
            kept &= _equal(turned.drift[:, None], sign * still.drift, 1e-5)
        allowed[:n, :n, s] = alike & kept & (varies[:, None] | (sign > 0))
        middle = _equal(reference.action[:, None], sign * reference.action, 1e-6)
        allowed[n:, n:, s] = reach & middle
    return allowed


def _equal(x: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    return np.abs(x - y) <= tolerance * (1.0 + np.maximum(np.abs(x), np.abs(y)))
