"""Representations: homomorphisms however they are built, and what is refused."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product
from nearsym.groups.representation import (
    constant_like,
    diagonal,
    from_matrices,
    plane_of,
    quotient,
    regular,
    sign,
    trivial_of,
)

plane_groups = st.one_of(st.integers(1, 6).map(cyclic), st.integers(1, 5).map(dihedral))


@st.composite
def representations(draw, group):
    options = [trivial_of(group), regular(group), plane_of(group)]
    options.append(quotient(group, group.subgroup([draw(st.integers(0, group.order - 1))])))
    if group.name.startswith("D"):
        options.append(sign(group))
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


def test_numpy_and_torch_agree():
    rep = plane_of(dihedral(3))
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
            moved = regular(group).act(g, np.eye(8)[h])
            assert moved[group.mul[g, h]] == 1.0


def test_signs_of_the_papers_groups():
    assert sign(dihedral(1)).matrices.flatten().tolist() == [1, -1]
    assert sign(dihedral(2)).matrices.flatten().tolist() == [1, 1, -1, -1]
    assert sign(cyclic(4)).matrices.flatten().tolist() == [1, -1, 1, -1]


def test_quotients_move_cosets():
    group = dihedral(4)
    rep = quotient(group, group.subgroup([group.index("mirror_x")]))
    assert rep.size == 4
    assert rep.is_permutation
    assert quotient(group, [0]) == regular(group)


def test_what_kind_of_matrices():
    d1, d4 = dihedral(1), dihedral(4)
    assert sign(d1).is_signed_permutation
    assert not sign(d1).is_permutation
    assert plane_of(d4).is_signed_permutation
    assert not plane_of(cyclic(3)).is_signed_permutation
    assert plane_of(d4).absolute().is_permutation
    with pytest.raises(UsageError, match=r"only for signed permutations, not plane"):
        plane_of(cyclic(3)).absolute()


def test_text_and_equality():
    d2 = dihedral(2)
    rep = 2 * (sign(d2) + trivial_of(d2)) + plane_of(d2)
    assert repr(rep) == "2·(sign + trivial) + plane"
    assert repr(sign(d2) @ plane_of(d2)) == "(sign ⊗ plane)"
    assert repr(rep.along(1)) == "2·(sign + trivial) + plane on axis 1"
    assert sign(d2) + sign(d2) == 2 * sign(d2)
    assert hash(sign(d2) + sign(d2)) == hash(2 * sign(d2))
    assert sign(d2) != trivial_of(d2)


def test_user_matrices_by_name_or_in_order():
    group = dihedral(1)
    by_name = from_matrices(group, {"mirror_x": [[-1.0]], "e": [[1.0]]})
    assert by_name == from_matrices(group, [[[1.0]], [[-1.0]]]) == sign(group)
    assert diagonal(group, {"mirror_x": [-1, 1]}, "flip") == sign(group) + trivial_of(group)


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
        from_matrices(cyclic(2), matrices)


def test_the_two_elements_that_fail_are_named():
    d2 = dihedral(2)
    wrong = [np.eye(2), np.eye(2), np.diag([-1.0, 1.0]), np.diag([1.0, -1.0])]
    with pytest.raises(
        UsageError, match=r"ρ\((rot180|mirror_\w)\)·ρ\((rot180|mirror_\w)\) differs"
    ):
        from_matrices(d2, wrong)


def test_rounding_is_not_part_of_a_declaration():
    quarters = [k * np.pi / 2 for k in range(4)]
    turns = [[[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in quarters]
    rep = from_matrices(cyclic(4), turns)
    assert rep.is_signed_permutation
    assert np.array_equal(rep.matrices, np.round(turns) + 0.0)


def test_other_wrong_use_is_explained():
    flat = product(cyclic(2), cyclic(2))
    with pytest.raises(UsageError, match=r"C2×C2 has no plane action to take the sign of"):
        sign(flat)
    with pytest.raises(UsageError, match=r"C2×C2 has no plane action; give its matrices"):
        plane_of(flat)
    with pytest.raises(UsageError, match=r"C3 has no sign representation"):
        sign(cyclic(3))
    with pytest.raises(UsageError, match=r"\['rot90'\] is no subgroup of C4"):
        quotient(cyclic(4), [1])
    with pytest.raises(UsageError, match=r"sign belongs to D1 and sign to D2"):
        sign(dihedral(1)) + sign(dihedral(2))
    with pytest.raises(UsageError, match=r"repeated 1, 2, … times, got 0"):
        0 * sign(dihedral(1))
    with pytest.raises(UsageError, match=r"a multiple of 2 entries in axis 1, got shape \(4, 3\)"):
        plane_of(dihedral(1)).along(1).act(1, np.zeros((4, 3)))


def test_constants_take_the_type_of_the_data():
    assert constant_like(np.ones(2), torch.zeros(1, dtype=torch.float32)).dtype == torch.float32
    assert constant_like(np.ones(2), np.zeros(1, dtype=np.float32)).dtype == np.float32
    assert constant_like(np.ones(2), np.zeros(1, dtype=np.int64)).dtype == np.float64
