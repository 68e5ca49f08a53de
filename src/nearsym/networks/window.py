"""Encoders of a window of days: equivariant to translation, or to scale and translation, in time.

Observations are flat vectors of window × features, time-major, oldest day first. An encoder ends in
feature maps that keep the axes of time and scale, for heads that are convolutions too
(`window_heads.py`); or, for plain heads, in invariant features over the trivial group,
(batch, 1, features). Either way policy and critics are invariant to the symmetry of time.
"""

import math
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.groups.symmetry import TimeSymmetry
from nearsym.layers.init import orthogonal_
from nearsym.networks.kit import TimeKit, make_time_kit

GAIN = math.sqrt(2.0)  # keeps the scale of features through ReLUs


class TemporalEncoder(nn.Module):
    """Convolutions over time with ReLU between them, then the mean over the window, unless the
    heads keep time."""

    def __init__(
        self,
        symmetry: TimeSymmetry,
        kit: TimeKit,
        widths: tuple[int, ...],
        *,
        keep_time: bool = False,
    ):
        super().__init__()
        self.window, self.in_features = symmetry.window, symmetry.features
        first, *rest = pairwise((symmetry.features, *widths))
        self.layers = nn.ModuleList([kit.lift(*first), *(kit.conv(*sizes) for sizes in rest)])
        self.readout = None if keep_time else kit.readout()
        self.features = widths[-1]

    def forward(self, obs: Float[Tensor, "batch flat"]) -> Float[Tensor, "batch *axes"]:
        x = obs.unflatten(1, (self.window, self.in_features)).transpose(1, 2)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x if self.readout is None else self.readout(x).unsqueeze(1)


class FlatEncoder(nn.Module):
    """Linear layers with ReLU over the whole window, which know nothing of time."""

    def __init__(self, widths: tuple[int, ...]):
        super().__init__()
        layers = [orthogonal_(nn.Linear(a, b), GAIN) for a, b in pairwise(widths)]
        self.layers = nn.ModuleList(layers)
        self.features = widths[-1]

    def forward(self, obs: Float[Tensor, "batch flat"]) -> Float[Tensor, "batch 1 features"]:
        x = obs
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x.unsqueeze(1)


def window_encoder(
    model: str,
    symmetry: TimeSymmetry,
    *,
    hidden: int,
    features: int,
    depth: int = 4,
    kernel_size: int = 5,
    filters: int = 1,
    keep_time: bool = False,
) -> TemporalEncoder | FlatEncoder:
    """The encoder of a model; widths follow the paper's table of trading hyperparameters."""
    widths = (*(hidden,) * (depth - 1), features)
    kit = make_time_kit(model, symmetry, kernel_size=kernel_size, filters=filters, gain=GAIN)
    if kit is None:
        return FlatEncoder((symmetry.window * symmetry.features, *widths))
    return TemporalEncoder(symmetry, kit, widths, keep_time=keep_time)
