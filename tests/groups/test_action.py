"""Actions on images and arrays, and the Symmetry that bundles them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Invariant, Together
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.groups.symmetry import Symmetry

GRID_GROUPS = [trivial(), cyclic(2), cyclic(4), dihedral(1), dihedral(2), dihedral(4)]


@given(group=st.sampled_from(GRID_GROUPS), data=st.data(), size=st.integers(1, 5))
def test_images_move_like_points_of_the_plane(group, data, size):
    g = data.draw(st.integers(0, group.order - 1))
    image = np.arange(size * size).reshape(size, size)
    moved = ImageAction(group).act(g, image)
    centre = (size - 1) / 2
    for row in range(size):
        for column in range(size):
            x, y = group.plane[g] @ (column - centre, centre - row)
            assert moved[round(centre - y), round(x + centre)] == image[row, column]


@given(group=st.sampled_from(GRID_GROUPS), data=st.data())
def test_moving_twice_is_moving_by_the_product(group, data):
    element = st.integers(0, group.order - 1)
    g, h = data.draw(element), data.draw(element)
    act = Together(ImageAction(group), group.regular().along(-3))
    x = np.random.default_rng(0).normal(size=(2, 2 * group.order, 4, 4))
    np.testing.assert_array_equal(act.act(g, act.act(h, x)), act.act(group.mul[g, h], x))


def test_mirrors_flip_the_axes_of_the_contract():
    group = dihedral(2)
    image = np.arange(6).reshape(2, 3)
    act = ImageAction(group)
    np.testing.assert_array_equal(act.act(group.index("mirror_x"), image), image[:, ::-1])
    np.testing.assert_array_equal(act.act(group.index("mirror_y"), image), image[::-1])
    np.testing.assert_array_equal(act.act(group.index("rot180"), image), image[::-1, ::-1])


def test_channel_last_frames_and_tensors():
    group = dihedral(4)
    frames = np.random.default_rng(0).integers(0, 255, (2, 5, 5, 3), dtype=np.uint8)
    last, first = ImageAction(group, -3, -2), ImageAction(group)
    for g in range(8):
        moved = last.act(g, frames)
        assert moved.dtype == np.uint8
        other = first.act(g, torch.from_numpy(frames).permute(0, 3, 1, 2))
        np.testing.assert_array_equal(moved, other.permute(0, 2, 3, 1).numpy())


def test_rot90_turns_counter_clockwise():
    image = np.arange(9).reshape(3, 3)
    np.testing.assert_array_equal(ImageAction(cyclic(4)).act(1, image), np.rot90(image))


def test_invariant_leaves_everything():
    x = np.ones(3)
    assert Invariant(dihedral(2)).act(3, x) is x


def test_groups_off_the_grid_are_pointed_to_steerable_layers():
    with pytest.raises(UsageError, match=r"D3 does not fit the pixel grid.*Use SteerableConv2d"):
        ImageAction(dihedral(3))
    with pytest.raises(UsageError, match=r"C2×C2 has no plane action, so it cannot move images"):
        ImageAction(product(cyclic(2), cyclic(2)))


def test_a_symmetry_bundles_one_group():
    d2 = dihedral(2)
    symmetry = Symmetry(ImageAction(d2), d2.vector())
    assert symmetry.group == d2
    assert repr(symmetry) == "Symmetry(D2: observation D2 on pixels, action vector)"
    with pytest.raises(UsageError, match=r"observations move under D1, actions under D2"):
        Symmetry(ImageAction(dihedral(1)), d2.vector())


def test_bounded_actions_need_signed_permutations():
    c3 = cyclic(3)
    with pytest.raises(UsageError, match=r"vector would leave the box \[−1, 1\]\^2"):
        Symmetry(c3.vector(), c3.vector())
    assert Symmetry(c3.vector(), c3.vector(), bounded=False).group == c3
    assert Symmetry(dihedral(1).sign(), 2 * dihedral(1).sign()).action.size == 2


def test_texts():
    act = Together(ImageAction(dihedral(1)), dihedral(1).regular().along(-3))
    assert repr(act) == "D1 on pixels and regular on axis -3"
    assert repr(Invariant(dihedral(1))) == "D1 acting trivially"
