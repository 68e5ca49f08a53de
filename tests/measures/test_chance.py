"""Randomisation tests: relabelled elements, exchanged runs, Holm's correction."""

import numpy as np
import pytest

from nearsym.groups.catalog import dihedral
from nearsym.measures.chance import Chance, exchanged, holm, p_value, relabelled, shares_inside
from nearsym.measures.cosets import spread_products

D4 = dihedral(4)
WHOLE, C4, C2 = tuple(range(8)), (0, 1, 2, 3), (0, 2)


def products(seed=0, runs=5):
    w = 1 + 0.1 * np.random.default_rng(seed).normal(size=(runs, 1, 8))
    return spread_products({"one": w}, D4)["one"][None]


def chance(asked, reference=None, draws=2000):
    return Chance(asked, reference, D4, np.random.default_rng(0), draws)


def test_relabelling_starts_as_observed_and_keeps_the_outer_cosets():
    asked, rng = products(), np.random.default_rng(0)
    drawn = relabelled(asked, D4, WHOLE, [C4, C2], rng, 700)
    assert drawn.shape == (701, 1, 2)
    np.testing.assert_allclose(drawn[0], shares_inside(asked, D4, WHOLE, [C4, C2]).mean(1))
    inside = relabelled(asked, D4, C4, [C4, C2], rng, 50)
    np.testing.assert_allclose(inside[:, 0, 0], 0, atol=1e-12)  # C4 explains nothing of its inside
    assert inside[:, 0, 1].std() > 0.01


@pytest.mark.parametrize(("outer", "inner"), [(WHOLE, C4), (WHOLE, C2), (C4, C2)])
def test_what_chance_explains_on_average(outer, inner):
    asked = products()
    drawn = relabelled(asked, D4, outer, [inner], np.random.default_rng(0), 4000)
    assert drawn.mean() == pytest.approx(chance(asked).expected(outer, [inner])[0, 0], abs=0.01)


def test_a_reference_says_what_chance_explains():
    asked, other = products(0), products(1, runs=7)
    against = chance(asked, other)
    expected = shares_inside(other, D4, WHOLE, [C4]).mean()
    assert against.expected(WHOLE, [C4])[0, 0] == pytest.approx(expected)
    assert against.is_large(np.array(0.01))
    assert not chance(asked).is_large(np.array(0.4))


def test_every_exchange_of_few_runs_and_some_of_many():
    rng, runs, others = np.random.default_rng(0), np.array([5.0, 6.0, 7.0]), np.arange(4.0)
    drawn = exchanged(runs, others, rng, 99)
    assert len(drawn) == 35
    assert p_value(drawn) == pytest.approx(1 / 35)
    some = exchanged(runs, others, rng, 20)
    assert len(some) == 21
    assert some[0] == 6.0
    assert p_value(exchanged(np.ones(3), np.ones(3), rng, 99)) == 1


def test_no_spread_is_no_evidence():
    p, _ = chance(np.zeros((1, 5, 8, 8)), draws=99).test(WHOLE, [C4, C2])
    np.testing.assert_array_equal(p, 1)
    p, _ = chance(np.zeros((1, 5, 8, 8)), draws=99).test_any(C4, [C2])
    np.testing.assert_array_equal(p, 1)


def test_holm_by_hand():
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(
        holm(np.array([[0.5, 0.9], [0.001, np.nan]])), [[1, 1], [0.003, np.nan]]
    )
