"""What a declaration got wrong: how actions, states or observations move.

A declaration is wrong only if another one would be right (`redeclared`). A broken symmetry has no
such other: it fails in some places, or whatever one declares. Observations are compared after
that, under the right moves of states and actions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from nearsym.audits.observations import (
    NOT_COMPARED,
    ObservationPairs,
    check_repeating,
    observation_pairs,
    ranges,
    untested_entries,
)
from nearsym.audits.pairs import Pairs
from nearsym.audits.redeclared import Redeclaration, Redeclarations, as_declared
from nearsym.audits.responses import FEW, Matrix, right_actions
from nearsym.audits.simulator import Simulator


@dataclass(frozen=True)
class Mistake:
    """One entry that moves otherwise than declared."""

    part: str
    """"action", "state" or "observation"."""
    index: int
    name: str
    elements: tuple[str, ...]
    should: tuple[str, ...] = ()
    """What each of the elements makes of it: of the whole action, such as "[−a0, +a1]", of an entry
    of the state, such as "+hip_2"; empty where that is not known."""

    def as_json(self) -> dict[str, Any]:
        elements, should = list(self.elements), list(self.should)
        found = {"part": self.part, "index": self.index, "name": self.name, "elements": elements}
        return found | ({"should": should} if should else {})


def find_mistakes(
    simulator: Simulator,
    pairs: Pairs,
    scale: Float[np.ndarray, "coordinates"],
    holds: Float[np.ndarray, "elements"],
) -> tuple[list[Mistake], list[str]]:
    """Everything that is declared wrongly, and notes on what could not be checked.

    `holds` is the share of the samples at which each element (without e) moves next states as
    declared.
    """
    right = _right_moves(simulator, pairs, scale, holds)
    found: dict[tuple[str, int], dict[int, str]] = {}
    for g, moves in right.items():
        declared = simulator.symmetry.action.matrices[g]
        for i in moves.wrong_actions(declared):
            assert moves.actions is not None
            found.setdefault(("action", i), {})[g] = in_words(moves.actions)
        for i, should in moves.states.items():
            found.setdefault(("state", i), {})[g] = should
    broken = {g for g in range(1, simulator.group.order) if holds[g - 1] < 1} - set(right)
    wrong, notes = _wrong_observations(simulator, pairs, scale, right, broken)
    for g, entries in wrong.items():
        for i in entries:
            found.setdefault(("observation", i), {})[g] = ""
    return [_mistake(simulator, *key, images) for key, images in found.items()], notes


def _right_moves(
    simulator: Simulator, pairs: Pairs, scale: np.ndarray, holds: np.ndarray
) -> dict[int, Redeclaration]:
    """For elements that are declared wrongly, how they do move states and actions."""
    failing = [g for g in range(1, simulator.group.order) if holds[g - 1] <= FEW]
    if not failing:
        return {}
    tried = Redeclarations(simulator, pairs, scale)
    found = {g: moves for g in failing if (moves := tried.right(g)) is not None}
    # Responses take many steps, and are asked about what the moves above leave open.
    settled = {g: m.actions for g, m in found.items() if m.actions is not None and tried.settles(m)}
    responses = right_actions(simulator, pairs, scale, holds, settled)
    for g, matrix in responses.items():
        found[g] = tried.better_of(g, matrix, found.get(g))
    return found


def _wrong_observations(
    simulator: Simulator,
    pairs: Pairs,
    scale: np.ndarray,
    right: dict[int, Redeclaration],
    broken: set[int],
) -> tuple[dict[int, list[int]], list[str]]:
    """Entries of the observation that are declared wrongly, by element, and notes."""
    notes = check_repeating(simulator, pairs.probes)
    wrong, seen, unseen = {}, [], False
    for g in range(1, simulator.group.order):
        moves = right.get(g, as_declared(simulator, g))
        two = observation_pairs(simulator, pairs.probes, scale, moves, pairs.stochastic)
        if two is None:
            unseen = True
            continue
        seen.append(two)
        wrong[g] = two.wrong_entries(broken=g in broken)
    notes += [NOT_COMPARED] if unseen else []
    return wrong, notes + _untested(simulator, seen)


def _untested(simulator: Simulator, seen: list[ObservationPairs]) -> list[str]:
    entries = untested_entries(seen)
    if not entries or len(simulator.env.observation_space.shape or ()) == 3:
        return []
    return [f"Untested, because they never varied: observation {ranges(entries)}."]


def _mistake(simulator: Simulator, part: str, i: int, images: dict[int, str]) -> Mistake:
    should = tuple(images.values()) if all(images.values()) else ()
    elements = tuple(simulator.group.elements[g] for g in images)
    return Mistake(part, i, _name(simulator, part, i), elements, should)


def in_words(matrix: Matrix) -> str:
    """What a signed permutation makes of an action (a0, a1, …).

    >>> in_words(np.array([[0.0, -1.0], [1.0, 0.0]]))
    '[−a1, +a0]'
    """
    places = [int(np.flatnonzero(row)[0]) for row in matrix]
    signs = ["+" if row.sum() > 0 else "−" for row in matrix]
    return f"[{', '.join(f'{sign}a{j}' for sign, j in zip(signs, places, strict=True))}]"


def _name(simulator: Simulator, part: str, i: int) -> str:
    if part == "state":
        return simulator.coordinates.names[i]
    if part == "observation" and i < len(simulator.observation_names):
        return f"observation[{i}] ({simulator.observation_names[i]})"
    return f"{part}[{i}]"
