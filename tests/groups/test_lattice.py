"""All subgroups of a group, against every subset, and projections on coset means."""

from itertools import combinations

import numpy as np
import pytest

from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.groups.group import FiniteGroup
from nearsym.groups.lattice import coset_means, subgroup_name, subgroups

GROUPS = [trivial(), cyclic(6), dihedral(1), dihedral(2), dihedral(3), dihedral(4)]
CUBE = product(product(dihedral(1), dihedral(1)), dihedral(1))


@pytest.mark.parametrize("group", [*GROUPS, CUBE], ids=str)
def test_every_closed_subset_is_listed_once(group):
    closed = {
        (0, *some)
        for size in range(group.order)
        for some in combinations(range(1, group.order), size)
        if set(group.mul[np.ix_((0, *some), (0, *some))].flatten()) == {0, *some}
    }
    found = subgroups(group)
    assert len(found) == len(set(found))
    assert set(found) == closed
    assert found[0] == tuple(range(group.order))
    assert found[-1] == (0,)


@pytest.mark.parametrize(("group", "count"), [(dihedral(4), 10), (dihedral(6), 16), (CUBE, 16)])
def test_known_counts(group, count):
    assert len(subgroups(group)) == count


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_coset_means_project_on_what_is_constant_on_cosets(group):
    w = np.random.default_rng(0).normal(size=group.order)
    for k in subgroups(group):
        means = coset_means(group, k)
        np.testing.assert_allclose(means @ means, means, atol=1e-12)
        np.testing.assert_array_equal(means, means.T)
        assert np.trace(means) == pytest.approx(group.order / len(k))
        for g in k:
            np.testing.assert_allclose((means @ w)[group.mul[g]], means @ w)


def test_names():
    d4 = dihedral(4)
    assert subgroup_name(d4, tuple(range(8))) == "D4"
    assert subgroup_name(d4, (0, 1, 2, 3)) == "C4 {e, rot90, rot180, rot270}"
    assert subgroup_name(d4, (0, 2, 4, 6)) == "D2 {e, rot180, mirror_x, mirror_y}"
    assert subgroup_name(d4, (0,)) == "{e}"
    klein = FiniteGroup("V", ["e", "a", "b", "ab"], dihedral(2).mul)
    assert subgroup_name(klein, (0, 2)) == "{e, b}"
