"""From feature maps over positions and group elements to plain regular features."""

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from nearsym.errors import UsageError
from nearsym.groups.action import grid_moves
from nearsym.groups.group import FiniteGroup
from nearsym.layers.checks import check_group


def regular_features(
    x: Float[Tensor, "batch group_channels height width"], group: FiniteGroup
) -> Float[Tensor, "batch group features"]:
    """f[g](p, c) = x[g, c](g·p): for each group channel, undo g on the positions.

    (batch, |G|·channels, height, width), group-major, → (batch, |G|, channels·height·width). An
    element k that moves x in positions and group channels moves f only along its group axis, by
    the regular representation. A re-indexing, without parameters.

    >>> from nearsym.groups.catalog import dihedral
    >>> regular_features(torch.arange(4.0).view(1, 2, 1, 2), dihedral(1))
    tensor([[[0., 1.],
             [3., 2.]]])
    """
    check_group("regular_features", group)
    if x.ndim != 4 or x.shape[1] % group.order:
        raise UsageError(
            f"regular_features expects (batch, {group.order}·channels, height, width) for "
            f"{group}, got shape {tuple(x.shape)}."
        )
    motions = _undoing(group)
    if x.shape[2] != x.shape[3] and any(transpose for transpose, _ in motions):
        raise UsageError(
            f"{group} turns images by quarters, which needs square ones, got "
            f"{x.shape[2]}×{x.shape[3]} pixels."
        )
    maps = x.unflatten(1, (group.order, -1))
    undone = [_move(maps[:, g], *motion).flatten(1) for g, motion in enumerate(motions)]
    return torch.stack(undone, dim=1)


def _move(x: Tensor, transpose: bool, flips: tuple[int, ...]) -> Tensor:
    x = x.transpose(-2, -1) if transpose else x
    return x.flip(flips) if flips else x


@torch.compiler.assume_constant_result  # it looks into neither numpy nor our own types
def _undoing(group: FiniteGroup) -> tuple[tuple[bool, tuple[int, ...]], ...]:
    """The motion of g⁻¹ for each g: whether to transpose, then which axes to reverse."""
    return _cached_undoing(group)


@cache
def _cached_undoing(group: FiniteGroup) -> tuple[tuple[bool, tuple[int, ...]], ...]:
    moves = grid_moves(group)
    inverses = [moves[inverse] for inverse in group.inverse]
    return tuple((m.transpose, (-2,) * m.flip_height + (-1,) * m.flip_width) for m in inverses)
