import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.tasks.craft.drawing import CRAFT, CRAFT_RADIUS, GROUND, RING, Painter
from nearsym.tasks.frames import with_noise

D4 = dihedral(4)
PIXELS = ImageAction(D4, height=-3, width=-2)
SIZES = [8, 9, 16, 21, 50, 51, 84, 85]
coordinates = st.floats(-6.0, 6.0)


def at(g, x, y):
    return (D4.plane[g] @ (x, y)).tolist()


@given(coordinates, coordinates, st.sampled_from(SIZES))
def test_pictures_move_with_the_craft(x, y, size):
    painter = Painter(size)
    picture = painter.paint(x, y)
    for g in range(8):
        np.testing.assert_array_equal(painter.paint(*at(g, x, y)), PIXELS.act(g, picture))


def test_elements_move_pictures_differently():
    """The test above can fail: no two images of a craft off all axes are the same picture."""
    painter = Painter(51)
    assert len({painter.paint(*at(g, 1.0, 0.4)).tobytes() for g in range(8)}) == 8


@given(coordinates, coordinates, st.sampled_from(SIZES))
def test_only_the_craft_is_drawn_anew(x, y, size):
    """The patch around the craft gives what drawing every pixel would."""
    painter = Painter(size)
    whole = slice(0, size)
    reach = painter._reach
    distance = painter._distance(np.clip(x, -reach, reach), np.clip(y, -reach, reach), whole, whole)
    coverage = painter._coverage(painter._radius - distance)[..., None]
    expected = np.rint(painter._empty + coverage * (CRAFT - painter._empty))
    np.testing.assert_array_equal(painter.paint(x, y), expected)


def test_x_is_to_the_right_and_y_up():
    picture = Painter(51).paint(2.0, 1.0)
    rows, columns = np.nonzero((picture == CRAFT).all(axis=-1))
    assert columns.mean() == pytest.approx(25 + 2.0 * 51 / 6, abs=0.5)
    assert rows.mean() == pytest.approx(25 - 1.0 * 51 / 6, abs=0.5)


def test_coverage_is_the_discs_area():
    """Light above the ground, in units of a full pixel's, against π·r²: anti-aliasing adds none."""
    picture = Painter(255).paint(1.703, -1.211).astype(float)
    empty = Painter(255).paint(-2.5, -2.5).astype(float)
    right = np.s_[:, 128:, 0]
    light = (picture[right] - empty[right]).sum() / float(CRAFT[0] - GROUND[0])
    assert light == pytest.approx(np.pi * (CRAFT_RADIUS * 255 / 6) ** 2, rel=0.01)


def test_positions_below_a_pixel_are_visible():
    painter = Painter(51)
    assert not np.array_equal(painter.paint(1.0, 0.0), painter.paint(1.02, 0.0))


@pytest.mark.parametrize("size", SIZES)
def test_a_craft_outside_stands_at_the_border(size):
    painter = Painter(size)
    outside = painter.paint(50.0, 1.0)
    np.testing.assert_array_equal(outside, painter.paint(3.0, 1.0))
    assert (outside[:, -1, 0] > GROUND[0] + 30).any()
    assert not np.array_equal(outside, painter.paint(50.0, -1.0))


def test_the_target_is_a_ring():
    picture = Painter(256).paint(2.5, 2.5)
    np.testing.assert_array_equal(picture[128, 128], GROUND)
    np.testing.assert_array_equal(picture[128, 128 + round(0.5 * 256 / 6)], RING)


def test_noise_is_gaussian_on_unit_images():
    grey = np.full((100, 100, 3), 128, np.uint8)
    values = with_noise(grey, 0.1, np.random.default_rng(0)) / 255
    assert values.std() == pytest.approx(0.1, rel=0.02)
    assert values.mean() == pytest.approx(128 / 255, abs=0.002)
    loud = with_noise(grey, 5.0, np.random.default_rng(0))
    assert (loud.min(), loud.max()) == (0, 255)
