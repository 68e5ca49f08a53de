"""Random shifts of images: DrQ's augmentation, as integer crops of bytes."""

import numpy as np
import torch
from jaxtyping import Int, UInt8
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor


def draw_shifts(batch: int, pad: int, generator: torch.Generator) -> Int[Tensor, "batch 2"]:
    """One shift (rows, columns) in 0…2·pad for each image; `pad` means no shift.

    >>> draw_shifts(5, pad=4, generator=torch.Generator()).shape
    torch.Size([5, 2])
    """
    return torch.randint(0, 2 * pad + 1, (batch, 2), generator=generator, device=generator.device)


def shift_images(
    images: UInt8[Tensor, "batch height width channels"],
    shifts: Int[Tensor, "batch 2"],
    pad: int,
) -> UInt8[Tensor, "batch height width channels"]:
    """out[i, j] = image[i + row − pad, j + column − pad], the border repeated outside.

    Equal to the published version, which pads and interpolates but shifts by whole pixels too;
    copying bytes costs a hundredth of resampling floats.

    >>> row = torch.tensor([[[[1], [2], [3]]]], dtype=torch.uint8)  # one image of 1 × 3
    >>> shift_images(row, torch.tensor([[1, 2]]), pad=1).flatten().tolist()
    [2, 3, 3]
    """
    copy = copy_rows if images.device.type == "cpu" else copy_by_index
    return copy(images, shifts - pad)


def copy_by_index(images: Tensor, moves: Int[Tensor, "batch 2"]) -> Tensor:
    """out[i, j] = image[i + down, j + right], one gather for the batch: for an accelerator."""
    batch, height, width, _ = images.shape
    first = torch.arange(batch, device=images.device)
    rows = (torch.arange(height, device=images.device) + moves[:, :1]).clamp(0, height - 1)
    columns = (torch.arange(width, device=images.device) + moves[:, 1:]).clamp(0, width - 1)
    return images[first[:, None, None], rows[:, :, None], columns[:, None, :]]


def copy_rows(images: Tensor, moves: Int[Tensor, "batch 2"]) -> Tensor:
    """The same: a processor copies whole rows faster than it gathers pixels.

    Rows that are longer by their repeated ends hold every shifted row as one run of bytes.
    """
    source, (down, right) = images.numpy(), moves.numpy().T
    batch, height, width, channels = source.shape
    left, end = -int(right.min(initial=0)), int(right.max(initial=0))
    longer = np.empty((batch, height, left + width + end, channels), source.dtype)
    longer[:, :, left : left + width] = source
    longer[:, :, :left] = source[:, :, :1]
    longer[:, :, left + width :] = source[:, :, -1:]
    runs = sliding_window_view(longer.reshape(batch, height, -1), width * channels, axis=-1)
    rows = (np.arange(height) + down[:, None]).clip(0, height - 1)
    shifted = runs[np.arange(batch)[:, None], rows, (right[:, None] + left) * channels]
    return torch.from_numpy(shifted.reshape(source.shape))
