"""Whether observations move as declared: g·obs(s) beside obs(g·s), apart from the dynamics."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from nearsym.audits.redeclared import Redeclaration
from nearsym.audits.simulator import Simulator
from nearsym.protocols import State

OFF = 0.5
"""Mismatch of an observation entry, in parts of its spread, that is no small break."""
CLOSE = 0.1
"""Scaled mismatch of next states up to which their observations can be compared at all."""
FEW = 5
NOT_COMPARED = (
    "Observations could not be compared apart from the dynamics, which differ everywhere; "
    "give the environment a method observe()."
)


@dataclass(frozen=True)
class ObservationPairs:
    """Observations of the same states, moved as declared and as they are."""

    declared: Float[np.ndarray, "samples entries"]
    actual: Float[np.ndarray, "samples entries"]
    directly: bool
    """Whether the environment could be asked, without a step in between."""
    same: bool
    """Whether the states are equal; else they are close, and only a wrong sign can be told."""

    def wrong_entries(self, *, broken: bool) -> list[int]:
        """Entries that move otherwise than declared.

        Where the dynamics are `broken`, so is what depends on them (contact forces do): there an
        entry is wrong only if another one, with either sign, is what it shows.
        """
        gap = np.abs(self.declared - self.actual).mean(axis=0)
        spread = np.abs(self.actual - np.median(self.actual, axis=0)).mean(axis=0)
        size = np.abs(self.actual).mean(axis=0)
        unit = np.where(spread > 1e-9 * size, spread, np.where(size > 0, size, 1.0))
        wrong = gap > OFF * unit
        if not self.same:
            wrong &= np.abs(self.declared + self.actual).mean(axis=0) < gap / 3
        if broken and self.directly:
            wrong &= self._explained(gap, wrong)
        return [int(i) for i in np.flatnonzero(wrong)]

    def _explained(self, gap: np.ndarray, wrong: np.ndarray) -> np.ndarray:
        """Which of the wrong entries are ± some other entry that was declared elsewhere."""
        explained = np.zeros(len(gap), dtype=bool)
        for i in np.flatnonzero(wrong):
            actual = self.actual[:, i, None]
            plus, minus = (np.abs(actual - s * self.declared).mean(axis=0) for s in (1, -1))
            explained[i] = np.minimum(plus, minus).min() < gap[i] / 3
        return explained


def observation_pairs(
    simulator: Simulator,
    probes: list[tuple[State, Any]],
    scale: Float[np.ndarray, "coordinates"],
    moves: Redeclaration,
    stochastic: bool,
) -> ObservationPairs | None:
    """The pairs for one element; None where the dynamics differ too much to compare anything.

    An environment with `observe()` is asked directly. Otherwise the observations after a step from
    s and from g·s serve, where these lead to the same states, or else to close ones. `moves` says
    how the element moves states and actions: as declared, or as it should.
    """
    picture = len(simulator.env.observation_space.shape or ()) == 3
    probes = probes[:: 6 if picture else 1]
    if simulator.world.observes:
        two = [
            (simulator.move_observation(moves.g, _seen(simulator, s)), _seen(simulator, moved))
            for s, moved in ((s, moves.moved(s)) for s, _ in probes)
        ]
        return _pairs(two, picture, directly=True, same=True)
    stepped = [
        _after_step(simulator, s, a, scale, moves, (k,) if stochastic else None)
        for k, (s, a) in enumerate(probes)
    ]
    for limit in (simulator.coordinates.rounding, CLOSE):
        two = [(declared, actual) for apart, declared, actual in stepped if apart <= limit]
        if len(two) >= FEW:
            return _pairs(two, picture, directly=False, same=limit < CLOSE)
    return None


def untested_entries(pairs: list[ObservationPairs]) -> list[int]:
    """Entries that were the same in every observation, so that how they move was hardly tried."""
    if not pairs:
        return []
    seen = np.concatenate([np.abs(values) for p in pairs for values in (p.declared, p.actual)])
    return [int(i) for i in np.flatnonzero((seen == seen[0]).all(axis=0))]


def check_repeating(simulator: Simulator, probes: list[tuple[State, Any]]) -> list[str]:
    """A note where `observe()` shows something else each time a state is set, and from then on
    observations are compared after steps."""
    world, off = simulator.world, np.zeros(0, dtype=bool)
    if not world.observes:
        return []
    for (state, _), (other, action) in pairwise(probes[:11]):
        first = _seen(simulator, state)
        world.outcome(other, action)
        gap = np.ravel(first != _seen(simulator, state))
        off = gap if not off.size else off | gap
    if not off.any():
        return []
    world.forget_observing()
    return [
        "observe() does not repeat after set_state: the same state shows other values in "
        f"{ranges(np.flatnonzero(off))}, which depend on something that get_state leaves out. "
        "Observations are compared after steps instead."
    ]


def ranges(indices: Any, most: int = 12) -> str:
    """Indices as a person writes them.

    >>> ranges([0, 1, 2, 5])
    'entries 0–2 and 5'
    >>> ranges([3])
    'entry 3'
    """
    runs: list[list[int]] = []
    for i in map(int, indices):
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    said = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    if len(said) > most:
        said = [*said[:most], f"{len(said) - most} more ranges"]
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{'entry' if len(indices) == 1 else 'entries'} {listed}"


def _after_step(
    simulator: Simulator,
    state: State,
    action: Any,
    scale: np.ndarray,
    moves: Redeclaration,
    draw: Any,
) -> tuple[float, np.ndarray, np.ndarray]:
    """How far the two next states are apart, and their observations."""
    plain = simulator.outcome(state, action, draw)
    image = simulator.outcome(moves.moved(state), moves.move_action(action), draw)
    expected = simulator.coordinates.of(moves.moved(plain.state))
    apart = float(simulator.coordinates.distance(expected, image.x, scale))
    return apart, simulator.move_observation(moves.g, plain.obs), image.obs


def _pairs(
    two: list[tuple[np.ndarray, np.ndarray]], picture: bool, *, directly: bool, same: bool
) -> ObservationPairs:
    declared = np.array([pair[0] for pair in two], dtype=float).reshape(len(two), -1)
    actual = np.array([pair[1] for pair in two], dtype=float).reshape(len(two), -1)
    if picture:  # it counts as a whole: the pixels of all pictures are samples of one entry
        declared, actual = declared.reshape(-1, 1), actual.reshape(-1, 1)
    return ObservationPairs(declared, actual, directly=directly, same=same)


def _seen(simulator: Simulator, state: State) -> np.ndarray:
    obs = simulator.observe(state)
    assert obs is not None
    return obs
