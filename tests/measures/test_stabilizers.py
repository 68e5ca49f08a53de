"""Definitions 2 and 3 of the paper: the set, and beside it whether it is a group."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, product
from nearsym.measures.equivariance import equivariance_error
from nearsym.measures.stabilizers import Stabilizer, stabilizer

D1, D2, D4 = dihedral(1), dihedral(2), dihedral(4)
GROUPS = [D1, D2, dihedral(3), D4, cyclic(1), cyclic(6), product(cyclic(2), cyclic(4))]
ERRORS = st.sampled_from([0.0, 0.1, 0.2, 0.3, np.inf])


@st.composite
def measured(draw):
    """A group, an error for each element, and an ε that errors may equal."""
    group = draw(st.sampled_from(GROUPS))
    errors = {g: draw(ERRORS) for g in group.elements[1:]}
    return group, errors, draw(st.sampled_from([0.0, 0.1, 0.15, 0.3]))


def closed(group, members):
    """The axioms, asked one by one."""
    products = {int(group.mul[g, h]) for g in members for h in members}
    inverses = {int(group.inverse[g]) for g in members}
    return 0 in members and products <= members and inverses <= members


def subsets(group):
    places = range(group.order)
    return chain.from_iterable(combinations(places, n) for n in range(group.order + 1))


@pytest.mark.parametrize("group", [D2, dihedral(3), cyclic(6), D4], ids=str)
def test_is_subgroup_asks_the_axioms(group):
    found = [members for members in subsets(group) if group.is_subgroup(members)]
    assert found == [members for members in subsets(group) if closed(group, set(members))]
    assert len(found) > 2


@settings(deadline=None)
@given(measured())
def test_the_set_as_it_is_written(case):
    group, errors, epsilon = case
    found = stabilizer(errors, epsilon, group)
    written = {g for g in group.elements if g == "e" or errors[g] <= epsilon}
    assert set(found.elements) == written
    places = {group.index(g) for g in written}
    assert found.is_group == closed(group, places)
    assert found.is_whole_group == (written == set(group.elements))
    assert found.is_whole_group == (found.smallest_epsilon <= epsilon)


@settings(deadline=None)
@given(measured())
def test_the_largest_subgroup_inside(case):
    group, errors, epsilon = case
    found = stabilizer(errors, epsilon, group)
    inside = [group.index(g) for g in found.largest_subgroup]
    assert closed(group, set(inside))
    assert set(found.largest_subgroup) <= set(found.elements)
    allowed = [group.index(g) for g in found.elements]
    if group.order <= 8:  # every subset of the set
        sizes = [len(s) for s in subsets(group) if set(s) <= set(allowed) and closed(group, set(s))]
        assert len(inside) == max(sizes)
    if found.is_group:
        assert found.largest_subgroup == found.elements


def test_of_two_subgroups_the_better_one():
    errors = {"rot180": 1e-6, "mirror_x": 1e-7, "mirror_y": 0.2}
    found = stabilizer(errors, 1e-4, D2)
    assert (found.elements, found.is_group) == (("e", "rot180", "mirror_x"), False)
    assert found.largest_subgroup == ("e", "mirror_x")


def test_a_function_whose_stabilizer_is_no_group():
    """f(x) = x + b is off by 2|b₁| under one mirror, 2|b₂| under the other, 2‖b‖ under both."""
    x = np.random.default_rng(0).normal(size=(20, 2))
    vector = D2.vector()
    errors = equivariance_error(lambda x: x + np.array([0.3, 0.4]), x, vector, vector, over="max")
    assert errors == pytest.approx({"rot180": 1.0, "mirror_x": 0.6, "mirror_y": 0.8})
    found = stabilizer(errors, 0.9, D2)
    assert found.elements == ("e", "mirror_x", "mirror_y")
    assert not found.is_group
    assert not found.is_whole_group
    assert found.largest_subgroup == ("e", "mirror_x")
    assert stabilizer(errors, 0.7, D2).is_group  # with one mirror less it is one


def test_mean_and_max_can_disagree():
    """f(x) = min(x, 1) fails at 3 only, by |f(−3) + f(3)| = 2, on average by 2/100."""
    x = np.append(np.full(99, 0.5), 3.0)[:, None]
    sets = {
        over: stabilizer(
            equivariance_error(lambda x: np.minimum(x, 1), x, D1.sign(), D1.sign(), over=over),
            0.1,
            D1,
        )
        for over in ("mean", "max")
    }
    assert sets["mean"].is_whole_group
    assert sets["max"].elements == ("e",)
    assert (sets["mean"].smallest_epsilon, sets["max"].smallest_epsilon) == (0.02, 2.0)


def test_equal_counts_as_inside_and_a_hair_less_does_not():
    errors = {"mirror_x": np.float32(0.25)}
    assert stabilizer(errors, 0.25, D1).is_whole_group
    assert stabilizer(errors, np.nextafter(0.25, 0), D1).elements == ("e",)


def test_a_group_with_nothing_to_measure():
    found = stabilizer({}, 0.0, cyclic(1))
    assert (found.elements, found.is_group, found.is_whole_group) == (("e",), True, True)
    assert (found.smallest_epsilon, found.largest_subgroup) == (0.0, ("e",))


@pytest.mark.parametrize(
    ("errors", "epsilon", "text"),
    [
        ({"mirror_x": 0.1}, -0.1, r"`epsilon` must be a number from 0 on, got -0\.1"),
        ({"mirror_x": 0.1}, np.nan, "`epsilon` must be a number from 0 on, got nan"),
        ({"miror_x": 0.1}, 0.1, "Unknown element of D1 'miror_x'. Did you mean 'mirror_x'"),
        ({}, 0.1, "`errors` must hold every element of D1 but e; mirror_x is not"),
        ({"mirror_x": np.nan}, 0.1, "one number for each element, got nan for mirror_x"),
        ({"mirror_x": {"mean": 0.1}}, 0.1, r"for mirror_x\. Measure them with `over='max'`"),
        ({"mirror_x": np.ones(3)}, 0.1, "one number for each element, got array"),
    ],
)
def test_mistakes(errors, epsilon, text):
    with pytest.raises(UsageError, match=text):
        stabilizer(errors, epsilon, D1)


def test_what_is_shown():
    assert repr(Stabilizer(D1, {"mirror_x": 1.0}, 0.5)) == "{e} of D1, a subgroup"
    assert repr(Stabilizer(D1, {"mirror_x": 0.0}, 0.5)) == "{e, mirror_x} of D1, the whole group"
