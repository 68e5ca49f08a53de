"""Nonlinearities that commute with a representation.

Features have the layout of `SteerableConv2d`: axis 1 holds size·channels entries, coordinate-major;
any axes may follow.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.errors import UsageError
from nearsym.groups.action import Action
from nearsym.groups.representation import Representation
from nearsym.layers.actions import on_axis_1
from nearsym.layers.checks import check_dtype, check_whole
from nearsym.layers.kernel_basis import AnyRepresentation, check_kind, coordinate_blocks


class Pointwise(nn.Module):
    """y_i = σ(x_i): commutes with representations that only permute coordinates.

    >>> from nearsym.groups.catalog import dihedral
    >>> Pointwise(dihedral(2).regular())
    Pointwise(relu on regular of D2)
    >>> Pointwise(dihedral(2).sign())
    Traceback (most recent call last):
    nearsym.errors.UsageError: sign of D2 does more than permute coordinates, so no pointwise \
nonlinearity commutes with it. Use NormReLU or Gated.
    """

    def __init__(self, rep: AnyRepresentation, function: Callable[[Tensor], Tensor] = F.relu):
        super().__init__()
        check_kind("Pointwise", rep)
        if not rep.is_permutation:
            raise UsageError(
                f"{rep} of {rep.group} does more than permute coordinates, so no pointwise "
                "nonlinearity commutes with it. Use NormReLU or Gated."
            )
        self.rep, self.function = rep, function

    def forward(self, x: Float[Tensor, "batch features *rest"]) -> Tensor:
        return self.function(x)

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_axis_1(self.rep)

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return on_axis_1(self.rep)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"Pointwise({name} on {self.rep} of {self.rep.group})"


class NormReLU(nn.Module):
    """y = x / |x| · relu(|x| + b), in each channel and each block of coordinates.

    The blocks are the smallest sets of coordinates that the representation does not mix with
    others, so |x| is invariant wherever it is orthogonal. b starts at `bias`; below 0 it silences
    weak features.

    >>> from nearsym.groups.catalog import cyclic
    >>> NormReLU(cyclic(3).vector(), 1, bias=-1.0)(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([[2.4000, 3.2000],
            [0.0000, 0.0000]], grad_fn=<ViewBackward0>)
    """

    def __init__(
        self, rep: AnyRepresentation, channels: int, *, bias: float = -0.1, eps: float = 1e-6
    ):
        super().__init__()
        _check_orthogonal("NormReLU", rep)
        check_whole("NormReLU", channels=channels)
        self.rep, self.channels, self.eps = rep, channels, eps
        self.blocks = _Blocks(rep)
        self.bias = nn.Parameter(torch.full((self.blocks.count, channels), bias))

    def forward(self, x: Float[Tensor, "batch features *rest"]) -> Tensor:
        parts = _coordinates("NormReLU", x, self.rep.size, self.channels, self.bias)
        norm = (self.blocks.sum(parts.square()) + self.eps**2).sqrt()  # (batch, block, channel, …)
        bias = self.bias.view(*self.bias.shape, *[1] * (x.ndim - 2)).to(x.dtype)
        factor = F.relu(norm + bias) / norm
        return (parts * self.blocks.spread(factor)).flatten(1, 2)

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_axis_1(self.rep)

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return on_axis_1(self.rep)

    def extra_repr(self) -> str:
        return f"{self.channels} × ({self.rep}) of {self.rep.group}"


class Gated(nn.Module):
    """y = x · sigmoid(s), each block of coordinates with an invariant gate s of its own.

    The input moves by `in_rep`: one trivial coordinate for each block, then `rep`. Let the layer
    before map to it, `SteerableConv2d(…, gate.in_rep, …)`. Commutes with any representation.

    >>> from nearsym.groups.catalog import cyclic
    >>> gate = Gated(cyclic(3).vector(), 1)
    >>> gate.in_rep, gate(torch.tensor([[0.0, 3.0, 4.0]]))
    (trivial + vector, tensor([[1.5000, 2.0000]]))
    """

    def __init__(self, rep: AnyRepresentation, channels: int):
        super().__init__()
        check_kind("Gated", rep)
        check_whole("Gated", channels=channels)
        self.rep, self.channels = rep, channels
        self.blocks = _Blocks(rep)
        gates = self.blocks.count * rep.group.trivial()
        self.in_rep: AnyRepresentation = gates + rep  # type: ignore[operator]

    def forward(self, x: Float[Tensor, "batch gates_and_features *rest"]) -> Tensor:
        parts = _coordinates("Gated", x, self.in_rep.size, self.channels, x)
        gates, features = parts[:, : self.blocks.count], parts[:, self.blocks.count :]
        return (features * self.blocks.spread(gates.sigmoid())).flatten(1, 2)

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input."""
        return on_axis_1(self.in_rep)

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output."""
        return on_axis_1(self.rep)

    def extra_repr(self) -> str:
        return f"{self.channels} × ({self.rep}) of {self.rep.group}"


class _Blocks(nn.Module):
    """Which coordinates belong together, as index tables."""

    block_of: Tensor

    def __init__(self, rep: AnyRepresentation):
        super().__init__()
        blocks = coordinate_blocks(rep)
        self.count = len(blocks)
        block_of = np.zeros(rep.size, dtype=np.int64)
        for i, block in enumerate(blocks):
            block_of[block] = i
        self.register_buffer("block_of", torch.from_numpy(block_of), persistent=False)
        membership = np.arange(self.count)[:, None] == block_of
        self.register_buffer("membership", torch.from_numpy(membership), persistent=False)

    membership: Tensor

    def sum(self, parts: Float[Tensor, "batch coordinate channel *rest"]) -> Tensor:
        """Over the coordinates of each block."""
        return torch.einsum("bi...,ki->bk...", parts, self.membership.to(parts.dtype))

    def spread(self, values: Float[Tensor, "batch block channel *rest"]) -> Tensor:
        """Each block's value to all of its coordinates."""
        return values.index_select(1, self.block_of)

    def __repr__(self) -> str:
        return f"{self.count} blocks"


def _coordinates(layer: str, x: Tensor, size: int, channels: int, parameter: Tensor) -> Tensor:
    """(batch, size·channels, …) as (batch, size, channels, …)."""
    if x.ndim < 2 or x.shape[1] != size * channels:
        raise UsageError(
            f"{layer} expects (batch, {size * channels}, ...): {channels} channels of {size} "
            f"coordinates, got shape {tuple(x.shape)}."
        )
    check_dtype(layer, x, parameter)
    return x.unflatten(1, (size, channels))


def _check_orthogonal(layer: str, rep: AnyRepresentation) -> None:
    check_kind(layer, rep)
    if not isinstance(rep, Representation):
        return  # the irreps of SO(2) and O(2) are orthogonal
    gram = rep.matrices @ rep.matrices.transpose(0, 2, 1)
    if not np.allclose(gram, np.eye(rep.size), atol=1e-9):
        raise UsageError(
            f"{layer} needs an orthogonal representation, which keeps norms; {rep} of {rep.group} "
            "does not. Use Gated, or change its basis."
        )
