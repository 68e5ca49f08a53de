"""Observations to features: pixels and vectors.

Every encoder maps a batch of observations to (batch, |G|, features), a regular representation.
"""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.functional import max_pool2d

from nearsym.errors import UsageError
from nearsym.groups.representation import Representation
from nearsym.layers.constant import Constant
from nearsym.layers.init import orthogonal_
from nearsym.layers.regular import regular_features
from nearsym.networks.kit import Kit
from nearsym.networks.normalise import Normaliser

SMALLEST_SIZE = 37
FARTHEST = 100.0
"""Where normalised entries end: rare ones must not shake the networks."""


class PixelEncoder(nn.Module):
    """Four convolutions, as in DrQ-v2 with two poolings (paper, Appendix D.1.1).

    Images are uint8, channel-last: (batch, size, size, channels). At 85 px the map shrinks
    85 → 42 → 40 → 20 → 18 → 9 → 7. Stride and pooling commute with flips and quarter turns only
    for sizes n ≡ 5 (mod 8).

    At sizes n ≡ 3 (mod 8) the second convolution has a stride of 2 in place of its pooling:
    51 → 25 → 12 → 10 → 5 → 3. That is exact too, and the most expensive
    layer has a quarter of the work.
    """

    def __init__(self, kit: Kit, size: int, in_channels: int, channels: int):
        super().__init__()
        check_size(size, exact=kit.group.order > 1)
        self.group = kit.group
        self.size, self.in_channels = size, in_channels
        self.pooled = size % 8 != 3
        self.convs = nn.ModuleList(
            [
                kit.lift_conv(in_channels, channels, 3, stride=2),
                kit.conv(channels, channels, 3, stride=1 if self.pooled else 2),
                kit.conv(channels, channels, 3),
                kit.conv(channels, channels, 3),
            ]
        )
        for conv in self.convs:
            orthogonal_(conv, gain=np.sqrt(2.0))
        first = (size - 1) // 2
        second = (first - 2) // 2 if self.pooled else (first - 1) // 2
        side = (second - 2) // 2 - 2
        self.features = channels * side * side

    def forward(
        self, obs: UInt8[Tensor, "batch height width channels"]
    ) -> Float[Tensor, "batch group features"]:
        x = scaled_pixels(obs, self.dtype)
        # The largest activations: in place, and pooled before the ReLU, which commutes with it.
        x = torch.relu_(self.convs[0](x))
        x = self.convs[1](x)
        x = torch.relu_(max_pool2d(x, 2) if self.pooled else x)
        x = torch.relu_(max_pool2d(self.convs[2](x), 2))
        x = torch.relu_(self.convs[3](x))
        return regular_features(x, self.group)

    @property
    def dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype


class VectorEncoder(nn.Module):
    """The orbit of a vector: features[g] = ρ(g)⁻¹ x. No parameters.

    Under k the orbit is permuted, features[g] → features[k⁻¹g]: a regular representation. With a
    normaliser ν it is the orbit of ν(x), clipped entry by entry, which a permutation does not mind.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.representation import sign
    >>> VectorEncoder(sign(dihedral(1)))(torch.tensor([[2.0]]))
    tensor([[[ 2.],
             [-2.]]])
    """

    def __init__(self, representation: Representation, *, normalise: bool = False):
        super().__init__()
        self.normaliser = Normaliser(representation) if normalise else None
        undo = representation.matrices[representation.group.inverse]  # ρ(g)⁻¹
        self.orbit = Constant(undo.reshape(-1, representation.size))
        self.group = representation.group
        self.features = representation.size

    def forward(self, x: Float[Tensor, "batch size"]) -> Float[Tensor, "batch group size"]:
        if not torch.is_autocast_enabled(x.device.type):
            return self._moved(x)
        # Nothing is computed here that bfloat16 could speed up; it would only round what was seen.
        with torch.autocast(x.device.type, enabled=False):
            return self._moved(x)

    def _moved(self, x: Tensor) -> Tensor:
        orbit = self.orbit()
        x = x.to(orbit.dtype)
        if self.normaliser is None:
            return F.linear(x, orbit).unflatten(-1, (self.group.order, -1))
        moved = F.linear(self.normaliser(x), orbit).unflatten(-1, (self.group.order, -1))
        return moved.clamp(-FARTHEST, FARTHEST)


def scaled_pixels(obs: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes to [−½, ½], channel-last in memory, channel-first in shape."""
    return obs.permute(0, 3, 1, 2).to(dtype, copy=True).mul_(1 / 255).sub_(0.5)


def check_size(size: int, *, exact: bool) -> None:
    """Refuse images that are too small, or at which a symmetric encoder would not be exact."""
    if size < SMALLEST_SIZE:
        raise UsageError(
            f"The pixel encoder needs images of {SMALLEST_SIZE} px or more, got {size}."
        )
    if exact and size % 8 not in (3, 5):
        near = [n for n in range(size - 5, size + 6) if n >= SMALLEST_SIZE and n % 8 in (3, 5)]
        below, above = max(n for n in near if n < size), min(n for n in near if n > size)
        raise UsageError(
            "Stride and pooling keep the symmetry exact only at sizes n ≡ 5 (mod 8), as in the "
            f"paper, and n ≡ 3 (mod 8), got {size}. The nearest are {below} and {above}."
        )
