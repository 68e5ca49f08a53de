"""How states of a MuJoCo model move, from how observations and actions are declared to.

The observation h(q, v) of a state and its image must agree: h(P(q, v)) = O h(q, v). Around the
reference state that is H P = O H for the derivative H of h, and where h shows all positions or all
velocities of a joint it has one solution P. Where the declaration cannot be right (a joint's
position and its velocity would move differently), the model is asked instead: of the moves that
its dynamics obey, the one nearest to the declaration is taken, and the audit names the rest.
"""

from typing import Any, cast

import gymnasium as gym
import numpy as np

from nearsym.audits.candidates import find_candidates, quarter_turns
from nearsym.audits.linear import SMALL
from nearsym.audits.moves import QUARTER, Entries, Move, still
from nearsym.audits.offers import declared_symmetry, missing_methods, symmetric_layer
from nearsym.audits.policies import draw_action
from nearsym.audits.world import World
from nearsym.errors import UsageError
from nearsym.groups.representation import Representation
from nearsym.physics.anywhere import check_set_state
from nearsym.physics.model import physics_of, velocity_partners
from nearsym.physics.signed import SignedPermutation, of_matrix
from nearsym.physics.states import ModelStates
from nearsym.protocols import State, reset, step

STATES = 12
"""States at which an inferred move is checked."""


class Moved(gym.Wrapper):
    """An environment whose states move by signed permutations, one for each group element."""

    def __init__(self, env: gym.Env, entries: Entries, moves: list[Move]):
        super().__init__(env)
        self.entries, self.moves = entries, moves

    def transform(self, g: int, state: State) -> dict[str, np.ndarray]:
        """g·s."""
        return self.entries.moved(self.moves[g], state)


def with_transform(env: gym.Env) -> gym.Env:
    """The environment with `get_state`, `set_state` and `transform`, if it runs on MuJoCo and has
    none of its own; any other as it is."""
    check_set_state(env)
    missing = missing_methods(env)
    if not missing or physics_of(env) is None or missing == ["transform"]:
        return env
    if "transform" not in missing:  # it knows positions and velocities, not what MuJoCo adds
        return ModelStates(env, repeat_last=False)
    states = ModelStates(env)
    return Moved(states, *Inference(states).moves())


class Inference:
    """The search for the moves of one environment's states."""

    def __init__(self, env: ModelStates):
        self.symmetry = declared_symmetry(env)
        self.world = World(env, symmetric_layer(env))
        self.model_states = env
        self.visited = visit(self.world, STATES)
        self.entries = Entries(self.world, self.visited[0])
        self.reference = env.reference_state()
        self.x = self.entries.of(self.reference)

    def moves(self) -> tuple[Entries, list[Move]]:
        """One move for each element of the group."""
        order, actions = self.symmetry.group.order, self.symmetry.action.size
        found = [self._by_observation(g) for g in range(1, order)]
        if any(move is None for move in found):
            nearest = Nearest(self.world, self.visited, self.symmetry)
            found = [move or nearest.to(g) for g, move in enumerate(found, start=1)]
        return self.entries, [still(len(self.entries), actions), *cast(list[Move], found)]

    def _by_observation(self, g: int) -> Move | None:
        """The move that shows what is declared to be shown, at every state."""
        if not self.world.observes or not isinstance(self.symmetry.observation, Representation):
            return None
        declared = self.symmetry.observation.matrices[g]
        action = of_matrix(self.symmetry.action.matrices[g])
        before = self._derivative(self.x)
        for turns in quarter_turns(self.entries, np.ones(len(self.entries), dtype=bool)):
            after = self._derivative(self.x + QUARTER * np.array(turns))
            state = self._completed(np.linalg.pinv(after) @ declared @ before, before)
            if state is None or action is None:
                continue
            move = Move(state, turns, action)
            if all(self._shows(move, declared, s) for s in self.visited):
                return move
        return None

    def _derivative(self, x: np.ndarray) -> np.ndarray:
        """∂h/∂x by central differences."""
        delta, columns = SMALL[False], []
        for i in range(len(x)):
            step = delta * np.eye(len(x))[i]
            up, down = (self._seen(self.entries.put(self.reference, x + s * step)) for s in (1, -1))
            columns.append((up - down) / (2 * delta))
        return np.stack(columns, axis=1)

    def _completed(self, matrix: np.ndarray, shown: np.ndarray) -> SignedPermutation | None:
        """What is shown, with hidden positions moved as their velocities and the reverse; None
        where what is shown of the two disagrees."""
        matrix = matrix.copy()
        visible = np.abs(shown).max(axis=0) > 1e-6
        hidden = ~visible
        matrix[hidden], matrix[:, hidden] = 0.0, 0.0
        partners = velocity_partners(self.model_states.places)
        for at, partner in partners.items():
            for other, source_of in partners.items():
                one, two = (at, other), (partner, source_of)
                if visible[at] and visible[partner]:
                    if abs(matrix[one] - matrix[two]) > 1e-4:
                        return None
                elif visible[partner]:
                    matrix[one] = matrix[two]
                else:
                    matrix[two] = matrix[one]
        for at in map(int, np.flatnonzero(hidden)):
            if not np.abs(matrix[at]).any():
                matrix[at, at] = 1.0  # the first entry of a quaternion, which no isometry changes
        return of_matrix(matrix, 1e-4)

    def _shows(self, move: Move, declared: np.ndarray, state: State) -> bool:
        expected = declared @ self._seen(state)
        actual = self._seen(self.entries.moved(move, state))
        return bool(np.allclose(expected, actual, rtol=1e-5, atol=1e-6))

    def _seen(self, state: State) -> np.ndarray:
        return np.asarray(self.world.observe(state), dtype=float)


class Nearest:
    """Moves that a world obeys to first order, by how near they are to a declaration."""

    def __init__(self, world: World, visited: list[State], symmetry: Any):
        self.world, self.visited, self.symmetry = world, visited, symmetry
        found = find_candidates(world, visited)
        self.entries, self.moves = found.entries, found.moves

    def to(self, g: int) -> Move:
        """The one that contradicts the fewest entries of what is declared of element g."""
        others = [move for move in self.moves if move.changes]
        if not others:
            raise UsageError(
                f"{type(self.world.env.unwrapped).__name__}: how {self.symmetry.group.elements[g]} "
                "moves states could not be told from its observations, nor from its MuJoCo model. "
                "Give a transform: nearsym.Declared(env, symmetry, transform)."
            )
        return min(others, key=lambda move: self._contradictions(move, g))

    def _contradictions(self, move: Move, g: int) -> int:
        action = self.symmetry.action.matrices[g]
        wrong = int((move.action.matrix != action).any(axis=1).sum())
        act = self.symmetry.observation
        if not self.world.observes or not isinstance(act, Representation):
            return wrong
        off = np.zeros(act.size, dtype=bool)
        for state in self.visited:
            expected = act.act(g, np.asarray(self.world.observe(state), dtype=float))
            actual = np.asarray(self.world.observe(self.entries.moved(move, state)), dtype=float)
            off |= ~np.isclose(expected, actual, rtol=1e-5, atol=1e-6)
        return wrong + int(off.sum())


def visit(world: World, count: int, seed: int = 0, steps: int = 25) -> list[State]:
    """States of `count` short episodes under random actions, one from each."""
    rng, states = np.random.default_rng(seed), []
    for word in rng.integers(2**31, size=count):
        reset(world.env, seed=int(word))
        for _ in range(int(rng.integers(1, steps))):
            state = world.state()
            action = draw_action(world.env.action_space, rng)
            _, _, terminated, truncated, _ = step(world.env, action)
            if terminated or truncated:
                break
        states.append(state)
    return states
