"""Representations: homomorphisms however they are built, and what is refused."""

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product
from nearsym.groups.group import FiniteGroup
from nearsym.groups.planar import o2
from nearsym.groups.representation import constant_like

plane_groups = st.one_of(st.integers(1, 6).map(cyclic), st.integers(1, 5).map(dihedral))


@st.composite
def representations(draw, group):
    options = [group.trivial(), group.regular(), group.vector()]
    options.append(group.quotient(group.subgroup([draw(st.integers(0, group.order - 1))])))
    if group.name.startswith("D"):
        options.append(group.sign())
    return draw(st.sampled_from(options))


@given(group=plane_groups, data=st.data())
def test_every_construction_is_a_homomorphism(group, data):
    a, b = data.draw(representations(group)), data.draw(representations(group))
    copies = data.draw(st.integers(1, 3))
    for rep in (a, a + b, copies * a, a @ b):
        products = np.einsum("gij,hjk->ghik", rep.matrices, rep.matrices)
        np.testing.assert_allclose(products, rep.matrices[group.mul], atol=1e-9)
        np.testing.assert_allclose(rep.matrices[0], np.eye(rep.size), atol=1e-12)
        np.testing.assert_allclose(rep.character, [np.trace(m) for m in rep.matrices])
    np.testing.assert_allclose((a + b).character, a.character + b.character)
    np.testing.assert_allclose((a @ b).character, a.character * b.character)
    np.testing.assert_allclose((copies * a).character, copies * a.character)


@given(group=plane_groups, data=st.data())
def test_acting_twice_is_acting_with_the_product(group, data):
    element = st.integers(0, group.order - 1)
    g, h = data.draw(element), data.draw(element)
    rep = data.draw(representations(group))
    x = np.random.default_rng(0).normal(size=(3, rep.size))
    np.testing.assert_allclose(rep.act(g, rep.act(h, x)), rep.act(group.mul[g, h], x), atol=1e-9)
    stacked = np.repeat(x, 2, axis=1)  # two entries for each coordinate
    along = rep.along(1).act(g, stacked)
    np.testing.assert_allclose(along, np.repeat(rep.act(g, x), 2, axis=1), atol=1e-12)


@pytest.mark.parametrize("signs", [{"mirror_x": -1}, [-1, -1], {"mirror_x": [[-1]]}])
def test_signs_that_are_not_by_element(signs):
    with pytest.raises(UsageError, match=r"signs of all entries by element, as in \{'mirror_x'"):
        dihedral(1).diagonal(signs)


def test_numpy_and_torch_agree():
    rep = dihedral(3).vector()
    x = np.random.default_rng(0).normal(size=(4, 2, 3))
    for g in range(6):
        for act, data in ((rep, x.swapaxes(1, 2)), (rep.along(1), x), (rep.along(-2), x)):
            data = np.ascontiguousarray(data)
            result = act.act(g, torch.from_numpy(data)).numpy()
            np.testing.assert_allclose(result, act.act(g, data), atol=1e-12)


def test_the_regular_representation_sends_h_to_gh():
    group = dihedral(4)
    for g in range(8):
        for h in range(8):
            moved = group.regular().act(g, np.eye(8)[h])
            assert moved[group.mul[g, h]] == 1.0


def test_signs_of_the_papers_groups():
    assert dihedral(1).sign().matrices.flatten().tolist() == [1, -1]
    assert dihedral(2).sign().matrices.flatten().tolist() == [1, 1, -1, -1]
    assert cyclic(4).sign().matrices.flatten().tolist() == [1, -1, 1, -1]


def test_quotients_move_cosets():
    group = dihedral(4)
    rep = group.quotient(group.subgroup([group.index("mirror_x")]))
    assert rep.size == 4
    assert rep.is_permutation
    assert group.quotient([0]) == group.regular()


def test_what_kind_of_matrices():
    d1, d4 = dihedral(1), dihedral(4)
    assert d1.sign().is_signed_permutation
    assert not d1.sign().is_permutation
    assert d4.vector().is_signed_permutation
    assert not cyclic(3).vector().is_signed_permutation
    assert d4.vector().absolute().is_permutation
    with pytest.raises(UsageError, match=r"only for signed permutations, not vector"):
        cyclic(3).vector().absolute()


def test_text_and_equality():
    d2 = dihedral(2)
    rep = 2 * (d2.sign() + d2.trivial()) + d2.vector()
    assert repr(rep) == "2·(sign + trivial) + vector"
    assert repr(d2.sign() @ d2.vector()) == "(sign ⊗ vector)"
    assert repr(rep.along(1)) == "2·(sign + trivial) + vector on axis 1"
    assert d2.sign() + d2.sign() == 2 * d2.sign()
    assert hash(d2.sign() + d2.sign()) == hash(2 * d2.sign())
    assert d2.sign() != d2.trivial()


def test_user_matrices_by_name_or_in_order():
    group = dihedral(1)
    by_name = group.representation({"mirror_x": [[-1.0]], "e": [[1.0]]})
    assert by_name == group.representation([[[1.0]], [[-1.0]]]) == group.sign()
    assert group.diagonal({"mirror_x": [-1, 1]}, "flip") == group.sign() + group.trivial()


@pytest.mark.parametrize(
    ("matrices", "text"),
    [
        ([[[1.0]], [[2.0]]], r"custom is no representation of C2: ρ\(rot180\)·ρ\(rot180\) differs"),
        ([[[0.0]], [[0.0]]], r"ρ\(e\) is not the identity"),
        ([[[1.0]]], r"C2 needs 2 square matrices of one size, got 1 of shapes \[\(1, 1\)\]"),
        ([[[1.0]], np.eye(2)], r"C2 needs 2 square matrices of one size, got 2 of shapes"),
        ([[[1.0]], [[np.nan]]], r"a matrix has entries that are not finite"),
        ({"e": [[1.0]]}, r"no matrix for element 'rot180' of C2"),
    ],
)
def test_wrong_matrices_are_refused(matrices, text):
    with pytest.raises(UsageError, match=text):
        cyclic(2).representation(matrices)


def test_the_two_elements_that_fail_are_named():
    d2 = dihedral(2)
    wrong = [np.eye(2), np.eye(2), np.diag([-1.0, 1.0]), np.diag([1.0, -1.0])]
    with pytest.raises(
        UsageError, match=r"ρ\((rot180|mirror_\w)\)·ρ\((rot180|mirror_\w)\) differs"
    ):
        d2.representation(wrong)


def test_rounding_is_not_part_of_a_declaration():
    quarters = [k * np.pi / 2 for k in range(4)]
    turns = [[[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in quarters]
    rep = cyclic(4).representation(turns)
    assert rep.is_signed_permutation
    assert np.array_equal(rep.matrices, np.round(turns) + 0.0)


def test_other_wrong_use_is_explained():
    flat = product(cyclic(2), cyclic(2))
    with pytest.raises(UsageError, match=r"C2×C2 has no plane action to take the sign of"):
        flat.sign()
    with pytest.raises(UsageError, match=r"C2×C2 has no plane action; use group\.representation"):
        flat.vector()
    with pytest.raises(UsageError, match=r"C3 has no sign representation"):
        cyclic(3).sign()
    with pytest.raises(UsageError, match=r"\['rot90'\] is no subgroup of C4"):
        cyclic(4).quotient([1])
    with pytest.raises(UsageError, match=r"sign belongs to D1 and sign to D2"):
        dihedral(1).sign() + dihedral(2).sign()
    with pytest.raises(UsageError, match=r"repeated 1, 2, … times, got 0"):
        0 * dihedral(1).sign()
    with pytest.raises(UsageError, match=r"a multiple of 2 entries in axis 1, got shape \(4, 3\)"):
        dihedral(1).vector().along(1).act(1, np.zeros((4, 3)))


def test_constants_take_the_type_of_the_data():
    assert constant_like(np.ones(2), torch.zeros(1, dtype=torch.float32)).dtype == torch.float32
    assert constant_like(np.ones(2), np.zeros(1, dtype=np.float32)).dtype == np.float32
    assert constant_like(np.ones(2), np.zeros(1, dtype=np.int64)).dtype == np.float64


def test_finite_and_planar_groups_make_the_same_harmonics():
    group = dihedral(6)
    assert group.irrep(0) == group.trivial()
    assert group.irrep(2) == o2().irrep(2).restrict(group)
    np.testing.assert_allclose(group.irrep(1).matrices, group.vector().matrices, atol=1e-12)
    assert o2().vector() == o2().irrep(1)


def test_sign_changes_need_every_element_but_the_identity():
    with pytest.raises(UsageError, match=r"no matrix for element 'mirror_x' of D2"):
        dihedral(2).diagonal({"rot180": [-1], "mirror_y": [1]})


def test_the_sign_does_not_depend_on_the_order_of_elements():
    c4, order = cyclic(4), [0, 2, 1, 3]
    mul = [[order.index(int(c4.mul[g, h])) for h in order] for g in order]
    names = [c4.elements[g] for g in order]
    group = FiniteGroup("C4", names, mul, c4.plane[order])
    assert group.sign() == group.representation([[[1]], [[1]], [[-1]], [[-1]]])


def test_the_sign_of_a_cyclic_group_needs_no_faithful_plane():
    half_turns = np.array([np.eye(2), -np.eye(2)] * 2)
    group = FiniteGroup("C4", cyclic(4).elements, cyclic(4).mul, half_turns)
    assert group.sign().matrices.flatten().tolist() == [1, -1, 1, -1]
    table = [[g ^ h for h in range(4)] for g in range(4)]
    four = FiniteGroup("V", ["e", "a", "b", "c"], table, half_turns)
    with pytest.raises(UsageError, match="V has no sign representation: it has no mirrors, and is"):
        four.sign()


def test_complex_numbers_stay_complex():
    x = np.array([1 + 2j, 0, 0, 3j])
    for each in (x, torch.tensor(x)):
        moved = cyclic(4).regular().act(1, each)
        np.testing.assert_array_equal(moved, [3j, 1 + 2j, 0, 0])


def test_whole_numbers_are_moved_as_real_ones():
    rep, expected = cyclic(8).vector(), [2**0.5, 2**0.5]
    for x in (np.array([2, 0]), torch.tensor([2, 0]), torch.tensor([2, 0], dtype=torch.uint8)):
        np.testing.assert_allclose(rep.act(1, x), expected)
        np.testing.assert_allclose(rep.along(0).act(1, x), expected)


def test_elements_that_the_group_does_not_have_are_refused():
    with pytest.raises(UsageError, match=r"Unknown element of D1 'mirror_y'\. Did you mean"):
        dihedral(1).diagonal({"mirror_x": [-1], "mirror_y": [1]})


@pytest.mark.parametrize("matrices", [[], np.zeros((2, 0, 0))])
def test_a_representation_has_matrices_with_entries(matrices):
    with pytest.raises(UsageError, match="D1 needs 2 square matrices of one size"):
        dihedral(1).representation(matrices)


def test_matrices_whose_products_overflow_are_refused():
    huge = 1e300 * np.array([[1.0, -1.0], [1.0, -1.0]])
    with pytest.raises(UsageError, match="custom is no representation of D1"):
        dihedral(1).representation([np.eye(2), huge])


def test_checking_many_matrices_takes_little_memory():
    group = cyclic(60)
    matrices = group.regular().matrices
    tracemalloc.start()
    group.representation(matrices)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * matrices.nbytes  # all products at once would be 60 times as much
