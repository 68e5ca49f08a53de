"""Orthogonal initialisation of equivariant layers."""

from typing import Any

import torch
from torch import Tensor, nn

from nearsym.errors import UsageError
from nearsym.layers.free import FreeLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.residual_path import FREE_SCALE, ResidualPath


@torch.no_grad()
def orthogonal_(layer: nn.Module, gain: float = 1.0) -> nn.Module:
    """Draw a layer's weights so that its expanded matrix is `gain` times a (semi-)orthogonal one.

    For convolutions that is the expanded kernel as a matrix (out, in·positions), as in
    `nn.init.orthogonal_`. The bias becomes 0 and relaxed weights go back to their equal start.
    Plain linear and convolution layers are accepted; of a residual path the free layer gets 1e-3
    of the gain.

    Between representations that share too little the matrix cannot have full rank; then all its
    singular values are `gain` or 0.

    >>> from nearsym.groups.catalog import dihedral
    >>> layer = orthogonal_(GroupLinear(dihedral(1), 3, 3), gain=2.0)
    >>> torch.linalg.svdvals(layer.expand(layer.filters[0])).round().tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    if isinstance(layer, ResidualPath):
        orthogonal_(layer.exact, gain)
        orthogonal_(layer.free, gain * FREE_SCALE)
    elif isinstance(layer, FreeLinear):
        orthogonal_(layer.linear, gain)
    elif isinstance(layer, nn.Linear | nn.Conv2d):
        nn.init.orthogonal_(layer.weight, gain)
    elif hasattr(layer, "expand") and hasattr(layer, "contract"):
        _draw(layer, gain)
    else:
        raise UsageError(
            f"orthogonal_ knows linear and convolution layers, not {type(layer).__name__}."
        )
    bias = getattr(layer, "bias", None)
    if isinstance(bias, Tensor):
        bias.zero_()
    return layer


def _draw(layer: Any, gain: float) -> None:
    """Independent filters for every l, corrected so that Σ_l w_l ψ_l is the orthogonal filter."""
    count = len(layer.filters)
    wanted = gain * _orthogonal_filter(layer)
    drawn = torch.stack([wanted] + [gain * _orthogonal_filter(layer) for _ in range(count - 1)])
    weight = count**-0.5  # as in `start_equal`
    if layer.relaxed is not None:
        layer.relaxed.fill_(weight)
    # Adding the same to each of L filters with weights 1/√L moves their sum by √L times as much.
    layer.filters.copy_(drawn + weight * (wanted - weight * drawn.sum(0)))


def _orthogonal_filter(layer: Any) -> Tensor:
    if isinstance(layer, GroupLinear) and layer.signs is not None:
        return _from_blocks(layer)
    drawn = torch.randn_like(layer.filters[0])
    matrix = _polar(layer.expand(drawn))
    filters = layer.contract(matrix)
    if not torch.allclose(layer.expand(filters), matrix, atol=1e-4):
        raise UsageError(
            f"{layer} has no orthogonal start: it needs orthogonal representations, and for "
            "convolutions a group that fits the pixel grid. Keep the start it was built with."
        )
    # What acts only once relaxed weights differ is drawn too, at the scale of the rest.
    idle = drawn - layer.contract(layer.expand(drawn))
    return filters + idle * (filters.norm() / drawn.norm())


def _from_blocks(layer: GroupLinear) -> Tensor:
    """An orthogonal block for every character; the stored ones are smaller by √|G|."""
    n = layer.group.order
    blocks = torch.empty_like(layer.filters[0]).unflatten(0, (n, -1))
    for block in blocks:
        nn.init.orthogonal_(block)
    return blocks.flatten(0, 1) * n**-0.5


def _polar(matrix: Tensor) -> Tensor:
    """The nearest partial isometry; it commutes with everything orthogonal that `matrix` does."""
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    kept = s > 1e-4 * s[0]
    return u[:, kept] @ vh[kept]
