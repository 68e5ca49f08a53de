"""A symmetry-invariant transformer encoder for pixels (Weissenbacher et al. 2024), from its
equations.

Local attention inside each patch makes its token; global attention over the patches makes the
class token. Both are graph symmetric: up to there a flip or a quarter turn of the image leaves the
class token as it is and moves the patch tokens. A policy on top could never turn its action over,
so a last layer breaks the symmetry: it knows where each patch is, and which way round.

By default that layer reads the image as it is and plain heads follow: the paper's baseline, which
promises no symmetry of its policy and can learn a task that has none. Over a group, the layer reads
every motion of the image instead, so that its features are a regular representation and heads of
the model exact make an exactly equivariant policy. This is not the default because it is another
model: it could no more learn a broken symmetry than exact can.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from nearsym.errors import UsageError
from nearsym.groups.catalog import trivial
from nearsym.groups.group import FiniteGroup
from nearsym.layers.regular import regular_features
from nearsym.networks.encoder import scaled_pixels
from nearsym.networks.graph_attention import (
    Block,
    GraphAttention,
    GraphPooling,
    PlainAttention,
    RadialConv2d,
    ReadingBlock,
)

CELL = 2
"""Pixels from one local token, a cell, to the next."""
SIDE = 4
"""Cells along a side of a patch."""
PATCH = SIDE * CELL
SMALLEST_SIZE = 2 * PATCH


class SymmetricTokens(NamedTuple):
    """What the symmetric part of the encoder makes of images."""

    invariant: Float[Tensor, "batch width"]
    """The class token: as it is whatever flip or quarter turn the image undergoes."""
    patches: Float[Tensor, "batch width grid grid"]
    """One token for each patch, moving with the image."""
    cells: Float[Tensor, "batch local_width cells cells"]
    """The local tokens, moving with the image."""


class LocalAttention(nn.Module):
    """Cells to one token for each patch: graph symmetric attention inside the patches.

    A patch token does not change if the cells of its patch are flipped or turned in their place.
    """

    def __init__(self, local_width: int, heads: int, width: int):
        super().__init__()
        self.class_token = nn.Parameter(_small(1, 1, local_width))
        self.block = ReadingBlock(local_width, GraphPooling(local_width, heads, SIDE))
        self.out = nn.Linear(local_width, width)

    def forward(
        self, cells: Float[Tensor, "batch local_width cells cells"]
    ) -> Float[Tensor, "batch patches width"]:
        patches = cut(cells)
        tokens = self.block(self.class_token, patches.flatten(0, 1))
        return self.out(tokens).view(*patches.shape[:2], -1)


class SymmetryBreaking(nn.Module):
    """Patch tokens that know their place and the order of their cells; a class token that reads
    them by plain attention. Neither is invariant to anything."""

    def __init__(self, local_width: int, width: int, heads: int, grid: int):
        super().__init__()
        self.places = nn.Parameter(_small(grid * grid, width))
        self.order = nn.Linear(SIDE * SIDE * local_width, width)
        self.block = ReadingBlock(width, PlainAttention(width, heads))

    def forward(self, tokens: SymmetricTokens) -> Float[Tensor, "batch tokens width"]:
        patches = tokens.patches.flatten(2).transpose(1, 2)
        patches = patches + self.order(cut(tokens.cells).flatten(2)) + self.places
        read = self.block(tokens.invariant[:, None], patches)
        return torch.cat([read, patches], dim=1)


class SiTEncoder(nn.Module):
    """Images to features: the class token and the patch tokens, after the layer that breaks.

    Patches are 8 px apart, at every size. Cells of 2 px overlap as far as the size needs, so that
    they cover the image without a rest and every flip and quarter turn is exact.

    Over a group the features of element g are those of the image moved by g⁻¹, a regular
    representation; over the trivial group, the default, no symmetry is left.

    >>> encoder = SiTEncoder(51, 9)
    >>> image = torch.randint(0, 256, (1, 51, 51, 9), dtype=torch.uint8)
    >>> tokens, mirrored = encoder.tokens(image), encoder.tokens(image.flip(2))
    >>> torch.allclose(tokens.invariant, mirrored.invariant, atol=1e-4)
    True
    >>> torch.allclose(encoder(image), encoder(image.flip(2)), atol=1e-4)
    False
    """

    def __init__(
        self,
        size: int,
        in_channels: int,
        *,
        group: FiniteGroup | None = None,
        width: int = 64,
        heads: int = 8,
        local_width: int = 16,
        local_heads: int = 4,
        depth: int = 2,
    ):
        super().__init__()
        if size < SMALLEST_SIZE:
            raise UsageError(
                f"The model sit cuts images into patches of {PATCH} px, at least two a side: "
                f"`size` must be {SMALLEST_SIZE} or more, got {size}."
            )
        self.group = trivial() if group is None else group
        self.grid, rest = divmod(size, PATCH)
        # A kernel of CELL alone would be one ring, a mean: without a rest, one pixel of padding.
        kernel, padding = (CELL + rest, 0) if rest else (CELL + 2, 1)
        self.embed = RadialConv2d(in_channels, local_width, kernel, stride=CELL, padding=padding)
        self.local = LocalAttention(local_width, local_heads, width)
        self.class_token = nn.Parameter(_small(1, 1, width))
        self.blocks = nn.Sequential(
            *(Block(width, GraphAttention(width, heads, self.grid)) for _ in range(depth))
        )
        self.breaking = SymmetryBreaking(local_width, width, heads, self.grid)
        self.norm = nn.LayerNorm(width)
        self.features = width * (self.grid**2 + 1)

    def forward(
        self, obs: UInt8[Tensor, "batch height width channels"]
    ) -> Float[Tensor, "batch group features"]:
        tokens = orbit(self.tokens(obs), self.group)
        features = self.norm(self.breaking(tokens)).flatten(1)
        return features.unflatten(0, (-1, self.group.order))

    def tokens(self, obs: UInt8[Tensor, "batch height width channels"]) -> SymmetricTokens:
        """What there is before the symmetry is broken."""
        cells = self.embed(scaled_pixels(obs, self.class_token.dtype))
        patches = self.local(cells)
        first = self.class_token.expand(patches.shape[0], -1, -1)
        x = self.blocks(torch.cat([first, patches], dim=1))
        grid = x[:, 1:].transpose(1, 2).unflatten(2, (self.grid, self.grid))
        return SymmetricTokens(x[:, 0], grid, cells)


def orbit(tokens: SymmetricTokens, group: FiniteGroup) -> SymmetricTokens:
    """The tokens of the image moved by each g⁻¹, one after the other in the batch axis."""
    if group.order == 1:
        return tokens
    invariant = tokens.invariant[:, None].expand(-1, group.order, -1).flatten(0, 1)
    return SymmetricTokens(invariant, _moved(tokens.patches, group), _moved(tokens.cells, group))


def _moved(maps: Tensor, group: FiniteGroup) -> Tensor:
    copies = maps.repeat(1, group.order, 1, 1)
    return regular_features(copies, group).reshape(-1, *maps.shape[1:])


def cut(cells: Tensor) -> Tensor:
    """(batch, local_width, n, n) → (batch, patches, cells of a patch, local_width)."""
    rows = cells.permute(0, 2, 3, 1).unflatten(2, (-1, SIDE)).unflatten(1, (-1, SIDE))
    return rows.transpose(2, 3).flatten(3, 4).flatten(1, 2)


def _small(*shape: int) -> Tensor:
    return 0.02 * torch.randn(shape)
