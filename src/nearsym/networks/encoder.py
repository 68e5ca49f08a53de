"""Observations to features: pixels and vectors.

Every encoder maps a batch of observations to (batch, |G|, features), a regular representation.
"""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from nearsym.errors import UsageError
from nearsym.groups.representation import Representation
from nearsym.layers.constant import Constant
from nearsym.layers.init import orthogonal_
from nearsym.layers.regular import regular_features
from nearsym.networks.kit import Kit

REDUCTIONS = ("pool", "stride")
SMALLEST_SIZES = {"pool": 37, "stride": 35}
"""The exact sizes are these and every eighth after them, see `PixelEncoder`."""


class PixelEncoder(nn.Module):
    """Four convolutions, as in DrQ-v2 with two poolings (paper, Appendix C.1.1).

    Images are uint8, channel-last: (batch, size, size, channels). At 85 px the map shrinks
    85 → 42 → 40 → 20 → 18 → 9 → 7. Stride and pooling commute with flips and quarter turns only
    for sizes n ≡ 5 (mod 8).

    `reduction="stride"` gives the second convolution a stride of 2 in place of its pooling:
    51 → 25 → 12 → 10 → 5 → 3, a quarter of the work in that layer, which is the dearest; sizes
    n ≡ 3 (mod 8) are then the exact ones.
    """

    def __init__(
        self, kit: Kit, size: int, in_channels: int, channels: int, reduction: str = "pool"
    ):
        super().__init__()
        check_size(size, reduction, exact=kit.group.order > 1)
        self.group = kit.group
        self.size, self.in_channels = size, in_channels
        self.pooled = reduction == "pool"
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

    Under k the orbit is permuted, features[g] → features[k⁻¹g]: a regular representation.
    """

    def __init__(self, representation: Representation):
        super().__init__()
        self.orbit = Constant(representation.matrices[representation.group.inverse])
        self.group = representation.group
        self.features = representation.size

    def forward(self, x: Float[Tensor, "batch size"]) -> Float[Tensor, "batch group size"]:
        orbit = self.orbit()
        # Nothing is computed here that bfloat16 could speed up; it would only round what was seen.
        with torch.autocast(x.device.type, enabled=False):
            return torch.einsum("gij,bj->bgi", orbit, x.to(orbit.dtype))


def scaled_pixels(obs: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes to [−½, ½], channel-last in memory, channel-first in shape."""
    return obs.permute(0, 3, 1, 2).to(dtype, copy=True).mul_(1 / 255).sub_(0.5)


def check_size(size: int, reduction: str = "pool", *, exact: bool) -> None:
    """Refuse images that are too small, or at which a symmetric encoder would not be exact."""
    smallest = SMALLEST_SIZES[reduction]
    if size < smallest:
        raise UsageError(f"The pixel encoder needs images of {smallest} px or more, got {size}.")
    over = (size - smallest) % 8
    if exact and over:
        raise UsageError(
            f"Stride and pooling keep the symmetry exact only at sizes n ≡ {smallest % 8} (mod 8), "
            f"got {size}. The nearest are {size - over} and {size - over + 8}."
        )
