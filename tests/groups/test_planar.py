import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product
from nearsym.groups.planar import PlanarElement, o2, planar_irrep, rotation, so2

angles = st.floats(-7.0, 7.0)
elements = st.builds(PlanarElement, angles, st.booleans())


def compose(g, h):
    """(R_a M^s)(R_b M^t) = R_(a ± b) M^(s + t)."""
    return PlanarElement(g.angle + (-h.angle if g.mirrored else h.angle), g.mirrored != h.mirrored)


@given(elements, elements, st.integers(0, 5))
def test_irreps_multiply_like_elements(g, h, frequency):
    rho = o2().irrep(frequency) + o2().sign()
    np.testing.assert_allclose(
        rho.matrix(*g) @ rho.matrix(*h), rho.matrix(*compose(g, h)), atol=1e-9
    )


@given(elements)
def test_plane_is_the_first_irrep(g):
    np.testing.assert_allclose(o2().plane(*g), o2().irrep(1).matrix(*g), atol=1e-12)


@given(elements, st.integers(1, 5), angles)
def test_irreps_move_circular_harmonics(g, k, phi):
    x, y = o2().plane(*g) @ [math.cos(phi), math.sin(phi)]
    moved = math.atan2(y, x)
    before, after = (np.array([math.cos(k * a), math.sin(k * a)]) for a in (phi, moved))
    np.testing.assert_allclose(o2().irrep(k).matrix(*g) @ before, after, atol=1e-9)


@pytest.mark.parametrize(
    "group", [cyclic(4), cyclic(7), dihedral(1), dihedral(4), dihedral(5)], ids=str
)
def test_restriction_is_a_representation(group):
    rho = (o2().sign() + 2 * o2().irrep(2) + o2().irrep(1)).restrict(group)
    group.representation(rho.matrices)  # checks the homomorphism
    np.testing.assert_allclose(
        o2().irrep(1).restrict(group).matrices, group.vector().matrices, atol=1e-12
    )


def test_restricted_sign_is_the_sign():
    assert o2().sign().restrict(dihedral(3)) == dihedral(3).sign()


def test_quarter_turns_are_exact():
    assert set(np.unique(planar_irrep(3, dihedral(4)).matrices)) == {-1.0, 0.0, 1.0}
    np.testing.assert_array_equal(rotation(math.pi), -np.eye(2))


def test_sums_names_and_sizes():
    rho = 2 * so2().irrep(1) + so2().trivial() + so2().irrep(3)
    assert repr(rho) == "2·irrep1 + trivial + irrep3"
    assert (rho.size, rho.frequency) == (7, 3)
    assert rho == so2().irrep(1) + so2().irrep(1) + so2().trivial() + so2().irrep(3)
    assert hash(rho) == hash(2 * so2().irrep(1) + so2().trivial() + so2().irrep(3))
    assert rho != 2 * o2().irrep(1) + o2().trivial() + o2().irrep(3)
    assert o2().irrep(2, parity=1) == o2().irrep(2)
    assert (3 * so2().trivial()).is_permutation
    assert not so2().irrep(1).is_permutation
    assert not o2().sign().is_permutation


def test_acts_on_arrays_and_tensors():
    rho = so2().irrep(1)
    quarter = (math.pi / 2, False)
    np.testing.assert_array_equal(rho.act(quarter, np.array([[1.0, 0.0]])), [[0.0, 1.0]])
    assert torch.equal(rho.act(quarter, torch.tensor([1.0, 0.0])), torch.tensor([0.0, 1.0]))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: so2().sign(), r"SO\(2\) has no mirrors and so no sign representation"),
        (lambda: so2().irrep(-1), "A frequency is a whole number ≥ 0, got -1"),
        (lambda: o2().irrep(0, parity=2), "A parity is 0 or 1, got 2"),
        (lambda: so2().irrep(1).matrix(0.1, True), r"SO\(2\) has no mirrors; take o2\(\)"),
        (lambda: so2().trivial() + o2().trivial(), "only representations of one group combine"),
        (lambda: 0 * so2().trivial(), "repeated 1, 2, … times, got 0"),
        (
            lambda: so2().irrep(1).act((0.0, False), np.ones(3)),
            r"2 coordinates, got an array of shape \(3,\)",
        ),
        (lambda: so2().irrep(1).restrict(product(cyclic(2), cyclic(2))), "no plane action"),
        (lambda: so2().irrep(1).restrict(dihedral(2)), "has no mirrors"),
    ],
)
def test_errors(wrong, text):
    with pytest.raises(UsageError, match=text):
        wrong()
