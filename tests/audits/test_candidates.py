"""Moves that keep a world to first order, against exhaustive search."""

from itertools import permutations, product

import gymnasium as gym
import numpy as np
import pytest

from nearsym.audits.automorphisms import EXACTLY, Matcher
from nearsym.audits.candidates import find_candidates
from nearsym.audits.inferred import visit
from nearsym.audits.moves import Move, still
from nearsym.audits.world import World
from nearsym.physics.anywhere import with_states
from nearsym.physics.signed import SignedPermutation, identity, of_matrix


def all_signed(n):
    for source in permutations(range(n)):
        for signs in product((1.0, -1.0), repeat=n):
            yield SignedPermutation(np.array(source), np.array(signs))


def keys(found):
    return sorted((tuple(p.source), tuple(p.sign)) for p in found)


@pytest.mark.parametrize("seed", range(6))
def test_the_matcher_finds_what_exhaustive_search_finds(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(4, 4)) * (rng.random((4, 4)) < 0.6)
    p = list(all_signed(4))[int(rng.integers(384))].matrix
    matrix = matrix + p @ matrix @ p.T if seed % 2 else matrix
    expected = [q for q in all_signed(4) if np.allclose(matrix @ q.matrix, q.matrix @ matrix)]
    matcher = Matcher([matrix], [matrix], np.ones((4, 4, 2), dtype=bool), EXACTLY)
    assert keys(matcher.solutions()) == keys(expected)
    assert matcher.complete


def test_moves_multiply_as_functions_do():
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, two = (_random_move(rng) for _ in range(2))
        x = rng.normal(size=3)
        apart = one.after(two)(x) - one(two(x))
        assert np.allclose(np.mod(apart + 1e-9, 2 * np.pi), 1e-9)
        assert np.array_equal(one.after(two).action(x), one.action(two.action(x)))
    assert still(3, 3).changes == 0


def _random_move(rng):
    def signed():
        return SignedPermutation(rng.permutation(3), rng.choice([-1.0, 1.0], 3))

    return Move(signed(), tuple(int(t) for t in rng.integers(4, size=3)), signed())


def test_matrices_and_signed_permutations_are_the_same():
    for p in all_signed(3):
        again = of_matrix(p.matrix)
        assert keys([again]) == keys([p])
        assert np.array_equal(p.matrix @ np.arange(3.0), p(np.arange(3.0)))
    assert identity(3).is_identity
    assert of_matrix(np.full((2, 2), 0.5)) is None


@pytest.mark.parametrize(
    ("name", "count"),
    [("Pendulum-v1", 2), ("MountainCarContinuous-v0", 1), ("Walker2d-v5", 2), ("Hopper-v5", 1)],
)
def test_known_worlds(name, count):
    env = with_states(gym.make(name))
    world = World(env, env)
    found = find_candidates(world, visit(world, 6))
    assert len(found.moves) == count
    assert found.moves[0].changes == 0


def test_discrete_actions_have_no_signs():
    env = with_states(gym.make("CartPole-v1"))
    world = World(env, env)
    assert find_candidates(world, visit(world, 3)).moves == []
