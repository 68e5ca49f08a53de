"""Finite groups: the axioms, names, subgroups and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError, shown
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.groups.group import FiniteGroup

simple = st.one_of(
    st.just(trivial()), st.integers(1, 9).map(cyclic), st.integers(1, 6).map(dihedral)
)
groups = st.one_of(simple, st.tuples(simple, simple).map(lambda pair: product(*pair)))


@given(group=groups, data=st.data())
def test_axioms(group, data):
    element = st.integers(0, group.order - 1)
    g, h, k = data.draw(element), data.draw(element), data.draw(element)
    mul = group.mul
    assert mul[mul[g, h], k] == mul[g, mul[h, k]]
    assert mul[0, g] == mul[g, 0] == g
    assert mul[g, group.inverse[g]] == mul[group.inverse[g], g] == 0
    assert group.relative[g, h] == mul[group.inverse[g], h]
    assert len(set(group.elements)) == group.order
    assert group.index(group.elements[g]) == g


@given(group=simple)
def test_the_plane_moves_like_the_elements(group):
    products = np.einsum("gij,hjk->ghik", group.plane, group.plane)
    np.testing.assert_allclose(products, group.plane[group.mul], atol=1e-12)
    np.testing.assert_allclose(np.abs(np.linalg.det(group.plane)), 1.0)
    assert len(np.unique(group.plane.round(9), axis=0)) == group.order


@given(group=groups, data=st.data())
def test_cosets_divide_the_group(group, data):
    generators = data.draw(st.lists(st.integers(0, group.order - 1), max_size=2))
    kept = group.subgroup(generators)
    assert {0, *generators} <= set(kept)
    assert {int(group.mul[a, b]) for a in kept for b in kept} == set(kept)
    cosets = group.right_cosets(kept)
    assert cosets[0] == kept
    assert sorted(h for coset in cosets for h in coset) == list(range(group.order))
    for coset in cosets:
        assert {int(group.mul[k, coset[0]]) for k in kept} == set(coset)


def test_the_groups_of_the_paper_by_name():
    assert dihedral(1).elements == ("e", "mirror_x")
    assert dihedral(2).elements == ("e", "rot180", "mirror_x", "mirror_y")
    d2 = dihedral(2)
    np.testing.assert_array_equal(d2.plane[d2.index("mirror_x")], np.diag([-1.0, 1.0]))
    np.testing.assert_array_equal(d2.plane[d2.index("mirror_y")], np.diag([1.0, -1.0]))
    assert dihedral(4).elements[:4] == cyclic(4).elements
    assert product(cyclic(2), cyclic(3)).order == 6
    assert product(cyclic(2), cyclic(3)).plane is None
    assert repr(product(cyclic(2), dihedral(1))) == "C2×D1"


def test_equality_is_by_content():
    assert dihedral(2) == dihedral(2)
    assert hash(dihedral(2)) == hash(dihedral(2))
    assert cyclic(2) != dihedral(1)
    assert len({dihedral(2), dihedral(2), cyclic(4)}) == 2


def test_unknown_elements_get_the_nearest_name():
    with pytest.raises(UsageError, match=r"Unknown element of D1 'mirorx'. Did you mean 'mirror_x"):
        dihedral(1).index("mirorx")


@pytest.mark.parametrize(
    ("elements", "table", "text"),
    [
        (["e", "e"], [[0, 1], [1, 0]], r"elements need distinct names"),
        (["e", "a"], [[0, 1]], r"must be 2×2 with entries 0…1, got shape \(1, 2\)"),
        (["e", "a"], [[0, 1], [1, 2]], r"must be 2×2 with entries 0…1"),
        (["a", "e"], [[1, 0], [0, 1]], r"element 0 \('a'\) must be the identity"),
        (["e", "a"], [[0, 1], [1, 1]], r"an element appears twice in a row"),
        (
            ["e", *"abcd"],
            [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]],
            r"not associative",
        ),
    ],
)
def test_tables_that_are_no_group_are_refused(elements, table, text):
    with pytest.raises(UsageError, match=text):
        FiniteGroup("broken", elements, table)


def test_wrong_plane_actions_are_refused():
    table = [[0, 1], [1, 0]]
    with pytest.raises(UsageError, match=r"one 2×2 matrix for each of 2 elements, got shape \(1"):
        FiniteGroup("broken", ["e", "a"], table, np.eye(2)[None])
    with pytest.raises(UsageError, match=r"do not multiply like the elements"):
        FiniteGroup("broken", ["e", "a"], table, np.stack([np.eye(2), 2 * np.eye(2)]))
    skew = np.array([[1.0, 1.0], [0.0, -1.0]])
    with pytest.raises(UsageError, match=r"must be orthogonal"):
        FiniteGroup("broken", ["e", "a"], table, np.stack([np.eye(2), skew]))


@pytest.mark.parametrize("family", [cyclic, dihedral])
@pytest.mark.parametrize("size", [0, -1, 2.0, "4", 501, 10**9, 10**5000], ids=shown)
def test_wrong_sizes_are_refused(family, size):
    with pytest.raises(UsageError, match=r"needs a whole number n from 1 to 500, got"):
        family(size)


def test_a_table_that_is_too_large_is_refused_before_it_is_checked():
    with pytest.raises(UsageError, match="at most 1000 elements here, got 5000"):
        FiniteGroup("large", [str(i) for i in range(5000)], np.zeros((1, 1), int))


def test_a_table_that_is_not_associative_is_refused():
    # A loop of order 5 with an identity, inverses on both sides and no associativity.
    table = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]
    with pytest.raises(UsageError, match="the product table is not associative"):
        FiniteGroup("loop", list("eabcd"), table)


def test_a_table_of_fractions_is_refused():
    with pytest.raises(UsageError, match="x: a product table holds whole numbers, got float64"):
        FiniteGroup("x", ["e", "a"], [[0, 1.4], [1.2, 0.3]])
