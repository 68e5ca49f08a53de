"""Lifting and group convolution on the pixel grid, exact and relaxed.

Group channels are flattened group-major: channel c of element g stands at g·channels + c.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.groups.action import Action, grid_moves
from nearsym.groups.group import FiniteGroup
from nearsym.layers.actions import on_maps, on_pixels
from nearsym.layers.checks import check_group, check_image, check_relaxation, check_whole
from nearsym.layers.relaxation import start_equal
from nearsym.layers.sizes import warn_if_inexact


class LiftingConv2d(nn.Module):
    """From images to features over positions and group elements.

        y[g](p) = Σ_l w[l, g] Σ_q ψ_l(g⁻¹(q − p)) x(q) + b

    (batch, in, height, width) → (batch, |G|·out, height', width'). Without relaxed weights w = 1
    and the layer is exactly equivariant, given sizes that fit its stride (`sizes.exact_sizes`);
    with them it is while w is the same for every g, as at the start.

    >>> from nearsym.groups.catalog import dihedral
    >>> LiftingConv2d(dihedral(2), 9, 16, 3, stride=2)
    LiftingConv2d(9 → 16·regular of D2, kernel_size=3, stride=2, padding=0)
    """

    index: Tensor

    def __init__(
        self,
        group: FiniteGroup,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: int = 0,
        relaxed: bool = False,
        filters: int = 1,
        bias: bool = True,
    ):
        super().__init__()
        _check_options("LiftingConv2d", group, in_channels, out_channels, kernel_size, stride)
        check_whole("LiftingConv2d", 0, padding=padding)
        check_relaxation("LiftingConv2d", relaxed, filters)
        self.group, self.relax = group, "output"
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        # One axis more than needed: `.to(memory_format=channels_last)` fails on five axes.
        shape = (filters, out_channels, in_channels, 1, kernel_size, kernel_size)
        self.filters = nn.Parameter(torch.empty(shape))
        self.relaxed = nn.Parameter(start_equal(filters, group.order)) if relaxed else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.register_buffer("index", _lifting_index(group, kernel_size), persistent=False)
        _reset(self.filters, self.bias, in_channels * kernel_size**2)

    def forward(
        self, x: Float[Tensor, "batch in_channels height width"]
    ) -> Float[Tensor, "batch group_out new_height new_width"]:
        check_image("LiftingConv2d", x, self.in_channels, self.filters)
        return _convolve(self, x, self.kernel())

    def kernel(self) -> Float[Tensor, "group_out in_channels size size"]:
        """The kernel of the plain convolution that this layer is."""
        kernels = self._moved(self.filters)  # (filters, group, out, in, size, size)
        if self.relaxed is not None:
            kernels = kernels * self.relaxed[:, :, None, None, None, None]
        return _summed(kernels).flatten(0, 1)

    def _moved(self, filters: Tensor) -> Tensor:
        """ψ(g⁻¹·) for every g."""
        size = self.kernel_size
        moved = filters.flatten(-3).index_select(-1, self.index)  # (…, out, in, group·size·size)
        return moved.unflatten(-1, (-1, size, size)).movedim(-3, -5)

    def expand(self, filters: Tensor) -> Float[Tensor, "rows columns"]:
        """The exact kernel of one filter as a matrix: rows (g, out), columns (in, positions)."""
        return self._moved(filters).flatten(0, 1).flatten(1)

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Tensor:
        """The filter of an equivariant kernel: its rows at g = e."""
        return matrix[: self.out_channels].reshape(self.filters.shape[1:])

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_pixels(self.group)

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return on_maps(self.group.regular())

    def unconstrained(self) -> nn.Conv2d:
        """The unconstrained layer of the same shape."""
        return _plain(self, self.in_channels, self.group.order * self.out_channels)

    def extra_repr(self) -> str:
        return _describe(self, f"{self.in_channels}")


class GroupConv2d(nn.Module):
    """From features over positions and group elements to more of them.

        y[g](p) = Σ_h Σ_l w[l, h] Σ_q ψ_l(g⁻¹h, g⁻¹(q − p)) x[h](q) + b     relax="input"
        y[g](p) = Σ_h Σ_l w[l, g] Σ_q ψ_l(g⁻¹h, g⁻¹(q − p)) x[h](q) + b     relax="output"

    (batch, |G|·in, height, width) → (batch, |G|·out, height', width'). Without relaxed weights
    w = 1 and the layer is exactly equivariant, given sizes that fit its stride
    (`sizes.exact_sizes`); with them it is while w is the same for every element, as at the start.

    >>> from nearsym.groups.catalog import dihedral
    >>> GroupConv2d(dihedral(1), 22, 22, 3, relaxed=True)
    GroupConv2d(22·regular → 22·regular of D1, kernel_size=3, stride=1, padding=0, relaxed input, \
filters=1)
    """

    index: Tensor

    def __init__(
        self,
        group: FiniteGroup,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: int = 0,
        relaxed: bool = False,
        filters: int = 1,
        relax: str = "input",
        bias: bool = True,
    ):
        super().__init__()
        _check_options("GroupConv2d", group, in_channels, out_channels, kernel_size, stride)
        check_whole("GroupConv2d", 0, padding=padding)
        check_relaxation("GroupConv2d", relaxed, filters, relax)
        self.group, self.relax = group, relax
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        shape = (filters, out_channels, in_channels, group.order, kernel_size, kernel_size)
        self.filters = nn.Parameter(torch.empty(shape))
        self.relaxed = nn.Parameter(start_equal(filters, group.order)) if relaxed else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.register_buffer("index", _group_index(group, kernel_size), persistent=False)
        _reset(self.filters, self.bias, group.order * in_channels * kernel_size**2)

    def forward(
        self, x: Float[Tensor, "batch group_in height width"]
    ) -> Float[Tensor, "batch group_out new_height new_width"]:
        check_image("GroupConv2d", x, self.group.order * self.in_channels, self.filters)
        return _convolve(self, x, self.kernel())

    def kernel(self) -> Float[Tensor, "group_out group_in size size"]:
        """The kernel of the plain convolution that this layer is."""
        kernels = self._moved(self.filters)  # (filters, g, out, h, in, size, size)
        if self.relaxed is not None:
            w = (
                self.relaxed[:, None, None]
                if self.relax == "input"
                else self.relaxed[..., None, None]
            )
            kernels = kernels * w[..., None, None, None]
        return _summed(kernels).flatten(2, 3).flatten(0, 1)

    def _moved(self, filters: Tensor) -> Tensor:
        """ψ(g⁻¹h, g⁻¹·) for every g and h."""
        n, size = self.group.order, self.kernel_size
        moved = filters.flatten(-3).index_select(-1, self.index)  # (…, out, in, g·h·size·size)
        moved = moved.unflatten(-1, (n, n, size, size))  # (…, out, in, g, h, size, size)
        return moved.movedim((-4, -3), (-6, -4))

    def expand(self, filters: Tensor) -> Float[Tensor, "rows columns"]:
        """The exact kernel of one filter as a matrix: rows (g, out), columns (h, in, positions)."""
        return self._moved(filters).flatten(0, 1).flatten(1)

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Tensor:
        """The filter of an equivariant kernel: its rows at g = e."""
        n, size = self.group.order, self.kernel_size
        first = matrix[: self.out_channels].reshape(-1, n, self.in_channels, size, size)
        return first.transpose(1, 2)

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_maps(self.group.regular())

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return self.in_action

    def unconstrained(self) -> nn.Conv2d:
        """The unconstrained layer of the same shape."""
        n = self.group.order
        return _plain(self, n * self.in_channels, n * self.out_channels)

    def extra_repr(self) -> str:
        return _describe(self, f"{self.in_channels}·regular")


def _lifting_index(group: FiniteGroup, size: int) -> Tensor:
    """Where position (g, row, column) of the moved kernels stands in the flat filter."""
    positions = np.arange(size * size).reshape(size, size)
    moved = [move.apply(positions, 0, 1) for move in grid_moves(group)]
    return torch.from_numpy(np.stack(moved).flatten())


def _group_index(group: FiniteGroup, size: int) -> Tensor:
    """Where position (g, h, row, column) of the moved kernels stands in the flat filter."""
    positions = np.arange(group.order * size * size).reshape(group.order, size, size)
    moves = grid_moves(group)
    moved = [
        move.apply(positions[relative], 1, 2)
        for move, relative in zip(moves, group.relative, strict=True)
    ]
    return torch.from_numpy(np.stack(moved).flatten())


def _summed(kernels: Float[Tensor, "filters *shape"]) -> Float[Tensor, "*shape"]:
    return kernels.squeeze(0) if len(kernels) == 1 else kernels.sum(0)


def _convolve(layer: LiftingConv2d | GroupConv2d, x: Tensor, kernel: Tensor) -> Tensor:
    warn_if_inexact(layer, x.shape)
    bias = None if layer.bias is None else layer.bias.repeat(layer.group.order)
    return F.conv2d(x, kernel, bias, layer.stride, layer.padding)


def _check_options(
    layer: str, group: FiniteGroup, in_channels: int, out_channels: int, size: int, stride: int
) -> None:
    check_group(layer, group)
    check_whole(layer, in_channels=in_channels, out_channels=out_channels)
    check_whole(layer, kernel_size=size, stride=stride)


def _reset(filters: Tensor, bias: Tensor | None, fan_in: int) -> None:
    """The start of the `nn.Conv2d` of the expanded size."""
    nn.init.uniform_(filters, -(fan_in**-0.5), fan_in**-0.5)
    if bias is not None:
        nn.init.uniform_(bias, -(fan_in**-0.5), fan_in**-0.5)


def _plain(layer: LiftingConv2d | GroupConv2d, in_channels: int, out_channels: int) -> nn.Conv2d:
    return nn.Conv2d(
        in_channels,
        out_channels,
        layer.kernel_size,
        stride=layer.stride,
        padding=layer.padding,
        bias=layer.bias is not None,
    )


def _describe(layer: LiftingConv2d | GroupConv2d, source: str) -> str:
    text = (
        f"{source} → {layer.out_channels}·regular of {layer.group}, "
        f"kernel_size={layer.kernel_size}, stride={layer.stride}, padding={layer.padding}"
    )
    if layer.relaxed is not None:
        text += f", relaxed {layer.relax}, filters={len(layer.filters)}"
    return text if layer.bias is not None else text + ", bias=False"
