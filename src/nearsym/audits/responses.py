"""Where the effect of each entry of the action goes: the declaration, asked of the environment.

From a state s, entry j of an action a moves the next state f(s, a) by

    r_j(s) = f(s, a_j e_j) − f(s, 0),

its response. An element g that moves states by g and actions by the matrix A moves responses too:

    g f(s, a_j e_j) − g f(s, 0)   and   f(gs, A a_j e_j) − f(gs, 0)   point the same way.

The action 0 is 0 under every declaration, so what else pushes (wind, gravity) drops out. Only
directions are compared: a motor that is weaker on one side is a broken symmetry, and no other
declaration would mend it. What is left is what a declaration says of the action: which entry takes
the place of which, and with which sign. Where responses come out askew, none is right.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from nearsym.audits.pairs import Pairs
from nearsym.audits.simulator import Simulator
from nearsym.groups.group import FiniteGroup
from nearsym.protocols import State

ALIKE = 0.1
"""Distance up to which two directions, as unit vectors, are the same."""
NOWHERE = 0.01
"""A declaration that is right at more of the states than this is not wrong, but broken."""
FEW = 0.2
"""A declaration that holds at more of the samples than this is broken, and nothing is asked."""
MOSTLY = 0.5
"""Share of the states at which a declaration must be right to be the right one."""
CLEAR = 10.0
"""Size of a response, in units of rounding, from which on it has a direction."""


Matrix = Float[np.ndarray, "n n"]


def right_actions(
    simulator: Simulator,
    pairs: Pairs,
    scale: Float[np.ndarray, "coordinates"],
    holds: Float[np.ndarray, "elements"],
    known: Mapping[int, Matrix],
) -> dict[int, Matrix]:
    """How elements move actions, for those that are declared wrongly.

    Only elements that hold at few of the samples are asked about. Nothing is returned unless the
    corrections, and the declaration of the elements where it is right, are a representation
    together: elements that are broken under every declaration have no say. `known` are corrections
    that were found otherwise.
    """
    elements = range(1, simulator.group.order)
    failing = [g for g in elements if holds[g - 1] <= FEW and g not in known]
    if not failing or not _can_be_asked(simulator):
        return {}
    responses = Responses(simulator, pairs, scale)
    findings = {g: responses.of(g) for g in failing}
    corrected = {g: finding.matrix for g, finding in findings.items() if finding.corrects}
    kept = [g for g, finding in findings.items() if finding.confirms]
    kept += [0, *(g for g in elements if holds[g - 1] >= MOSTLY)]
    declared = simulator.symmetry.action.matrices
    matrices = {g: declared[g] for g in kept} | corrected | dict(known)
    return corrected if _multiply(simulator.group, matrices) else {}


@dataclass(frozen=True)
class Finding:
    """How an element moves actions, as the environment shows it."""

    matrix: Matrix
    """The signed permutation that is right at most states, entry by entry."""
    right: float
    """Share of the states at which it is right for all entries."""
    declared_right: float
    """The same of the matrix that was declared."""

    @property
    def confirms(self) -> bool:
        """The declaration is right."""
        return self.declared_right >= MOSTLY

    @property
    def corrects(self) -> bool:
        """The declaration is wrong and this one is right."""
        permutes = np.array_equal(self.matrix @ self.matrix.T, np.eye(len(self.matrix)))
        return permutes and self.right >= MOSTLY and self.declared_right <= NOWHERE


class Responses:
    """Steps from the probes under single entries of their actions."""

    def __init__(self, simulator: Simulator, pairs: Pairs, scale: Float[np.ndarray, "coordinates"]):
        self.simulator, self.scale, self.stochastic = simulator, scale, pairs.stochastic
        self.states = [state for state, _ in pairs.probes]
        self.actions = [action for _, action in pairs.probes]
        self.entries = range(simulator.symmetry.action.size)
        units = np.eye(len(self.entries))
        self.rest = self.following(self.states, 0 * units)
        self.alone = [self.following(self.states, np.outer(e, e)) for e in units]

    def of(self, g: int) -> Finding:
        """What the responses say about element g."""
        element, declared = _Element(self, g), self.simulator.symmetry.action.matrices[g]
        columns, said, shown = [], [], []
        for j in self.entries:
            column = declared[:, j]
            said.append(element.alike(j, column))
            best, alike = column, said[j]
            if _share([alike]) < MOSTLY:
                options = [(other, element.alike(j, other)) for other in self._columns(j)]
                best, alike = max([(best, alike), *options], key=lambda pair: np.nansum(pair[1]))
            columns.append(best)
            shown.append(alike)
        return Finding(np.stack(columns, axis=1), _share(shown), _share(said))

    def following(self, states: list[State], matrix: Matrix) -> list[State]:
        """The next states, one for each probe, under the probes' actions moved by a matrix."""
        return [
            self.simulator.outcome(
                state, (matrix @ action).astype(action.dtype), (k,) if self.stochastic else None
            ).state
            for k, (state, action) in enumerate(zip(states, self.actions, strict=True))
        ]

    def difference(self, x: list[State], y: list[State]) -> Float[np.ndarray, "probes coordinates"]:
        """x − y, scaled."""
        coordinates = self.simulator.coordinates
        points = (np.array([coordinates.of(state) for state in states]) for states in (x, y))
        return coordinates.difference(*points) / self.scale

    def _columns(self, j: int) -> Iterator[Float[np.ndarray, "n"]]:
        """Where a signed permutation that keeps to the action space can send entry j."""
        high = self.simulator.env.action_space.high
        for i in self.entries:
            if high[i] == high[j]:
                yield np.eye(len(self.entries))[i]
                yield -np.eye(len(self.entries))[i]


class _Element:
    """The responses at g·s beside those at s, moved by g."""

    def __init__(self, responses: Responses, g: int):
        def moved(states: list[State]) -> list[State]:
            return [responses.simulator.moved(g, state) for state in states]

        self.responses, self.states = responses, moved(responses.states)
        units = np.eye(len(responses.entries))
        self.units = units
        self.rest = responses.following(self.states, 0 * units)
        rest = moved(responses.rest)
        self.expected = [responses.difference(moved(alone), rest) for alone in responses.alone]

    def alike(self, j: int, column: Float[np.ndarray, "n"]) -> Float[np.ndarray, "probes"]:
        """Whether the responses to entry j point the same way if it goes to `column`: 1, 0, or NaN
        where it has none."""
        responses, expected = self.responses, self.expected[j]
        following = responses.following(self.states, np.outer(column, self.units[j]))
        actual = responses.difference(following, self.rest)
        sizes = np.linalg.norm([expected, actual], axis=-1, keepdims=True)
        clear = sizes[..., 0] > CLEAR * responses.simulator.coordinates.rounding
        directions = np.array([expected, actual]) / np.where(sizes > 0, sizes, 1.0)
        apart = np.linalg.norm(directions[0] - directions[1], axis=-1)
        return np.where(clear.any(axis=0), (apart <= ALIKE) & clear.all(axis=0), np.nan)


def _can_be_asked(simulator: Simulator) -> bool:
    """Whether actions are vectors and every sign of them can be turned."""
    space = simulator.env.action_space
    return (
        isinstance(space, gym.spaces.Box)
        and space.shape == (simulator.symmetry.action.size,)
        and np.array_equal(space.low, -space.high)
    )


def _multiply(group: FiniteGroup, matrices: dict[int, Matrix]) -> bool:
    """Whether ρ(g)ρ(h) = ρ(gh) wherever all three are known."""
    return all(
        np.allclose(matrices[g] @ matrices[h], matrices[int(group.mul[g, h])], atol=1e-8)
        for g in matrices
        for h in matrices
        if int(group.mul[g, h]) in matrices
    )


def _share(alike: list[Float[np.ndarray, "probes"]]) -> float:
    """Share of the probes with a response at which every entry that has one is right."""
    seen = ~np.isnan(alike).all(axis=0)
    right = (np.nan_to_num(alike, nan=1.0) == 1).all(axis=0)
    return float(right[seen].mean()) if seen.any() else 1.0
