"""Samples moved by random elements: symmetry taught by example instead of built in."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nearsym.groups.action import Action
from nearsym.groups.representation import Representation
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.constant import sent


class RandomMoves:
    """Moves each sample of a batch by an element of its own.

    >>> from nearsym.groups.catalog import dihedral
    >>> mirror = dihedral(1)
    >>> moves = RandomMoves(Symmetry(observation=2 * mirror.sign(), action=mirror.sign()))
    >>> moves.actions(torch.tensor([[1.0], [1.0]]), torch.tensor([0, 1])).flatten().tolist()
    [1.0, -1.0]
    """

    def __init__(self, symmetry: Symmetry):
        self.symmetry = symmetry

    def draw(
        self, batch: int, generator: torch.Generator, *, identity: bool = True
    ) -> Int[Tensor, " batch"]:
        """One element for each sample, uniformly over the group, or over all but the identity."""
        first = 0 if identity else min(1, self.symmetry.group.order - 1)
        order = self.symmetry.group.order
        device = generator.device
        return torch.randint(first, order, (batch,), generator=generator, device=device)

    def observations(
        self, obs: Shaped[Tensor, "batch *shape"], elements: Int[Tensor, " batch"]
    ) -> Shaped[Tensor, "batch *shape"]:
        """Each observation moved by its element."""
        return _move(self.symmetry.observation, obs, elements)

    def actions(
        self, actions: Float[Tensor, "batch action"], elements: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch action"]:
        """Each action moved by its element."""
        return _move(self.symmetry.action, actions, elements)


def _move(action: Action, x: Tensor, elements: Tensor) -> Tensor:
    if isinstance(action, Representation):
        matrices = sent(torch.tensor(action.matrices, dtype=x.dtype), x.device)
        return torch.bmm(matrices[elements], x.unsqueeze(-1)).squeeze(-1)
    move = one_by_one if x.device.type == "cpu" else all_at_once
    return move(action, x, elements)


def all_at_once(action: Action, x: Tensor, elements: Tensor) -> Tensor:
    """All samples moved by each element in turn, and those kept whose it is: for an accelerator."""
    moved = x
    for g in range(1, action.group.order):
        mine = (elements == g).view(-1, *(1 for _ in x.shape[1:]))
        moved = torch.where(mine, action.act(g, x), moved)
    return moved


def one_by_one(action: Action, x: Tensor, elements: Tensor) -> Tensor:
    """Sample by sample: a processor copies a turned picture while it reads it."""
    moved = torch.empty_like(x)
    source, target = x.numpy(), moved.numpy()
    for i, g in enumerate(elements.tolist()):
        target[i] = action.act(g, source[i])
    return moved
