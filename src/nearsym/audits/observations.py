"""Whether observations move as declared: g·obs(s) beside obs(g·s), apart from the dynamics."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

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

    def wrong_entries(self) -> list[int]:
        """Entries that move otherwise than declared."""
        gap = np.abs(self.declared - self.actual).mean(axis=0)
        spread = np.abs(self.actual - np.median(self.actual, axis=0)).mean(axis=0)
        size = np.abs(self.actual).mean(axis=0)
        unit = np.where(spread > 1e-9 * size, spread, np.where(size > 0, size, 1.0))
        wrong = gap > OFF * unit
        if not self.same:
            wrong &= np.abs(self.declared + self.actual).mean(axis=0) < gap / 3
        return [int(i) for i in np.flatnonzero(wrong)]


def observation_pairs(
    simulator: Simulator,
    probes: list[tuple[State, Any]],
    scale: Float[np.ndarray, "coordinates"],
    g: int,
    stochastic: bool,
) -> ObservationPairs | None:
    """The pairs for element g; None where the dynamics differ too much to compare anything.

    An environment with `observe()` is asked directly. Otherwise the observations after a step from
    s and from g·s serve, where these lead to the same states, or else to close ones.
    """
    picture = len(simulator.env.observation_space.shape or ()) == 3
    probes = probes[:: 6 if picture else 1]
    if simulator.observe(probes[0][0]) is not None:
        two = [
            (simulator.move_observation(g, _seen(simulator, s)), _seen(simulator, moved))
            for s, moved in ((s, simulator.moved(g, s)) for s, _ in probes)
        ]
        return _pairs(two, picture, directly=True, same=True)
    stepped = [
        _after_step(simulator, s, a, scale, g, (k,) if stochastic else None)
        for k, (s, a) in enumerate(probes)
    ]
    for limit in (simulator.coordinates.rounding, CLOSE):
        two = [(declared, actual) for apart, declared, actual in stepped if apart <= limit]
        if len(two) >= FEW:
            return _pairs(two, picture, directly=False, same=limit < CLOSE)
    return None


def _after_step(
    simulator: Simulator, state: State, action: Any, scale: np.ndarray, g: int, draw: Any
) -> tuple[float, np.ndarray, np.ndarray]:
    """How far the two next states are apart, and their observations."""
    plain = simulator.outcome(state, action, draw)
    image = simulator.outcome(simulator.moved(g, state), simulator.move_action(g, action), draw)
    expected = simulator.coordinates.of(simulator.moved(g, plain.state))
    apart = float(simulator.coordinates.distance(expected, image.x, scale))
    return apart, simulator.move_observation(g, plain.obs), image.obs


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
