"""Random shifts, beside the published version that resamples floats."""

import pytest
import torch

from nearsym.agents.augment import copy_by_index, draw_shifts, shift_images
from nearsym.benchmarks.published import published_shift


@pytest.fixture
def images():
    return torch.randint(0, 256, (40, 13, 13, 6), dtype=torch.uint8)


@pytest.mark.parametrize("pad", [1, 4])
def test_equals_the_interpolating_version(images, pad):
    shifts = draw_shifts(len(images), pad, torch.Generator().manual_seed(0))
    found = shift_images(images, shifts, pad)
    assert found.dtype == torch.uint8
    slow = published_shift(images.permute(0, 3, 1, 2).double(), shifts, pad).permute(0, 2, 3, 1)
    assert (found.double() - slow).abs().max() < 1e-9


@pytest.mark.parametrize("pad", [0, 3, 20])
def test_one_gather_copies_the_same_bytes(images, pad):
    shifts = draw_shifts(len(images), pad, torch.Generator().manual_seed(1))
    shifts = shifts.clamp(pad - 12, pad + 12)  # something of each picture stays in view
    assert torch.equal(copy_by_index(images, shifts - pad), shift_images(images, shifts, pad))


def test_by_hand():
    image = torch.arange(9, dtype=torch.uint8).view(1, 3, 3, 1)
    moved = shift_images(image, torch.tensor([[0, 3]]), pad=2)  # two rows down, one column left
    assert moved[0, :, :, 0].tolist() == [[1, 2, 2], [1, 2, 2], [1, 2, 2]]
    up = shift_images(image, torch.tensor([[4, 2]]), pad=2)
    assert up[0, :, :, 0].tolist() == [[6, 7, 8]] * 3


def test_the_middle_shift_changes_nothing(images):
    assert torch.equal(shift_images(images, torch.full((40, 2), 4), 4), images)
    assert torch.equal(shift_images(images, torch.zeros(40, 2, dtype=torch.int64), 0), images)


def test_the_input_stays(images):
    before = images.clone()
    shift_images(images, draw_shifts(40, 4, torch.Generator().manual_seed(0)), 4)
    assert torch.equal(before, images)


def test_shifts_are_uniform_independent_and_bound_to_the_generator():
    shifts = draw_shifts(90_000, 4, torch.Generator().manual_seed(5))
    counts = torch.bincount(shifts[:, 0] * 9 + shifts[:, 1], minlength=81)
    assert counts.min() > 900  # 1111 expected
    assert counts.max() < 1300
    assert torch.equal(shifts, draw_shifts(90_000, 4, torch.Generator().manual_seed(5)))
