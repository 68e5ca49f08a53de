"""Boxes found from samples, against regions that are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.audits.regions import find_regions

NAMES = ["u", "v", "w"]


def points(rng, n=2000):
    return rng.uniform(-1, 1, size=(n, 3))


def covered(boxes, x):
    inside = np.zeros(len(x), dtype=bool)
    for box in boxes:
        ranges = [(NAMES.index(name), *ends) for name, ends in box.bounds.items()]
        inside |= np.all([(x[:, i] >= low) & (x[:, i] <= high) for i, low, high in ranges], axis=0)
    return inside


@given(seed=st.integers(0, 10**6))
def test_one_interval_is_found_to_a_few_per_cent(seed):
    rng = np.random.default_rng(seed)
    x, low = points(rng), rng.uniform(-0.8, 0.2)
    high = low + rng.uniform(0.2, 0.6)
    broken = (x[:, 1] >= low) & (x[:, 1] <= high)
    (box,) = find_regions(x, broken.astype(float), NAMES).boxes
    assert box.bounds.keys() == {"v"}
    assert box.bounds["v"] == pytest.approx((low, high), abs=0.02)
    assert box.share == pytest.approx(broken.mean(), abs=0.01)


@given(seed=st.integers(0, 10**6))
def test_a_box_and_its_mirror_image(seed):
    rng = np.random.default_rng(seed)
    x, fresh = points(rng), points(rng)
    a, b, c = rng.uniform(0.1, 0.4), rng.uniform(0.6, 0.9), rng.uniform(-0.3, 0.3)

    def broken(p):
        return (np.abs(p[:, 0]) >= a) & (np.abs(p[:, 0]) <= b) & (p[:, 2] > c)

    tree = find_regions(x, broken(x).astype(float), NAMES)
    assert len(tree.boxes) == 2
    assert np.mean(covered(tree.boxes, fresh) != broken(fresh)) < 0.03
    assert tree.importance[1] < 0.1 * min(tree.importance[[0, 2]])


def test_nothing_and_everything():
    x = points(np.random.default_rng(0))
    assert find_regions(x, np.zeros(len(x)), NAMES).boxes == []
    (everywhere,) = find_regions(x, np.ones(len(x)), NAMES).boxes
    assert everywhere.bounds == {}
    assert everywhere.share == 1


def test_an_exclusive_or_needs_two_coordinates():
    x = points(np.random.default_rng(1))
    broken = x[:, 0] * x[:, 1] > 0
    boxes = find_regions(x, broken.astype(float), NAMES).boxes
    fresh = points(np.random.default_rng(2))
    assert len(boxes) <= 4
    assert np.mean(covered(boxes, fresh) != (fresh[:, 0] * fresh[:, 1] > 0)) < 0.05


def test_noise_does_not_make_boxes():
    rng = np.random.default_rng(3)
    x = points(rng)
    broken = (x[:, 0] > 0.5).astype(float)
    flipped = np.where(rng.random(len(x)) < 0.02, 1 - broken, broken)
    (box,) = find_regions(x, flipped, NAMES).boxes
    assert box.bounds["u"][0] == pytest.approx(0.5, abs=0.02)
    assert box.as_json()["bounds"][0]["coordinate"] == "u"
