"""Irreducible representations: complete, orthogonal, and none where they are complex."""

import numpy as np
import pytest

from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.groups.irreps import real_irreps

REAL = [trivial(), *(dihedral(n) for n in range(1, 9)), product(dihedral(3), dihedral(1))]


@pytest.mark.parametrize("group", REAL, ids=str)
def test_they_are_representations_and_all_of_them(group):
    irreps = real_irreps(group)
    assert sum(rho.shape[1] ** 2 for rho in irreps) == group.order
    for rho in irreps:
        products = np.einsum("gij,hjk->ghik", rho, rho)
        assert np.allclose(products, rho[group.mul])
        assert np.allclose(np.einsum("gij,gkj->gik", rho, rho), np.eye(rho.shape[1]))
    characters = np.array([np.trace(rho, axis1=1, axis2=2) for rho in irreps])
    assert np.allclose(characters @ characters.T / group.order, np.eye(len(irreps)))


@pytest.mark.parametrize("group", [cyclic(3), cyclic(4), product(cyclic(5), dihedral(1))], ids=str)
def test_complex_ones_are_none(group):
    assert real_irreps(group) is None


def test_large_groups_are_left_alone():
    assert real_irreps(dihedral(33)) is None
    assert real_irreps(dihedral(32)) is not None
