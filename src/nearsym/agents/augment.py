"""Random shifts of images: DrQ's augmentation, as integer crops of bytes."""

import torch
from jaxtyping import UInt8
from torch import Tensor


def draw_shifts(batch: int, pad: int, generator: torch.Generator) -> Tensor:
    """One shift (rows, columns) in 0…2·pad for each image; `pad` means no shift."""
    device = generator.device
    return torch.randint(0, 2 * pad + 1, (batch, 2), generator=generator, device=device)


def shift_images(
    images: UInt8[Tensor, "batch height width channels"], shifts: Tensor, pad: int
) -> UInt8[Tensor, "batch height width channels"]:
    """Pad by repeating the border, then crop at each image's shift.

    Equal to the published interpolating version, whose shifts are whole pixels too; cropping
    bytes costs a fraction of resampling floats.
    """
    height, width = images.shape[1:3]
    padded = _replicate(images, pad)
    out = torch.empty_like(images)
    for i, (row, column) in enumerate(shifts.tolist()):
        out[i] = padded[i, row : row + height, column : column + width]
    return out


def _replicate(images: Tensor, pad: int) -> Tensor:
    batch, height, width, channels = images.shape
    padded = images.new_empty(batch, height + 2 * pad, width + 2 * pad, channels)
    inner = slice(pad, pad + width)
    padded[:, pad : pad + height, inner] = images
    padded[:, :pad, inner] = images[:, :1]
    padded[:, pad + height :, inner] = images[:, -1:]
    padded[:, :, :pad] = padded[:, :, pad : pad + 1]
    padded[:, :, pad + width :] = padded[:, :, pad + width - 1 : pad + width]
    return padded
