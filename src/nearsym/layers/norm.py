"""Normalisation of regular features that commutes with the group."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.groups.action import Action
from nearsym.groups.group import FiniteGroup
from nearsym.layers.actions import on_features, on_maps
from nearsym.layers.checks import check_group, check_image, check_last, check_whole


class GroupLayerNorm(nn.Module):
    """Layer normalisation of regular features.

        y[g, c] = (x[g, c] − μ) / √(σ² + ε) · weight[c] + bias[c]

    (..., |G|, channels). μ and σ² are taken over the group and channel axes together and the
    affine part is shared by all g, so the layer is exactly equivariant; over the trivial group it
    is `nn.LayerNorm`.

    >>> from nearsym.groups.catalog import dihedral
    >>> GroupLayerNorm(dihedral(1), 1)(torch.tensor([[[1.0], [3.0]]])).round(decimals=2).tolist()
    [[[-1.0], [1.0]]]
    """

    def __init__(self, group: FiniteGroup, channels: int, *, eps: float = 1e-5):
        super().__init__()
        check_group("GroupLayerNorm", group)
        check_whole("GroupLayerNorm", channels=channels)
        self.group, self.channels, self.eps = group, channels, eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(
        self, x: Float[Tensor, "*batch group channels"]
    ) -> Float[Tensor, "*batch group channels"]:
        shape = (self.group.order, self.channels)
        check_last("GroupLayerNorm", x, shape, self.weight)
        n = self.group.order
        affine = self.weight.repeat(n), self.bias.repeat(n)
        rows = x.flatten(-2)
        return F.layer_norm(rows, rows.shape[-1:], *affine, self.eps).unflatten(-1, shape)

    @property
    def in_action(self) -> Action:
        """How the group moves the input."""
        return on_features(self.group)

    @property
    def out_action(self) -> Action:
        """How the group moves the output."""
        return on_features(self.group)

    def extra_repr(self) -> str:
        return f"{self.channels}·regular of {self.group}, eps={self.eps}"


class GroupImageNorm(nn.Module):
    """The same for feature maps, with the statistics over group, channels and positions.

    (batch, |G|·channels, height, width), group-major; over the trivial group it is
    `nn.GroupNorm(1, channels)`.

    >>> from nearsym.groups.catalog import dihedral
    >>> GroupImageNorm(dihedral(1), 3)(torch.randn(2, 6, 5, 5)).shape
    torch.Size([2, 6, 5, 5])
    """

    def __init__(self, group: FiniteGroup, channels: int, *, eps: float = 1e-5):
        super().__init__()
        check_group("GroupImageNorm", group)
        check_whole("GroupImageNorm", channels=channels)
        self.group, self.channels, self.eps = group, channels, eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(
        self, x: Float[Tensor, "batch group_channels height width"]
    ) -> Float[Tensor, "batch group_channels height width"]:
        n = self.group.order
        check_image("GroupImageNorm", x, n * self.channels, self.weight)
        return F.group_norm(x, 1, self.weight.repeat(n), self.bias.repeat(n), self.eps)

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_maps(self.group.regular())

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return on_maps(self.group.regular())

    def extra_repr(self) -> str:
        return f"{self.channels}·regular of {self.group}, eps={self.eps}"
