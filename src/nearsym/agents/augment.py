"""Random shifts of images: DrQ's augmentation, as integer crops of bytes."""

from typing import Any

import torch
from jaxtyping import Int, UInt8
from torch import Tensor


def draw_shifts(batch: int, pad: int, generator: torch.Generator) -> Int[Tensor, "batch 2"]:
    """One shift (rows, columns) in 0…2·pad for each image; `pad` means no shift."""
    return torch.randint(0, 2 * pad + 1, (batch, 2), generator=generator, device=generator.device)


def shift_images(
    images: UInt8[Tensor, "batch height width channels"],
    shifts: Int[Tensor, "batch 2"],
    pad: int,
) -> UInt8[Tensor, "batch height width channels"]:
    """out[i, j] = image[i + row − pad, j + column − pad], the border repeated outside.

    Equal to the published version, which pads and interpolates but shifts by whole pixels too;
    copying bytes costs a hundredth of resampling floats.
    """
    out = torch.empty_like(images)
    on_cpu = images.device.type == "cpu"  # where numpy's slices are the cheaper ones
    source, target = (images.numpy(), out.numpy()) if on_cpu else (images, out)
    for i, (row, column) in enumerate(shifts.tolist()):
        _shift(source[i], target[i], row - pad, column - pad)
    return out


def _shift(source: Any, target: Any, down: int, right: int) -> None:
    """Copy what both pictures show, then repeat its edges: columns first, whole rows after."""
    height, width = source.shape[:2]
    top, bottom = max(0, -down), min(height, height - down)
    left, end = max(0, -right), min(width, width - right)
    seen = source[top + down : bottom + down, left + right : end + right]
    target[top:bottom, left:end] = seen
    target[top:bottom, :left] = seen[:, :1]
    target[top:bottom, end:] = seen[:, -1:]
    target[:top] = target[top]
    target[bottom:] = target[bottom - 1]
