"""A world to first order around a state that symmetries keep."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from nearsym.audits.moves import QUARTER, Entries
from nearsym.audits.world import World
from nearsym.physics.model import physics_of, reference_positions
from nearsym.protocols import State

SMALL = {False: 1e-4, True: 1e-2}
"""By how much entries of the state are changed; more in single precision."""
AT_REST = ("qvel", "ctrl", "qacc_warmstart", "warmstart", "control")
LONG = 4
"""Steps over which the second of two matrices looks."""


@dataclass(frozen=True)
class Linear:
    """The step around a reference state s₀ and the middle of the actions a₀.

        f(s₀ + δ, a₀ + α) ≈ f(s₀, a₀) + J (δ, α)

    A move that keeps s₀ and a₀ and that the world obeys keeps J.
    """

    matrices: list[Float[np.ndarray, "nodes nodes"]]
    """J − 1 over one step and over several, with zeros in the rows of actions: without the 1,
    small effects of one entry on another stand beside small changes of that other."""
    drift: Float[np.ndarray, "entries"]
    """f(s₀, a₀) − s₀."""


class Reference:
    """The state s₀ that moves keep, and the action a₀ in the middle of the box.

    An environment may say what s₀ is (`reference_state()`), and a MuJoCo model knows it. Otherwise
    it is zero in all entries that vary from state to state, and what they are in all others.
    """

    def __init__(self, world: World, entries: Entries, visited: list[State]):
        self.world, self.entries = world, entries
        x = np.array([entries.of(state) for state in visited])
        self.varies = (x != x[0]).any(axis=0) & ~entries.coordinates.label
        told = _told(world, visited[0])
        if told is None:
            told = entries.put(visited[0], np.where(self.varies, 0.0, x[0]))
        else:
            self.varies[:] = True
        self.state: State = told
        self.x = entries.of(self.state)
        space: Any = world.env.action_space
        self.action, self.half = middle_of(space)

    def linear(self, turns: tuple[int, ...]) -> Linear | None:
        """The step around s₀ after quarter turns of its angles; None where it is not finite."""
        state = self.entries.put(self.state, self.x + QUARTER * np.array(turns))
        start, n, m = self.entries.of(state), len(self.entries), len(self.action)
        delta = SMALL[self.entries.coordinates.rounding > 1e-7]
        matrices = [np.zeros((n + m, n + m)) for _ in range(2)]
        for i in np.flatnonzero(self.varies):
            step = delta * np.eye(n)[i]
            ends = [
                self._run(self.entries.put(state, start + s * step), self.action) for s in (1, -1)
            ]
            self._fill(matrices, int(i), ends, delta)
        for j in range(m):
            push = 0.5 * self.half[j] * np.eye(m)[j]
            ends = [self._run(state, self.action + s * push) for s in (1, -1)]
            self._fill(matrices, n + j, ends, 0.5 * self.half[j])
        drift = self.entries.coordinates.difference(self._run(state, self.action)[0], start)
        finite = all(np.isfinite(m).all() for m in matrices) and np.isfinite(drift).all()
        return Linear(matrices, drift) if finite else None

    def _fill(
        self, matrices: list[np.ndarray], column: int, ends: list[list[np.ndarray]], by: float
    ) -> None:
        for matrix, up, down in zip(matrices, *ends, strict=True):
            gap = self.entries.coordinates.difference(up, down)
            matrix[: len(gap), column] = gap / (2 * by)
            if column < len(gap):
                matrix[column, column] -= 1.0

    def _run(self, state: State, action: np.ndarray) -> list[np.ndarray]:
        """The entries after one step and after `LONG`, under one action."""
        typed, ends = action.astype(self.world.env.action_space.dtype), []
        for step in range(LONG):
            outcome = self.world.outcome(state, typed)
            state = outcome.state
            if step in (0, LONG - 1):
                ends.append(self.entries.of(state))
        return ends


def _told(world: World, state: State) -> State | None:
    """The reference state that the environment or its MuJoCo model names."""
    own, physics = getattr(world.states, "reference_state", None), physics_of(world.env)
    if own is not None:
        return own()
    if physics is None or np.shape(state.get("qpos", ())) != (physics[0].nq,):
        return None
    at_rest = {key: np.zeros_like(value) for key, value in state.items() if key in AT_REST}
    return {**state, **at_rest, "qpos": reference_positions(physics[0])}


def middle_of(space: gym.spaces.Box) -> tuple[np.ndarray, np.ndarray]:
    """The middle of a box and half its sides; 0 and 1 where it has no end."""
    low, high = space.low.astype(float), space.high.astype(float)
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        middle, half = (low + high) / 2, (high - low) / 2
    return np.where(bounded, middle, 0.0), np.where(bounded, half, 1.0)
