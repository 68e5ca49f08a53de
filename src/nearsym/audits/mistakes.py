"""What a declaration got wrong: how actions move, a sign of the state, a sign of the observation.

A declaration is wrong only if another one would be right. Then the element fails at almost every
state, and with that other declaration what fails is gone, but for what is broken besides. A broken
symmetry does neither: it fails in some places, or no other declaration helps.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from nearsym.audits.observations import NOT_COMPARED, observation_pairs
from nearsym.audits.pairs import Pairs
from nearsym.audits.responses import MOSTLY, NOWHERE, Matrix, right_actions
from nearsym.audits.simulator import Outcome, Simulator
from nearsym.protocols import State

REPAIRED = 0.1
"""What may remain of the mismatch after turning the sign of a state entry."""


@dataclass(frozen=True)
class Mistake:
    """One entry that moves otherwise than declared."""

    part: str
    """"action", "state" or "observation"."""
    index: int
    name: str
    elements: tuple[str, ...]
    should: tuple[str, ...] = ()
    """Of an action: what each of the elements makes of it, such as "[−a0, +a1]"."""

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

    `holds` is the share of the samples at which each element (without e) holds.
    """
    found: dict[tuple[str, int], list[int]] = {}
    failing = [g for g in range(1, simulator.group.order) if holds[g - 1] <= NOWHERE]
    right = right_actions(simulator, pairs, scale, holds)
    if failing:
        prober = _Prober(simulator, pairs, scale)
        for g in failing:
            for key in prober.wrong_entries(g, right.get(g)):
                found.setdefault(key, []).append(g)
    explained = {g for elements in found.values() for g in elements}
    notes = []
    for g in range(1, simulator.group.order):
        seen = observation_pairs(simulator, pairs.probes, scale, g, pairs.stochastic)
        if seen is None:
            notes = [NOT_COMPARED]
        elif seen.directly or g not in explained:  # after a step it is the same mistake again
            for i in seen.wrong_entries():
                found.setdefault(("observation", i), []).append(g)
    return [_mistake(simulator, *key, gs, right) for key, gs in found.items()], notes


class _Prober:
    """Steps from the probes, as declared and as they might have been."""

    def __init__(self, simulator: Simulator, pairs: Pairs, scale: np.ndarray):
        self.simulator, self.scale = simulator, scale
        self.probes, self.stochastic = pairs.probes, pairs.stochastic
        self.plain = [self._step(k, state, action) for k, (state, action) in enumerate(self.probes)]

    def wrong_entries(self, g: int, right: Matrix | None) -> list[tuple[str, int]]:
        """Entries of the action or of the state whose correction explains why g fails.

        `right` is how the responses say that g moves actions, if they contradict the declaration. A
        wrong sign of the state also confuses responses: what leaves less to explain is believed.
        """
        state, remains = self._wrong_sign(g)
        if right is not None:
            corrected = self.mismatch(g, action=right).mean()
            if corrected <= remains + self.simulator.coordinates.rounding:
                declared = self.simulator.symmetry.action.matrices[g]
                rows = np.flatnonzero((right != declared).any(axis=1))
                return [("action", int(i)) for i in rows]
        return [] if state is None else [("state", state)]

    def _wrong_sign(self, g: int) -> tuple[int | None, float]:
        """The entry of the state whose sign, turned, makes g hold, and what remains to explain."""
        coordinates, declared = self.simulator.coordinates, self.mismatch(g)
        turned = {i: self.mismatch(g, state=i) for i in self._state_entries()}
        for i, left in turned.items():
            if np.mean(left <= coordinates.rounding) >= MOSTLY:
                return i, left.mean()
        for i, left in turned.items():
            if left.mean() <= REPAIRED * declared.mean():
                return i, left.mean()
        return None, declared.mean()

    def _state_entries(self) -> list[int]:
        """Entries of the state whose sign can be turned."""
        coordinates = self.simulator.coordinates
        return [
            i
            for i, place in enumerate(coordinates.places)
            if place is not None and not coordinates.label[i] and not self.stochastic
        ]

    def mismatch(
        self, g: int, *, action: Matrix | None = None, state: int | None = None
    ) -> np.ndarray:
        """The scaled mismatch at each probe, with another matrix for actions if one is given.

        Turning entry i of the state means moving states by F·g instead of g, where F negates it.
        """
        coordinates, gaps = self.simulator.coordinates, []

        def moved(s: State) -> State:
            image = self.simulator.moved(g, s)
            return image if state is None else coordinates.flipped(image, state)

        for k, (start, act) in enumerate(self.probes):
            if action is None:
                image_action = self.simulator.move_action(g, act)
            else:
                image_action = (action @ act).astype(act.dtype)
            actual = self._step(k, moved(start), image_action).x
            expected = coordinates.of(moved(self.plain[k].state))
            gaps.append(coordinates.distance(expected, actual, self.scale))
        return np.array(gaps)

    def _step(self, k: int, state: State, action: Any) -> Outcome:
        return self.simulator.outcome(state, action, (k,) if self.stochastic else None)


def _mistake(
    simulator: Simulator, part: str, i: int, gs: list[int], right: dict[int, Matrix]
) -> Mistake:
    should = tuple(in_words(right[g]) for g in gs) if part == "action" else ()
    elements = tuple(simulator.group.elements[g] for g in gs)
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
