import math

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.groups.planar import o2, so2
from nearsym.layers.kernel_basis import (
    angular_basis,
    coordinate_blocks,
    fixed_vectors,
    kernel_basis,
)
from nearsym.layers.rings import Rings, offsets

GRID_GROUPS = [trivial(), cyclic(2), cyclic(4), dihedral(1), dihedral(2), dihedral(4)]
OTHER_GROUPS = [cyclic(3), cyclic(8), dihedral(3), dihedral(8)]


def representations(group):
    """One of each kind that a group has, and a sum."""
    found = [group.trivial(), group.regular(), group.vector()]
    if group.order % 2 == 0:
        found += [group.sign(), group.quotient(group.subgroup([group.order - 1]))]
    return [*found, found[-1] + 2 * found[0]]


def skewed(group):
    """A representation by matrices that are not orthogonal."""
    basis = np.array([[1.0, 0.7], [0.0, 1.0]])
    matrices = basis @ group.vector().matrices @ np.linalg.inv(basis)
    return group.representation(matrices, "skewed")


def moved_points(group, size):
    """[g, p]: where offset p of the kernel goes, found by comparing points."""
    points = offsets(size)
    moved = np.einsum("gij,pj->gpi", group.plane, points)
    return np.linalg.norm(moved[:, :, None] - points, axis=-1).argmin(axis=-1)


@st.composite
def questions(draw, groups):
    group = draw(st.sampled_from(groups))
    choices = [*representations(group), skewed(group)]
    return draw(st.sampled_from(choices)), draw(st.sampled_from(choices))


def solved(in_rep, out_rep, size):
    """The basis, or another question where there is none."""
    try:
        return kernel_basis(in_rep, out_rep, size, Rings())
    except UsageError:
        reject()


@given(questions(GRID_GROUPS), st.integers(1, 5))
def test_pixel_basis_has_the_dimension_of_theory(question, size):
    in_rep, out_rep = question
    fixed_points = (moved_points(in_rep.group, size) == np.arange(size**2)).sum(axis=1)
    theory = np.mean(fixed_points * in_rep.character * out_rep.character)
    if round(theory) == 0:
        with pytest.raises(UsageError, match="only zero satisfies the constraint"):
            kernel_basis(in_rep, out_rep, size, Rings())
        return
    values = kernel_basis(in_rep, out_rep, size, Rings()).values
    flat = values.reshape(len(values), -1)
    assert len(flat) == pytest.approx(theory) == np.linalg.matrix_rank(flat)


@given(questions(GRID_GROUPS), st.integers(2, 5))
def test_pixel_basis_satisfies_the_constraint(question, size):
    in_rep, out_rep = question
    basis, group = solved(in_rep, out_rep, size), in_rep.group
    moves = moved_points(group, size)
    for g in range(group.order):
        expected = np.einsum(
            "ij,kjlp,lm->kimp",
            out_rep.matrices[g],
            basis.values,
            in_rep.matrices[group.inverse[g]],
        )
        np.testing.assert_allclose(basis.values[..., moves[g]], expected, atol=1e-12)
        # Relaxed weights move along: w_k(gy) under weights r[h] is w_k(y) under r[gh].
        np.testing.assert_allclose(
            basis.relaxation[:, moves[g]][:, :, group.mul[g]], basis.relaxation
        )
    alive = np.abs(basis.values).max(axis=(1, 2)) > 0
    np.testing.assert_allclose(basis.relaxation.sum(-1)[alive], 1.0)


@given(questions(OTHER_GROUPS), st.integers(2, 5))
def test_ring_basis_satisfies_the_constraint_on_the_grid(question, size):
    """The elements of the group that map the pixels to pixels."""
    in_rep, out_rep = question
    group, values = in_rep.group, solved(in_rep, out_rep, size).values
    on_grid = [g for g in range(group.order) if np.isin(group.plane[g], (-1, 0, 1)).all()]
    moves = moved_points(group, size)
    for g in on_grid:
        expected = np.einsum(
            "ij,kjlp,lm->kimp", out_rep.matrices[g], values, in_rep.matrices[group.inverse[g]]
        )
        np.testing.assert_allclose(values[..., moves[g]], expected, atol=1e-12)
    flat = values.reshape(len(values), -1)
    assert np.linalg.matrix_rank(flat) == len(flat)
    np.testing.assert_allclose(np.abs(flat).max(axis=1), 1.0)


def circle(matrices, frequency, phi):
    harmonics = [math.cos(frequency * phi), math.sin(frequency * phi)][: matrices.shape[1]]
    return np.einsum("a,kaij->kij", harmonics, matrices)


@given(
    st.sampled_from([so2(), o2()]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 6),
    st.floats(-4, 4),
    st.floats(-4, 4),
    st.booleans(),
)
def test_continuous_constraint_holds_at_any_angle(group, n, m, k, phi, angle, mirrored):
    mirrored = mirrored and group.mirrors
    in_rep, out_rep = group.irrep(n), group.trivial() + group.irrep(m)
    found = angular_basis(in_rep, out_rep, k)
    x, y = group.plane(angle, mirrored) @ [math.cos(phi), math.sin(phi)]
    moved = circle(found, k, math.atan2(y, x))
    rho_out, rho_in = out_rep.matrix(angle, mirrored), in_rep.matrix(angle, mirrored)
    expected = rho_out @ circle(found, k, phi) @ np.linalg.inv(rho_in)
    np.testing.assert_allclose(moved, expected, atol=1e-9)


def dimensions(in_rep, out_rep):
    """Solutions on a circle by frequency, over all frequencies that could occur."""
    top = in_rep.frequency + out_rep.frequency + 3
    counts = {k: len(angular_basis(in_rep, out_rep, k)) for k in range(top)}
    return {k: count for k, count in counts.items() if count}


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("m", range(4))
def test_so2_dimensions_are_the_published_ones(n, m):
    """Weiler & Cesa (2019), table of SO(2)-steerable kernels, irrep n to irrep m."""
    found = dimensions(so2().irrep(n), so2().irrep(m))
    if n == 0 and m == 0:
        assert found == {0: 1}
    elif n == 0 or m == 0:
        assert found == {n + m: 2}
    else:
        assert found == {abs(m - n): 2, m + n: 2}


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("m", range(4))
def test_o2_dimensions_are_the_published_ones(n, m):
    """Weiler & Cesa (2019), table of O(2)-steerable kernels; half of SO(2)'s, by parity."""
    in_reps = [o2().irrep(n)] if n else [o2().trivial(), o2().sign()]
    out_reps = [o2().irrep(m)] if m else [o2().trivial(), o2().sign()]
    for in_rep in in_reps:
        for out_rep in out_reps:
            found = dimensions(in_rep, out_rep)
            if n == 0 and m == 0:
                assert found == ({0: 1} if in_rep == out_rep else {})
            elif n == 0 or m == 0:
                assert found == {n + m: 1}
            else:
                assert found == {abs(m - n): 1, m + n: 1}


def test_a_ring_has_all_solutions_within_its_band():
    rho = so2().trivial() + so2().irrep(1)
    basis = kernel_basis(rho, rho, 3, Rings())
    per_pair = 1 + 2 + 2 + 4  # the table, with all frequencies ≤ 2 = the band of the ring r = 1
    at_origin = 1 + 2  # frequency 0 only: trivial to trivial, irrep1 to irrep1
    assert len(basis.values) == per_pair + at_origin
    narrow = kernel_basis(rho, rho, 3, Rings(band=1.0))
    assert len(narrow.values) == len(basis.values) - 2


def test_large_cyclic_groups_approach_so2():
    """Within a band, C_n with n beyond every frequency has the solutions of SO(2)."""
    group, planar = cyclic(11), so2().irrep(1) + so2().irrep(2)
    finite = planar.restrict(group)
    for k in range(5):
        assert len(angular_basis(finite, finite, k)) == len(angular_basis(planar, planar, k))
    assert len(angular_basis(planar, planar, 9)) == 0
    assert len(angular_basis(finite, finite, 9)) > 0


def test_solved_once_and_kept():
    question = (cyclic(4).regular(), cyclic(4).regular(), 3, Rings())
    again = (cyclic(4).regular(), cyclic(4).regular(), 3, Rings())
    assert kernel_basis(*question) is kernel_basis(*again)


@pytest.mark.parametrize("group", GRID_GROUPS + OTHER_GROUPS, ids=str)
def test_fixed_vectors_and_blocks(group):
    rho = group.regular() + group.vector() + group.trivial()
    fixed = fixed_vectors(rho)
    assert len(fixed) == round(rho.character.mean())
    for g in range(group.order):
        np.testing.assert_allclose(rho.matrices[g] @ fixed.T, fixed.T, atol=1e-12)
    blocks = coordinate_blocks(rho)
    assert sorted(np.concatenate(blocks)) == list(range(rho.size))
    assert [0] in [list(b) for b in blocks] or len(blocks[0]) == group.order
    assert list(blocks[-1]) == [rho.size - 1]


def test_blocks_of_planar_representations_are_irreps():
    blocks = coordinate_blocks(o2().irrep(2) + o2().sign() + o2().irrep(1))
    assert [list(b) for b in blocks] == [[0, 1], [2], [3, 4]]


def test_nothing_is_fixed_by_a_sign():
    assert fixed_vectors(dihedral(1).sign()).shape == (0, 1)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: kernel_basis("regular", cyclic(4).regular(), 3, Rings()), "such as cyclic"),
        (
            lambda: kernel_basis(cyclic(4).regular(), cyclic(2).regular(), 3, Rings()),
            "needs one group: regular belongs to C4, regular to C2",
        ),
        (
            lambda: kernel_basis(*[product(cyclic(2), cyclic(2)).regular()] * 2, 3, Rings()),
            "C2×C2 has no plane action",
        ),
        (
            lambda: kernel_basis(o2().trivial(), o2().sign(), 3, Rings()),
            r"no O\(2\)-equivariant 3×3 kernel from trivial to sign",
        ),
        (lambda: Rings(width=0.0), r"Rings need widths > 0 and a band ≥ 0, got Rings\(width=0.0"),
    ],
)
def test_errors(wrong, text):
    with pytest.raises(UsageError, match=text):
        wrong()
