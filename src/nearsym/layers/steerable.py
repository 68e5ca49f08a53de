"""Steerable convolution between any representations, exact and relaxed."""

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.errors import UsageError
from nearsym.groups.action import Action
from nearsym.layers.actions import on_maps
from nearsym.layers.checks import check_image, check_relaxation, check_whole
from nearsym.layers.constant import Constant
from nearsym.layers.kernel_basis import AnyRepresentation, fixed_vectors, kernel_basis
from nearsym.layers.rings import Rings
from nearsym.layers.sizes import warn_if_inexact


class SteerableConv2d(nn.Module):
    """Convolution whose kernel is a learned sum of fixed equivariant kernels ψ_k.

        f'(x) = Σ_y Σ_k w_k(y) ψ_k(y) f(x + y) + b        (paper, Appendix)
        ψ_k(hy) = ρ_out(h) ψ_k(y) ρ_in(h)⁻¹

    (batch, in size·in_channels, height, width) → (batch, out size·out_channels, height', width'),
    coordinate-major: channel c of coordinate i stands at i·channels + c, as in
    `Representation.along(1)`. For the regular representation that is group-major, as in
    `GroupConv2d`. The bias moves only along vectors that ρ_out keeps fixed.

    Without relaxed weights w_k is the same for all offsets y and the layer is exactly equivariant,
    given sizes that fit its stride (`sizes.exact_sizes`). This holds for flips and quarter turns
    (C_1, C_2, C_4, D_1, D_2, D_4). For other groups, SO(2) and O(2) among them, the layer is exact
    under those flips and quarter turns that the group contains. At other angles the error depends
    on how smooth the input is and on `rings`: on images blurred by 2 pixels, layers between the
    irreps 0 to 3 are off by at most 3.6 % at 3×3 pixels, 0.3 % at 5×5 and 0.1 % at 7×7
    (`measures.turning_error`).

    With relaxed weights w_k(y) = Σ_l r[l, k](y) c[l, k]: c (`filters`) belongs to a pair of
    channels, r (`relaxed`, of shape (filters, basis, weights)) to all of them. r starts equal, so
    the layer starts exactly equivariant. For groups that fit the grid the weights belong to the
    elements, h giving the offset h·y_k: equal on the cosets Kh they keep the subgroup K. For the
    others they belong to the offsets other than the origin. A kernel of one pixel has nothing to
    relax, for every element keeps its only offset: there `relaxed` is None.

    >>> from nearsym.groups.catalog import cyclic
    >>> rho = cyclic(4).regular()
    >>> SteerableConv2d(rho, rho, 2, 3, 3, padding=1)
    SteerableConv2d(2 × (regular) → 3 × (regular) of C4, basis of 36, kernel_size=3, stride=1, \
padding=1)
    """

    _version = 2  # torch saves it beside the weights; version 1 had rings as they are sampled

    def __init__(
        self,
        in_rep: AnyRepresentation,
        out_rep: AnyRepresentation,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: int = 0,
        relaxed: bool = False,
        filters: int = 1,
        bias: bool = True,
        rings: Rings | None = None,
    ):
        super().__init__()
        check_whole("SteerableConv2d", in_channels=in_channels, out_channels=out_channels)
        check_whole("SteerableConv2d", kernel_size=kernel_size, stride=stride)
        check_whole("SteerableConv2d", 0, padding=padding)
        check_relaxation("SteerableConv2d", relaxed, filters)
        self.rings = _checked(rings)
        self.basis = kernel_basis(in_rep, out_rep, kernel_size, self.rings)
        self.group, self.in_rep, self.out_rep = in_rep.group, in_rep, out_rep
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        relaxes = relaxed and kernel_size > 1
        count, _, weights = self.basis.relaxation.shape
        filters = filters if relaxes else 1
        self.filters = nn.Parameter(torch.empty(filters, out_channels, count, in_channels))
        self.relaxed = nn.Parameter(torch.empty(filters, count, weights)) if relaxes else None
        self.relaxation = Constant(self.basis.relaxation) if relaxes else None
        directions = fixed_vectors(out_rep)
        self.free_bias = bias
        has_bias = bias and len(directions) > 0
        self.bias = nn.Parameter(torch.empty(len(directions), out_channels)) if has_bias else None
        self.directions = Constant(directions.T) if has_bias else None
        self._tabulate()
        self.reset_parameters()

    def _tabulate(self) -> None:
        """The basis, its entries in the order (out coordinate, offset, in coordinate).

        Where each ψ_k is alone at its entries, a table of them replaces the sum over k.
        """
        values = self.basis.values.swapaxes(2, 3)  # (k, i, offset, j)
        flat = values.reshape(len(values), -1)
        element, entry = np.abs(flat).argmax(axis=0), np.arange(flat.shape[1])
        self.gathers = bool(((flat != 0).sum(axis=0) <= 1).all())
        if not self.gathers:
            self.values = Constant(values)
            return
        places, size = self.kernel_size**2, self.in_rep.size
        self.values = Constant(flat[element, entry])
        self.only_ones = bool((flat[element, entry] == 1).all())
        weight_of_entry = torch.from_numpy(element * places + entry // size % places)
        self.register_buffer("element", torch.from_numpy(element), persistent=False)
        self.register_buffer("weight_of_entry", weight_of_entry, persistent=False)

    element: Tensor
    weight_of_entry: Tensor

    @torch.no_grad()
    def reset_parameters(self, gain: float = 3**-0.5) -> None:
        """Draw filters that map independent inputs of variance 1 to variance gain².

        The expanded kernel then has a plain convolution's variance gain² / fan_in: by default
        that of `nn.Conv2d`; √2 is He's gain for ReLU. The bias starts at 0, relaxed weights at 1
        (1/√L for L filters).
        """
        std = torch.from_numpy(self.basis.std).to(self.filters)
        self.filters.normal_().mul_(gain / math.sqrt(self.in_channels) * std[:, None])
        if self.bias is not None:
            self.bias.zero_()
        if self.relaxed is not None:
            self.relaxed.fill_(len(self.filters) ** -0.5)

    def forward(
        self, x: Float[Tensor, "batch in_features height width"]
    ) -> Float[Tensor, "batch out_features new_height new_width"]:
        features = self.in_rep.size * self.in_channels
        check_image(f"SteerableConv2d from {self.in_rep}", x, features, self.filters)
        warn_if_inexact(self, x.shape)
        # The kernel is a small sum of many terms: full precision costs nothing, also in autocast.
        with torch.autocast(x.device.type, enabled=False):
            kernel, bias = self.kernel(), self.full_bias()
        if self.padding == 0 and x.shape[2] == x.shape[3] == self.kernel_size:
            # One output position: a matrix product, several times faster than a convolution.
            return F.linear(x.flatten(1), kernel.flatten(1), bias)[:, :, None, None]
        if not x.is_contiguous(memory_format=torch.channels_last):
            kernel = kernel.contiguous()  # else the output would change its memory format
        return F.conv2d(x, kernel, bias, self.stride, self.padding)

    def kernel(self) -> Float[Tensor, "out_features in_features size size"]:
        """The kernel of the plain convolution that this layer is, channels last in memory."""
        return self._arranged(self._gathered() if self.gathers else self._summed())

    def full_bias(self) -> Float[Tensor, "out_features"] | None:
        """The bias of the plain convolution that this layer is."""
        if self.bias is None or self.directions is None:
            return None
        return (self.directions() @ self.bias).flatten()

    def offset_weights(self) -> Float[Tensor, "filters basis offsets"]:
        """The relaxed weights r[l, k](y) at the offsets of the kernel, row by row."""
        if self.relaxed is None or self.relaxation is None:
            return self.filters.new_ones(1, len(self.basis.values), self.kernel_size**2)
        return (self.relaxed[:, :, None, :] * self.relaxation()).sum(-1)

    def expand(self, filters: Tensor) -> Float[Tensor, "rows columns"]:
        """The exact kernel of one filter as a matrix: rows (i, out), columns (j, in, offsets)."""
        values = torch.from_numpy(self._flat_basis().T).to(filters)
        return self._arranged(values @ filters).flatten(1)

    def contract(self, matrix: Float[Tensor, "rows columns"]) -> Tensor:
        """The filter of an equivariant kernel."""
        m, n = self.out_rep.size, self.in_rep.size
        blocks = matrix.view(m, self.out_channels, n, self.in_channels, -1)
        entries = blocks.permute(1, 0, 4, 2, 3).flatten(1, 3)
        values = self._flat_basis()
        dual = np.linalg.solve(values @ values.T, values)  # coefficients of the nearest kernel
        return torch.from_numpy(dual).to(entries) @ entries

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_maps(self.in_rep)

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return on_maps(self.out_rep)

    def unconstrained(self) -> nn.Conv2d:
        """The unconstrained layer of the same shape."""
        return self._plain(bias=self.free_bias)

    @torch.no_grad()
    def to_conv2d(self) -> nn.Conv2d:
        """A plain convolution with the present kernel, for deployment."""
        bias = self.full_bias()
        plain = self._plain(bias=bias is not None).to(self.filters)
        plain.weight.copy_(self.kernel())
        if plain.bias is not None and bias is not None:
            plain.bias.copy_(bias)
        return plain

    def extra_repr(self) -> str:
        sizes = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        relaxed = "" if self.relaxed is None else f", relaxed, filters={len(self.filters)}"
        return (
            f"{self.in_channels} × ({self.in_rep}) → {self.out_channels} × ({self.out_rep}) "
            f"of {self.group}, basis of {len(self.basis.values)}, {sizes}{relaxed}"
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        corrected = self.in_action is None and self.kernel_size > 2  # smaller ones stay as sampled
        if corrected and self.rings.smoothness and local_metadata.get("version") == 1:
            raise UsageError(
                f"The weights {prefix}filters belong to rings as they are sampled, which earlier "
                "versions had: build the layer with `rings=Rings(smoothness=None)` to load them."
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _gathered(self) -> Tensor:
        """Each kernel entry belongs to one ψ_k: look its coefficient up."""
        entries = self.filters.index_select(2, self.element)  # (l, out, entries, in)
        if self.relaxed is None:
            return entries[0] if self.only_ones else entries[0] * self.values()[:, None]
        weights = self.offset_weights().flatten(1).index_select(1, self.weight_of_entry)
        weighted = entries * (weights * self.values())[:, None, :, None]
        return weighted[0] if len(weighted) == 1 else weighted.sum(0)

    def _summed(self) -> Tensor:
        """Σ_l Σ_k c[l, k] r[l, k](y) ψ_k(y) as one matrix product."""
        values = self.values()  # (k, i, offset, j)
        if self.relaxed is not None:
            values = (self.offset_weights()[:, :, None, :, None] * values).flatten(0, 1)
        coefficients = self.filters.transpose(0, 1).flatten(1, 2)  # (out, l·k, in)
        return values.flatten(1).t() @ coefficients

    def _arranged(self, entries: Float[Tensor, "out entries in"]) -> Tensor:
        m, n, size = self.out_rep.size, self.in_rep.size, self.kernel_size
        blocks = entries.unflatten(1, (m, size, size, n)).transpose(0, 1)
        kernel = blocks.reshape(m * self.out_channels, size, size, n * self.in_channels)
        return kernel.permute(0, 3, 1, 2)

    def _flat_basis(self) -> np.ndarray:
        return self.basis.values.swapaxes(2, 3).reshape(len(self.basis.values), -1)

    def _plain(self, *, bias: bool) -> nn.Conv2d:
        return nn.Conv2d(
            self.in_rep.size * self.in_channels,
            self.out_rep.size * self.out_channels,
            self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            bias=bias,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


def _checked(rings: Rings | None) -> Rings:
    if rings is not None and not isinstance(rings, Rings):
        raise UsageError(f"`rings` must be Rings such as Rings(smoothness=1.5), got {rings!r}.")
    return Rings() if rings is None else rings
