"""Random affine systems against exhaustive search over signed permutations."""

from itertools import permutations, product

import gymnasium as gym
import numpy as np
import pytest

from nearsym.discovery.search import discover


def all_signed(n):
    return [
        np.diag(signs) @ np.eye(n)[list(order)]
        for order in permutations(range(n))
        for signs in product((1.0, -1.0), repeat=n)
    ]


def closure(pairs):
    """The group that pairs of matrices generate, as pairs."""
    n, m = len(pairs[0][0]), len(pairs[0][1])
    found = [(np.eye(n), np.eye(m))]
    fresh = list(found)
    while fresh:
        known = {_key(pair) for pair in found}
        products = [(p @ q, r @ s) for p, r in fresh for q, s in pairs]
        fresh = list({_key(pair): pair for pair in products if _key(pair) not in known}.values())
        found += fresh
    return found


def _key(pair):
    return tuple(np.concatenate([np.ravel(part) for part in pair]).round().astype(int).tolist())


class Affine(gym.Env):
    """x' = A x + B u + c with a reward that is not even, all symmetric under a planted group."""

    def __init__(self, seed, *, planted):
        rng = np.random.default_rng(seed)
        self.n, self.m = int(rng.integers(2, 6)), int(rng.integers(1, 3))
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (self.n,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (self.m,), np.float64)
        states, actions = all_signed(self.n), all_signed(self.m)
        generators = [(states[rng.integers(len(states))], actions[rng.integers(len(actions))])]
        group = closure(generators) if planted else closure([(np.eye(self.n), np.eye(self.m))])
        A, B = rng.normal(size=(self.n, self.n)), rng.normal(size=(self.n, self.m))
        self.A = np.mean([p @ A @ p.T for p, _ in group], axis=0)
        self.A *= 0.9 / max(np.abs(np.linalg.eigvals(self.A)).max(), 1e-9)
        self.B = np.mean([p @ B @ q.T for p, q in group], axis=0)
        self.c = np.mean([p @ (0.1 * rng.normal(size=self.n)) for p, _ in group], axis=0)
        self.c = np.mean([p @ self.c for p, _ in group], axis=0)
        self.w, self.group = rng.normal(size=self.n), group

    def reward(self, x, u):
        return float(np.mean([np.exp(0.2 * self.w @ (p @ x)) for p, _ in self.group]) - 0.1 * u @ u)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps = self.np_random.uniform(-1, 1, self.n), 0
        return self.x.copy(), {}

    def step(self, action):
        reward = self.reward(self.x, np.asarray(action))
        self.x = self.A @ self.x + self.B @ action + self.c
        self.steps += 1
        return self.x.copy(), reward, False, self.steps >= 20, {}

    def get_state(self):
        return {"x": self.x.copy(), "steps": np.array(self.steps)}

    def set_state(self, state):
        self.x, self.steps = np.array(state["x"]), int(state["steps"])

    def exhaustive(self):
        """Every pair of signed permutations that the system obeys, but the identity."""
        rng = np.random.default_rng(0)
        x, u = rng.normal(size=(5, self.n)), rng.uniform(-1, 1, (5, self.m))
        found, pairs = set(), list(zip(x, u, strict=True))
        for p in all_signed(self.n):
            if not (np.allclose(p @ self.A, self.A @ p) and np.allclose(p @ self.c, self.c)):
                continue
            if not all(np.isclose(self.reward(p @ a, b), self.reward(a, b)) for a, b in pairs):
                continue
            found |= {
                _key((p, q)) for q in all_signed(self.m) if np.allclose(p @ self.B, self.B @ q)
            }
        return found - {_key((np.eye(self.n), np.eye(self.m)))}


def found_in(env):
    found = discover(env, samples=100)
    return {
        _key((e.element.move.state.matrix, e.element.move.action.matrix))
        for e in found.elements
        if e.exact
    }


QUICK, MORE = (1, 2, 4, 8), pytest.mark.slow
SEEDS = [seed if seed in QUICK else pytest.param(seed, marks=MORE) for seed in range(20)]


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_groups(seed):
    env = Affine(seed, planted=True)
    assert found_in(env) == env.exhaustive()


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_group(seed):
    env = Affine(20 + seed, planted=False)
    expected = env.exhaustive()
    assert found_in(env) == expected == set()


class Scrambled(gym.Wrapper):
    """Another person's order and signs of the state, the observation and the action."""

    def __init__(self, env, seed):
        super().__init__(env)
        rng = np.random.default_rng(seed)
        self.p, self.q = (
            np.diag(rng.choice([-1.0, 1.0], n)) @ np.eye(n)[rng.permutation(n)]
            for n in (env.n, env.m)
        )

    def reset(self, **options):
        obs, info = self.env.reset(**options)
        return self.p @ obs, info

    def step(self, action):
        obs, *rest = self.env.step(self.q.T @ action)
        return self.p @ obs, *rest

    def get_state(self):
        state = self.env.get_state()
        return state | {"x": self.p @ state["x"]}

    def set_state(self, state):
        self.env.set_state(dict(state) | {"x": self.p.T @ state["x"]})


@pytest.mark.parametrize("seed", [1, 2])
def test_a_change_of_coordinates_changes_the_group_with_it(seed):
    env = Affine(seed, planted=True)
    scrambled = Scrambled(env, seed)
    p, q = scrambled.p, scrambled.q
    plain = discover(env, samples=100)
    expected = {
        _key((p @ e.element.move.state.matrix @ p.T, q @ e.element.move.action.matrix @ q.T))
        for e in plain.elements
        if e.exact
    }
    assert found_in(scrambled) == expected
