"""Actors and critics over a window of days: (relaxed) group convolutions, an invariant readout.

They take the encoder's feature maps, (batch, channels, days) or (batch, scales, channels, days),
and keep the axes of time and scale to the end. Policy and values are invariant to the symmetry of
time while the layers are exact: everything that is read out is a mean over days and scales.
"""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.layers.scale import ScaleConv1d
from nearsym.layers.temporal import TranslationConv1d
from nearsym.networks.heads import GaussianActor
from nearsym.networks.kit import TimeKit

Conv = TranslationConv1d | ScaleConv1d
"""Layers that know shorter ways for constant channels and for sums over their output."""


class WindowBody(nn.Module):
    """Feature maps to plain numbers: convolutions with ReLU between them, and the readout."""

    def __init__(self, kit: TimeKit, widths: tuple[int, ...]):
        super().__init__()
        self.layers = nn.ModuleList(kit.head(a, b) for a, b in pairwise(widths[:-1]))
        self.last = kit.head(*widths[-2:])
        self.readout = kit.readout()

    def forward(
        self, x: Float[Tensor, "batch *axes"], constant: Float[Tensor, "batch more"] | None = None
    ) -> Float[Tensor, "batch out"]:
        """`constant` are further channels, the same on every day and every scale."""
        for layer in self.layers:
            x, constant = torch.relu(_beside(layer, x, constant)), None
        if constant is not None or not isinstance(self.last, Conv):
            return self.readout(_beside(self.last, x, constant))
        return self.last.read(x, self.readout)


def _beside(layer: nn.Module, x: Tensor, constant: Tensor | None) -> Tensor:
    """A layer on x and constant channels beside it, spelled out for a layer that needs them so."""
    if constant is None:
        return layer(x)
    constant = constant.to(x.dtype)
    if isinstance(layer, Conv):
        return layer.beside(x, constant)
    for _ in range(x.ndim - 3):  # scales stand before the channels
        constant = constant.unsqueeze(1)
    shape = (*x.shape[:-2], constant.shape[-1], x.shape[-1])
    return layer(torch.cat([x, constant.unsqueeze(-1).expand(shape)], dim=-2))


class WindowActor(nn.Module):
    """The mean of a policy before its tanh."""

    def __init__(self, kit: TimeKit, channels: int, hidden: tuple[int, ...], actions: int):
        super().__init__()
        self.mean = WindowBody(kit, (channels, *hidden, actions))

    def forward(self, features: Float[Tensor, "batch *axes"]) -> Float[Tensor, "batch action"]:
        return self.mean(features)


class WindowGaussianActor(nn.Module):
    """Mean and log-standard-deviation of SAC's normal before its tanh."""

    def __init__(self, kit: TimeKit, channels: int, hidden: tuple[int, ...], actions: int):
        super().__init__()
        self.both = WindowBody(kit, (channels, *hidden, 2 * actions))

    def forward(
        self, features: Float[Tensor, "batch *axes"]
    ) -> tuple[Float[Tensor, "batch action"], Float[Tensor, "batch action"]]:
        mean, log_std = self.both(features).chunk(2, dim=-1)
        return mean, log_std.clamp(*GaussianActor.LOG_STD_RANGE)


class WindowTwinCritic(nn.Module):
    """Two values Q(s, a): the action stands beside the features on every day and every scale, which
    a shift in time leaves as it is."""

    def __init__(self, kit: TimeKit, channels: int, hidden: tuple[int, ...], actions: int):
        super().__init__()
        widths = (channels + actions, *hidden, 1)
        self.bodies = nn.ModuleList(WindowBody(kit, widths) for _ in range(2))

    def forward(
        self, features: Float[Tensor, "batch *axes"], action: Float[Tensor, "batch action"]
    ) -> Float[Tensor, "2 batch"]:
        return torch.cat([body(features, action) for body in self.bodies], dim=-1).T


WINDOW_ACTORS = {"drqv2": WindowActor, "sac": WindowGaussianActor}
