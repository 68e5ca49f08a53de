"""Graph symmetric attention (Weissenbacher et al. 2024), from its equations: attention over tokens
on a square that cannot tell it from its mirror image."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import conv2d


class RadialConv2d(nn.Module):
    """A convolution whose kernel depends only on the distance to its centre.

        y(p) = b + Σ_o w(|o|) x(p + o)

    It commutes with flips and quarter turns where its steps leave no rest of the image.
    """

    ring_of: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: int = 0,
    ):
        super().__init__()
        self.stride, self.padding = stride, padding
        rings, ring_of = _rings(kernel_size)
        self.register_buffer("ring_of", ring_of, persistent=False)
        bound = (in_channels * kernel_size**2) ** -0.5  # that of nn.Conv2d
        weights = torch.empty(out_channels, in_channels, rings)
        self.radial = nn.Parameter(weights.uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_channels).uniform_(-bound, bound))

    def forward(
        self, x: Float[Tensor, "batch in_channels height width"]
    ) -> Float[Tensor, "batch out_channels out_height out_width"]:
        kernel = _expand(self.radial, self.ring_of)
        return conv2d(x, kernel, self.bias, stride=self.stride, padding=self.padding)


class GraphAttention(nn.Module):
    """Graph symmetric attention over a square of tokens, with a class token in front of it.

        y = softmax((A + Aᵀ) / √d) v,    A = (G_q q)(G_k k)ᵀ

    The graph matrices G join a token to its neighbours by weights of the distance alone, other
    ones for each channel: depthwise convolutions with radial kernels. The class token has no
    neighbours. No positions enter, so the tokens of the square move with its flips and quarter
    turns, exactly, and the class token is invariant.
    """

    ring_of: Tensor

    def __init__(self, width: int, heads: int, side: int, *, kernel_size: int = 3):
        super().__init__()
        self.heads, self.side = heads, side
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        rings, ring_of = _rings(kernel_size)
        self.register_buffer("ring_of", ring_of, persistent=False)
        self.radial = nn.Parameter(torch.zeros(2 * width, 1, rings))  # G_q, then G_k
        with torch.no_grad():
            self.radial[..., 0] = 1.0  # start as the identity: all weight on the centre

    def forward(
        self, x: Float[Tensor, "batch tokens width"]
    ) -> Float[Tensor, "batch tokens width"]:
        width = x.shape[-1]
        asked, value = self.project(x).split((2 * width, width), dim=-1)
        query, key = self.joined(asked).chunk(2, dim=-1)
        q, k, v = (_by_head(t, self.heads) for t in (query, key, value))
        # A + Aᵀ = (q, k)(k, q)ᵀ: one product instead of a sum over two layouts.
        scores = torch.cat([q, k], dim=-1) @ torch.cat([k, q], dim=-1).transpose(-1, -2)
        return self.out(_weighted(scores, v))

    def joined(self, asked: Tensor) -> Tensor:
        """G_q q beside G_k k, (batch, tokens, 2·width)."""
        square = asked[:, 1:].transpose(1, 2).unflatten(2, (self.side, self.side))
        kernel = _expand(self.radial, self.ring_of)
        mixed = conv2d(square, kernel, padding="same", groups=len(kernel))
        return torch.cat([asked[:, :1], mixed.flatten(2).transpose(1, 2)], dim=1)


class GraphPooling(nn.Module):
    """What graph symmetric attention makes of the class token, if all squares start with the same.

    The scores of that token, q₀·(G_k k) + k₀·(G_q q), are linear in the tokens of the square: one
    radial convolution with an output for each head, instead of a whole matrix of scores. Flips
    and quarter turns of a square change nothing, exactly.
    """

    def __init__(self, width: int, heads: int, side: int):
        super().__init__()
        self.attention = GraphAttention(width, heads, side)

    def forward(
        self, first: Float[Tensor, "1 1 width"], square: Float[Tensor, "batch tokens width"]
    ) -> Float[Tensor, "batch 1 width"]:
        heads, side = self.attention.heads, self.attention.side
        q, k, v = self.attention.project(first).flatten().unflatten(0, (3, heads, -1))
        image = square.transpose(1, 2).unflatten(2, (side, side))
        scores = conv2d(image, self._kernel(q, k), padding="same").flatten(2)
        own = 2 * (q * k).sum(dim=1)[None, :, None].expand(square.shape[0], -1, -1)
        weights = torch.softmax(torch.cat([own, scores], dim=2) * q.shape[1] ** -0.5, dim=2)
        # Weighted before they are projected: the same, for heads instead of tokens.
        pooled = weights[..., 1:] @ square  # (batch, heads, width)
        project = self.attention.project.weight.unflatten(0, (3, heads, -1))[2]
        values = torch.einsum("bhi,hdi->bhd", pooled, project) + weights[..., :1] * v
        return self.attention.out(values.flatten(1)).unsqueeze(1)

    def _kernel(self, q: Tensor, k: Tensor) -> Tensor:
        """The convolution from tokens to scores, (heads, width, size, size)."""
        other = torch.cat([k, q]).flatten()  # queries meet the first key, keys the first query
        project = self.attention.project.weight[: len(other)]
        radial = (other[:, None] * project)[..., None] * self.attention.radial
        by_head = radial.unflatten(0, (2, *q.shape)).sum(dim=(0, 2))
        return _expand(by_head, self.attention.ring_of)


class PlainAttention(nn.Module):
    """What ordinary attention makes of a first token that reads others: softmax(qkᵀ / √d) v."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.ask = nn.Linear(width, width, bias=False)
        self.answer = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(
        self, first: Float[Tensor, "batch 1 width"], others: Float[Tensor, "batch tokens width"]
    ) -> Float[Tensor, "batch 1 width"]:
        q = _by_head(self.ask(first), self.heads)
        k, v = (_by_head(t, self.heads) for t in self.answer(others).chunk(2, dim=-1))
        return self.out(_weighted(q @ k.transpose(-1, -2), v))


class Block(nn.Module):
    """Attention and a two-layer network, each after a norm and beside a skip connection."""

    def __init__(self, width: int, attention: nn.Module):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = attention
        self.mlp = _mlp(width)

    def forward(
        self, x: Float[Tensor, "batch tokens width"]
    ) -> Float[Tensor, "batch tokens width"]:
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class ReadingBlock(nn.Module):
    """A block of which only the first token goes on."""

    def __init__(self, width: int, attention: GraphPooling | PlainAttention):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = attention
        self.mlp = _mlp(width)

    def forward(
        self, first: Float[Tensor, "firsts 1 width"], others: Float[Tensor, "batch tokens width"]
    ) -> Float[Tensor, "batch 1 width"]:
        first = first + self.attention(self.norm(first), self.norm(others))
        return first + self.mlp(first)


def _mlp(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
    )


def _by_head(x: Tensor, heads: int) -> Tensor:
    """(batch, tokens, width) → (batch, heads, tokens, width / heads)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _weighted(scores: Tensor, value: Tensor) -> Tensor:
    """The values weighted by the softmax of the scores, heads side by side again."""
    weights = torch.softmax(scores * value.shape[-1] ** -0.5, dim=-1)
    return (weights @ value).transpose(1, 2).flatten(2)


def _expand(radial: Tensor, ring_of: Tensor) -> Tensor:
    """Weights for each ring, (out, in, rings), to a kernel, (out, in, size, size)."""
    # index_select: the gradient of indexing does not always repeat
    return radial.index_select(2, ring_of.flatten()).unflatten(2, ring_of.shape)


def _rings(kernel_size: int) -> tuple[int, Tensor]:
    """How many distances to its centre a kernel has, and which of them each of its places has."""
    offset = 2 * torch.arange(kernel_size) - (kernel_size - 1)  # half pixels: whole numbers
    distances = offset[:, None] ** 2 + offset[None, :] ** 2
    found, ring_of = torch.unique(distances, return_inverse=True)
    return len(found), ring_of
