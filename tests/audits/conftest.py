"""Small environments with known truths for the audit to find."""

import gymnasium as gym
import numpy as np
import pytest

from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import from_matrices, plane_of
from nearsym.groups.symmetry import Symmetry


class LinearWorld(gym.Env):
    """x' = A x + B a, made D2-equivariant, then broken on purpose.

    The state is a position and a velocity in the plane, both moved by `plane`. `inside(x)` says
    where actions act reversed, `drift` is added to every step. `declared` may lie about the signs.
    """

    def __init__(
        self, seed=0, inside=None, drift=0.0, declared=None, told=None, length=40, dtype=np.float64
    ):
        rng = np.random.default_rng(seed)
        self.group = dihedral(2)
        self.plane = plane_of(self.group)
        self.rho = 2 * self.plane
        self.A = self._even(rng.normal(size=(4, 4)), self.rho)
        self.A *= 0.9 / np.abs(np.linalg.eigvals(self.A)).max()
        self.B = self._even(rng.normal(size=(4, 2)), self.plane)
        self.B *= 0.3 / np.abs(self.B).max()
        self.inside, self.drift = inside, np.broadcast_to(drift, (4,))
        self.symmetry = declared or Symmetry(self.rho, self.plane)
        self.moves = told or self.rho
        self.length, self.dtype = length, dtype
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)

    def _even(self, matrix, right):
        out, back = self.rho.matrices, self.group.inverse
        moved = [out[g] @ matrix @ right.matrices[back[g]] for g in range(self.group.order)]
        return np.mean(moved, axis=0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 1, 4).astype(self.dtype)
        self.steps = 0
        return self.x.copy(), {}

    def step(self, action):
        action = np.asarray(action, float)
        if self.inside is not None and self.inside(self.x):
            action = -action
        self.x = (self.A @ self.x + self.B @ action + self.drift).astype(self.dtype)
        self.steps += 1
        return self.x.copy(), -float(self.x @ self.x), False, self.steps >= self.length, {}

    def get_state(self):
        return {"x": self.x.copy(), "steps": np.array(self.steps)}

    def set_state(self, state):
        self.x, self.steps = np.array(state["x"]), int(state["steps"])

    def transform(self, g, state):
        return {**state, "x": self.moves.act(g, np.asarray(state["x"]))}


class TableWorld(gym.Env):
    """A finite MDP with a group action as a simulator: labels for states, observations, actions."""

    def __init__(self, mdp, action, length=10):
        self.mdp, self.moves, self.length = mdp, action, length
        states, actions = mdp.rewards.shape
        self.symmetry = Symmetry(
            _permutation(action.group, action.states), _permutation(action.group, action.actions)
        )
        self.observation_space = gym.spaces.Discrete(states)
        self.action_space = gym.spaces.Discrete(actions)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s, self.steps = int(self.np_random.integers(self.observation_space.n)), 0
        return self.s, {}

    def step(self, action):
        reward = self.mdp.rewards[self.s, action]
        law = self.mdp.transitions[self.s, action]
        if law.max() == 1.0:  # certain: no random number is drawn
            self.s = int(law.argmax())
        else:
            self.s = min(int(np.searchsorted(law.cumsum(), self.np_random.random())), len(law) - 1)
        self.steps += 1
        return self.s, float(reward), False, self.steps >= self.length, {}

    def get_state(self):
        return {"s": np.array(self.s), "steps": np.array(self.steps)}

    def set_state(self, state):
        self.s, self.steps = int(state["s"]), int(state["steps"])

    def transform(self, g, state):
        return {**state, "s": self.moves.states[g, int(state["s"])]}


def _permutation(group, moves):
    size = moves.shape[1]
    matrices = np.zeros((group.order, size, size))
    for g, move in enumerate(moves):
        matrices[g, move, np.arange(size)] = 1.0
    return from_matrices(group, matrices, "labels")


@pytest.fixture
def linear_world():
    return LinearWorld


@pytest.fixture
def table_world():
    return TableWorld
