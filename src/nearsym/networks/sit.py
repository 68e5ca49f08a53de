"""A symmetry-invariant transformer encoder for pixels (Weissenbacher et al. 2024), from its
equations."""

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from nearsym.errors import UsageError
from nearsym.networks.encoder import scaled_pixels


class SymmetricAttention(nn.Module):
    """Attention over a grid of patches that cannot tell a picture from its mirror image.

    Queries and keys pass a depthwise convolution over the patch grid whose kernel depends only on
    the distance to its centre; scores are made symmetric, A ← A + Aᵀ, before the softmax. No
    positions enter anywhere. Token 0 is the class token, which the convolutions leave out.
    """

    ring_of: Tensor

    def __init__(self, width: int, heads: int, grid: int, kernel_size: int = 3):
        super().__init__()
        self.heads, self.grid = heads, grid
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        distance = _squared_distances(kernel_size)
        rings, ring_of = torch.unique(distance, return_inverse=True)
        self.register_buffer("ring_of", ring_of, persistent=False)
        self.radial = nn.Parameter(torch.zeros(2, width, len(rings)))
        with torch.no_grad():
            self.radial[..., 0] = 1.0  # start as the identity: all weight on the centre

    def forward(
        self, x: Float[Tensor, "batch tokens width"]
    ) -> Float[Tensor, "batch tokens width"]:
        batch, tokens, width = x.shape
        query, key, value = self.project(x).chunk(3, dim=-1)
        query, key = self._radial_conv(query, 0), self._radial_conv(key, 1)
        q, k, v = (
            t.reshape(batch, tokens, self.heads, -1).transpose(1, 2) for t in (query, key, value)
        )
        # With A = qkᵀ, A + Aᵀ = (q, k)(k, q)ᵀ: one product instead of a sum over two layouts.
        scores = torch.cat([q, k], dim=-1) @ torch.cat([k, q], dim=-1).transpose(-1, -2)
        weights = torch.softmax(scores * (width // self.heads) ** -0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))

    def _radial_conv(self, tokens: Tensor, which: int) -> Tensor:
        patches = tokens[:, 1:].transpose(1, 2).unflatten(2, (self.grid, self.grid))
        size = self.ring_of.shape  # index_select: the gradient of indexing does not always repeat
        kernel = self.radial[which].index_select(1, self.ring_of.flatten()).unflatten(1, (1, *size))
        mixed = nn.functional.conv2d(patches, kernel, padding="same", groups=len(kernel))
        return torch.cat([tokens[:, :1], mixed.flatten(2).transpose(1, 2)], dim=1)


class Block(nn.Module):
    """Attention and a two-layer network, each after a norm and beside a skip connection."""

    def __init__(self, width: int, heads: int, grid: int):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), SymmetricAttention(width, heads, grid))
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(x)
        return x + self.mlp(x)


class SiTEncoder(nn.Module):
    """Images to one vector: the class token, which is invariant to flips and turns of the patch
    grid, followed by the patch tokens, which move with it.

    An actor that read only the class token could never turn its action over. Patches are
    embedded as they are, so invariance holds for the arrangement of the patches, not inside them.
    """

    def __init__(
        self,
        size: int,
        in_channels: int,
        *,
        patch: int = 8,
        width: int = 64,
        heads: int = 8,
        depth: int = 2,
    ):
        super().__init__()
        if size % patch:
            nearest = max(round(size / patch), 1) * patch
            raise UsageError(
                f"SiT cuts images into patches of {patch}: the size must be a multiple, "
                f"got {size}. The nearest `size` is {nearest}."
            )
        grid = size // patch
        self.embed = nn.Conv2d(in_channels, width, patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.blocks = nn.Sequential(*(Block(width, heads, grid) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.features = width * (grid * grid + 1)

    def forward(
        self, obs: UInt8[Tensor, "batch height width channels"]
    ) -> Float[Tensor, "batch 1 features"]:
        x = scaled_pixels(obs, self.class_token.dtype)
        patches = self.embed(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_token.expand(x.shape[0], -1, -1), patches], dim=1)
        return self.norm(self.blocks(tokens)).flatten(1).unsqueeze(1)


def _squared_distances(kernel_size: int) -> Tensor:
    offset = torch.arange(kernel_size) - kernel_size // 2
    return offset[:, None] ** 2 + offset[None, :] ** 2
