"""Other declarations of how an element moves states and actions, tried on the samples.

A declaration is wrong only if another one would be right. These are looked for in three places:
the moves that keep the world to first order (`candidates`), the directions into which entries of
the action push (`responses`), and the signs of single entries of the state.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nearsym.audits.automorphisms import EXACTLY, ROUGHLY, Tolerance
from nearsym.audits.candidates import Candidates, find_candidates
from nearsym.audits.fits import fit_signed
from nearsym.audits.moves import Move, still
from nearsym.audits.pairs import Pairs
from nearsym.audits.responses import MOSTLY, Matrix
from nearsym.audits.simulator import Simulator
from nearsym.audits.world import Outcome
from nearsym.protocols import State

REPAIRED = 0.1
"""What may remain of the mismatch under the right declaration."""
LOST = 0.02
"""Share of the samples at which the declared one may hold and the right one not."""
SEEN = 0.2
"""How far observations may be apart, in parts of their size, and still be each other's images."""
VISITED = 30
"""States among which entries are looked for that vary."""


@dataclass(frozen=True)
class Redeclaration:
    """How one element moves states and actions: as declared, or otherwise."""

    g: int
    moved: Callable[[State], State]
    move_action: Callable[[Any], Any]
    states: dict[int, str]
    """Coordinates that move otherwise than declared, and what they should become, where known."""
    actions: Matrix | None = None
    """How actions move, if otherwise than declared."""

    def wrong_actions(self, declared: Matrix) -> list[int]:
        """Entries of the action that move otherwise than declared."""
        if self.actions is None:
            return []
        return [int(i) for i in np.flatnonzero((self.actions != declared).any(axis=1))]


def as_declared(simulator: Simulator, g: int) -> Redeclaration:
    """The declaration itself."""
    return Redeclaration(
        g, lambda s: simulator.moved(g, s), lambda a: simulator.move_action(g, a), {}
    )


class Redeclarations:
    """Steps from the probes, as declared and as they might have been."""

    def __init__(self, simulator: Simulator, pairs: Pairs, scale: np.ndarray):
        self.simulator, self.scale = simulator, scale
        self.probes, self.stochastic = pairs.probes, pairs.stochastic
        self.plain = [self._step(k, state, action) for k, (state, action) in enumerate(self.probes)]

    def right(self, g: int) -> Redeclaration | None:
        """What explains why element g fails, with the fewest changes; None if nothing does."""
        return self._best(g, self.mismatch(as_declared(self.simulator, g)))

    def settles(self, found: Redeclaration) -> bool:
        """Whether it leaves nothing to explain at most of the probes."""
        rounding = self.simulator.coordinates.rounding
        return bool(np.mean(self.mismatch(found) <= rounding) >= MOSTLY)

    def better_of(self, g: int, matrix: Matrix, found: Redeclaration | None) -> Redeclaration:
        """How the responses say that g moves actions, or what was found before.

        A wrong declaration of the state confuses responses: what leaves less to explain is
        believed.
        """
        other = self._with_action(g, matrix)
        if found is None:
            return other
        left, remains = (float(self.mismatch(moves).mean()) for moves in (other, found))
        return other if left <= remains + self.simulator.coordinates.rounding else found

    def _best(self, g: int, declared: np.ndarray) -> Redeclaration | None:
        """The candidate that repairs g with the fewest changes, or the single sign that does.

        A declaration that keeps the world to first order is broken and not wrong, and what another
        element is declared to do is no other declaration of this one.
        """
        rough = self._candidates(g, self.rough.moves)
        if any(not self._changes(self._with_move(g, move)) for move in rough):
            return None
        options = [
            self._with_move(g, move)
            for move in self._candidates(g, self.search.moves)
            if not self._declared_elsewhere(g, move)
        ]
        options.sort(key=lambda option: self._changes(option))
        for option in [*options, *self._signs(g)]:
            if self.repairs(declared, self.mismatch(option)) and self._can_be_seen(option):
                return option
        return None

    def _can_be_seen(self, option: Redeclaration) -> bool:
        """Whether some signed permutation of observations goes with it.

        Else a part of the state that nothing depends on could be moved at will.
        """
        x, y = [], []
        for k, (state, action) in enumerate(self.probes[:VISITED]):
            image = self._step(k, option.moved(state), option.move_action(action))
            x.append(np.asarray(self.plain[k].obs, dtype=float))
            y.append(np.asarray(image.obs, dtype=float))
        return x[0].ndim != 1 or fit_signed(np.array(x), np.array(y), SEEN) is not None

    def _declared_elsewhere(self, g: int, move: Move) -> bool:
        others = (h for h in range(1, self.simulator.group.order) if h != g)
        return any(not self._changes(self._with_move(h, move)) for h in others)

    def repairs(self, declared: np.ndarray, left: np.ndarray) -> bool:
        """Whether what is left of a mismatch is little, and nothing that held is lost."""
        rounding = self.simulator.coordinates.rounding
        lost = np.mean((declared <= rounding) & (left > rounding))
        holds = np.mean(left[declared > rounding] <= rounding) if (declared > rounding).any() else 0
        return bool(lost <= LOST and (holds >= MOSTLY or left.mean() <= REPAIRED * declared.mean()))

    def _candidates(self, g: int, moves: list[Move]) -> list[Move]:
        """Moves of the right order that are not the identity."""
        order = _order_of(self.simulator, g)
        n, m = len(self.search.entries), self.simulator.symmetry.action.size
        return [
            move for move in moves if move.changes and _power(move, order).key == still(n, m).key
        ]

    @cached_property
    def search(self) -> Candidates:
        """What keeps the world to first order; roughly, where nothing does exactly."""
        found = self._keeping(EXACTLY)
        return found if len(found.moves) > 1 else self.rough

    @cached_property
    def rough(self) -> Candidates:
        """What roughly keeps the world to first order."""
        return self._keeping(ROUGHLY)

    def _keeping(self, tolerance: Tolerance) -> Candidates:
        visited = [state for state, _ in self.probes[:VISITED]]
        found = find_candidates(self.simulator.world, visited, tolerance)
        return replace(found, moves=[]) if self.stochastic else found

    def _with_move(self, g: int, move: Move) -> Redeclaration:
        entries = self.search.entries
        # What is neither a coordinate nor follows one (pictures, say) moves as declared.
        return Redeclaration(
            g,
            lambda s: entries.moved(move, s) if entries.followers else self._over(g, move, s),
            lambda a: move.action(np.asarray(a)).astype(np.asarray(a).dtype),
            self._differences(g, move),
            move.action.matrix,
        )

    def _over(self, g: int, move: Move, state: State) -> State:
        entries = self.search.entries
        return entries.put(self.simulator.moved(g, state), move(entries.of(state)))

    def _differences(self, g: int, move: Move) -> dict[int, str]:
        """Coordinates that the declared transform moves otherwise, and what they should become."""
        entries, coordinates = self.search.entries, self.search.entries.coordinates
        off = np.zeros(len(entries), dtype=bool)
        for state, _ in self.probes[:VISITED]:
            x = entries.of(state)
            gap = coordinates.difference(move(x), entries.of(self.simulator.moved(g, state)))
            off |= np.abs(gap) > 1e-9 * (1 + np.abs(x).max())
        names = coordinates.names
        return {int(i): _image(move, int(i), names) for i in np.flatnonzero(off)}

    def _with_action(self, g: int, matrix: Matrix) -> Redeclaration:
        def act(a: Any) -> Any:
            return (matrix @ a).astype(a.dtype)

        return Redeclaration(g, lambda s: self.simulator.moved(g, s), act, {}, matrix)

    def _signs(self, g: int) -> list[Redeclaration]:
        """The declaration with the sign of one entry of the state turned."""
        coordinates = self.simulator.coordinates
        if self.search.moves or self.stochastic:
            return []

        def turned(i: int) -> Redeclaration:
            return Redeclaration(
                g,
                lambda s: coordinates.flipped(self.simulator.moved(g, s), i),
                lambda a: self.simulator.move_action(g, a),
                {i: ""},
            )

        located = [i for i, place in enumerate(coordinates.places) if place is not None]
        return [turned(i) for i in located if not coordinates.label[i]]

    def _changes(self, option: Redeclaration) -> int:
        declared = self.simulator.symmetry.action.matrices[option.g]
        return len(option.states) + len(option.wrong_actions(declared))

    def mismatch(self, moves: Redeclaration) -> np.ndarray:
        """The scaled mismatch at each probe."""
        coordinates, gaps = self.simulator.coordinates, []
        for k, (start, action) in enumerate(self.probes):
            actual = self._step(k, moves.moved(start), moves.move_action(action)).x
            expected = coordinates.of(moves.moved(self.plain[k].state))
            gaps.append(coordinates.distance(expected, actual, self.scale))
        return np.array(gaps)

    def _step(self, k: int, state: State, action: Any) -> Outcome:
        return self.simulator.outcome(state, action, (k,) if self.stochastic else None)


def _order_of(simulator: Simulator, g: int) -> int:
    power, order = g, 1
    while power != 0:
        power, order = int(simulator.group.mul[power, g]), order + 1
    return order


def _power(move: Move, order: int) -> Move:
    power = move
    for _ in range(order - 1):
        power = power.after(move)
    return power


def _image(move: Move, i: int, names: tuple[str, ...]) -> str:
    sign = "+" if move.state.sign[i] > 0 else "−"
    turn = f" + {move.turns[i]}·π/2" if move.turns[i] else ""
    return f"{sign}{names[int(move.state.source[i])]}{turn}"
