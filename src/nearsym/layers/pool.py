"""Pooling that respects the group: over positions, and over the group itself."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.action import Action, Invariant
from nearsym.groups.group import FiniteGroup
from nearsym.layers.actions import on_features, on_pixels
from nearsym.layers.checks import check_group, check_whole
from nearsym.layers.sizes import warn_if_inexact

KINDS = ("max", "mean")


class SpatialPool2d(nn.Module):
    """The largest or the mean value in windows over positions, in every channel on its own.

    Exactly equivariant where the windows end at the far edge (`sizes.exact_sizes`); elsewhere it
    warns once. (batch, channels, height, width) in any channel order.

    >>> from nearsym.groups.catalog import dihedral
    >>> SpatialPool2d(dihedral(1), "max", 2)
    SpatialPool2d(max, D1, kernel_size=2, stride=2)
    """

    padding = 0

    def __init__(self, group: FiniteGroup, kind: str, kernel_size: int, stride: int | None = None):
        super().__init__()
        check_group("SpatialPool2d", group)
        if kind not in KINDS:
            raise unknown_name("kind of pooling", kind, KINDS)
        self.group, self.kind, self.kernel_size = group, kind, kernel_size
        self.stride = kernel_size if stride is None else stride
        check_whole("SpatialPool2d", kernel_size=kernel_size, stride=self.stride)

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        warn_if_inexact(self, x.shape)
        pool = F.max_pool2d if self.kind == "max" else F.avg_pool2d
        return pool(x, self.kernel_size, self.stride)

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_pixels(self.group)

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return on_pixels(self.group)

    def extra_repr(self) -> str:
        size = f"kernel_size={self.kernel_size}, stride={self.stride}"
        return f"{self.kind}, {self.group}, {size}"


class InvariantPool(nn.Module):
    """The largest or the mean value over the group: regular features become invariant ones.

    (..., |G|, channels) → (..., channels).

    >>> import torch
    >>> from nearsym.groups.catalog import dihedral
    >>> InvariantPool(dihedral(1))(torch.tensor([[1.0, 5.0], [3.0, 7.0]]))
    tensor([2., 6.])
    """

    def __init__(self, group: FiniteGroup, kind: str = "mean"):
        super().__init__()
        check_group("InvariantPool", group)
        if kind not in KINDS:
            raise unknown_name("kind of pooling", kind, KINDS)
        self.group, self.kind = group, kind

    def forward(
        self, x: Float[Tensor, "*batch group channels"]
    ) -> Float[Tensor, "*batch channels"]:
        if x.ndim < 2 or x.shape[-2] != self.group.order:
            raise UsageError(
                f"InvariantPool expects (..., {self.group.order}, channels) for {self.group}, "
                f"got shape {tuple(x.shape)}."
            )
        return x.amax(-2) if self.kind == "max" else x.mean(-2)

    @property
    def in_action(self) -> Action:
        """How the group moves the input."""
        return on_features(self.group)

    @property
    def out_action(self) -> Action:
        """How the group moves the output."""
        return Invariant(self.group)

    def extra_repr(self) -> str:
        return f"{self.kind}, {self.group}"
