"""Signs that a declaration got wrong: in the action, in the state, in the observation.

A wrong sign makes an element fail at almost every state, and turning that one sign puts it right.
A broken symmetry does neither: it fails in some places, or no sign helps.
"""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from nearsym.audits.observations import NOT_COMPARED, observation_pairs
from nearsym.audits.pairs import Pairs
from nearsym.audits.simulator import Outcome, Simulator
from nearsym.protocols import State

NOWHERE = 0.01
"""An element that holds at more of the samples than this has no wrong sign in the dynamics."""
EXPLAINED = 0.4
"""Share of the effect of an action entry that turning its sign must save: 1 for a wrong sign beside
a mild break, about ½ where the world repeats actions, 0 where the response is no mirror image at
all, −1 for a right sign."""
REPAIRED = 0.1
"""What may remain of the mismatch after turning the sign of a state entry."""


@dataclass(frozen=True)
class Mistake:
    """One entry whose declared sign contradicts the environment."""

    part: str
    """"action", "state" or "observation"."""
    index: int
    name: str
    elements: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        elements = list(self.elements)
        return {"part": self.part, "index": self.index, "name": self.name, "elements": elements}


def find_mistakes(
    simulator: Simulator,
    pairs: Pairs,
    scale: Float[np.ndarray, "coordinates"],
    holds: Float[np.ndarray, "elements"],
) -> tuple[list[Mistake], list[str]]:
    """The wrong signs, and notes on what could not be checked.

    `holds` is the share of the samples at which each element (without e) holds.
    """
    found: dict[tuple[str, int], list[int]] = {}
    failing = [g for g in range(1, simulator.group.order) if holds[g - 1] <= NOWHERE]
    if failing:
        prober = _Prober(simulator, pairs, scale)
        for g in failing:
            key = prober.wrong_sign(g)
            if key is not None:
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
    elements = simulator.group.elements
    return [
        Mistake(part, i, _name(simulator, part, i), tuple(elements[g] for g in gs))
        for (part, i), gs in found.items()
    ], notes


class _Prober:
    """Steps from the probes, as declared and with one sign turned."""

    def __init__(self, simulator: Simulator, pairs: Pairs, scale: np.ndarray):
        self.simulator, self.scale = simulator, scale
        self.probes, self.stochastic = pairs.probes, pairs.stochastic
        self.plain = [self._step(k, state, action) for k, (state, action) in enumerate(self.probes)]
        self.effects: dict[int, float] = {}

    def wrong_sign(self, g: int) -> tuple[str, int] | None:
        """The sign, of an action or a state entry, that explains why g fails.

        First one that makes g hold, then one that explains most of it: beside a mild break no sign
        repairs everything, but turning the right one saves what the action entry does.
        """
        declared = self.mismatch(g)
        actions = {
            ("action", i): self.mismatch(g, action=i) for i in _action_entries(self.simulator)
        }
        states = {("state", i): self.mismatch(g, state=i) for i in self._state_entries()}
        rounding = self.simulator.coordinates.rounding
        for key, turned in (actions | states).items():
            if np.mean(turned <= rounding) >= 0.5:
                return key
        for (_, i), turned in actions.items():
            saved = declared**2 - turned**2
            sure = saved.mean() > 3 * saved.std() / np.sqrt(len(saved))
            if sure and saved.mean() >= EXPLAINED * self.effect(i):
                return "action", i
        for key, turned in states.items():
            if turned.mean() <= REPAIRED * declared.mean():
                return key
        return None

    def _state_entries(self) -> list[int]:
        """Entries of the state whose sign can be turned."""
        coordinates = self.simulator.coordinates
        return [
            i
            for i, place in enumerate(coordinates.places)
            if place is not None and not coordinates.label[i] and not self.stochastic
        ]

    def mismatch(
        self, g: int, *, action: int | None = None, state: int | None = None
    ) -> np.ndarray:
        """The scaled mismatch at each probe.

        Turning entry i of the state means moving states by F·g instead of g, where F negates it.
        """
        coordinates, gaps = self.simulator.coordinates, []

        def moved(s: State) -> State:
            image = self.simulator.moved(g, s)
            return image if state is None else coordinates.flipped(image, state)

        for k, (start, act) in enumerate(self.probes):
            image_action = self.simulator.move_action(g, act)
            if action is not None:
                image_action = _negated(image_action, action)
            actual = self._step(k, moved(start), image_action).x
            expected = coordinates.of(moved(self.plain[k].state))
            gaps.append(coordinates.distance(expected, actual, self.scale))
        return np.array(gaps)

    def effect(self, i: int) -> float:
        """Mean square of what turning the sign of action entry i does to the next state."""
        if i not in self.effects:
            turned = [self._step(k, s, _negated(a, i)).x for k, (s, a) in enumerate(self.probes)]
            x = np.array([o.x for o in self.plain])
            gaps = self.simulator.coordinates.distance(x, np.array(turned), self.scale)
            self.effects[i] = float((gaps**2).mean())
        return self.effects[i]

    def _step(self, k: int, state: State, action: Any) -> Outcome:
        return self.simulator.outcome(state, action, (k,) if self.stochastic else None)


def _action_entries(simulator: Simulator) -> range:
    space = simulator.env.action_space
    symmetric = isinstance(space, gym.spaces.Box) and np.array_equal(space.low, -space.high)
    return range(simulator.symmetry.action.size if symmetric else 0)


def _negated(action: np.ndarray, i: int) -> np.ndarray:
    changed = np.array(action, copy=True)
    changed[..., i] *= -1
    return changed


def _name(simulator: Simulator, part: str, i: int) -> str:
    if part == "state":
        return simulator.coordinates.names[i]
    if part == "observation" and i < len(simulator.observation_names):
        return f"observation[{i}] ({simulator.observation_names[i]})"
    return f"{part}[{i}]"
