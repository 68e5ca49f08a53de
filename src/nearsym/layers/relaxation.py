"""Relaxed weights: how they enter a layer, how to read them, and the penalty on their spread.

A layer with relaxed weights has a parameter called `relaxed` (a layer with several kinds has
`relaxed_…`) whose last axis runs over what the symmetry moves. Along that axis the weights start
equal, and while they stay equal the layer is exactly equivariant.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def start_equal(filters: int, order: int) -> Float[Tensor, "filters group"]:
    """Relaxed weights w[l, h] at their start: 1 for one filter, 1/√L for L of them.

    With 1/√L the sum of L independent filters has the scale of one.
    """
    return torch.full((filters, order), filters**-0.5)


def scale_inputs(
    x: Float[Tensor, "*batch group channels"], relaxed: Float[Tensor, "filters group"]
) -> Float[Tensor, "*batch group stacked"]:
    """w[l, h] x[h] for every l, the filters stacked along the channels (filter-major).

    The exact layer on these L·channels is the layer relaxed on its input.
    """
    weights = relaxed.t().unsqueeze(-1)  # (group, filters, 1)
    return (x.unsqueeze(-2) * weights).flatten(-2)


def mix_outputs(
    y: Float[Tensor, "*batch group stacked"], relaxed: Float[Tensor, "filters group"]
) -> Float[Tensor, "*batch group channels"]:
    """Σ_l w[l, g] y[g, l], where the exact layer gave L·channels outputs (filter-major)."""
    if len(relaxed) == 1:
        return y * relaxed.t()
    weights = relaxed.t().unsqueeze(-1)  # (group, filters, 1)
    return (y.unflatten(-1, (relaxed.shape[0], -1)) * weights).sum(-2)


def relaxed_weights(module: nn.Module) -> dict[str, Tensor]:
    """All relaxed weights of a network by the name of their layer, detached.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.linear import GroupLinear
    >>> relaxed_weights(nn.Sequential(GroupLinear(dihedral(1), 2, 3, relaxed=True)))
    {'0': tensor([[1., 1.]])}
    """
    return {_layer_name(name): w.detach() for name, w in _named_relaxed(module)}


def relaxed_parameters(module: nn.Module) -> list[nn.Parameter]:
    """All relaxed weights of a network, to learn them in another way than the rest."""
    return [w for _, w in _named_relaxed(module)]


def spread_penalty(module: nn.Module) -> Float[Tensor, ""]:
    """Σ over all relaxed weights of (w − mean of w over the elements)²; 0 if there are none.

    Times a small strength it can join a loss (Wang et al. 2022 use 1e-6 to 1e-4).

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.linear import GroupLinear
    >>> layer = GroupLinear(dihedral(1), 2, 3, relaxed=True)
    >>> with torch.no_grad():
    ...     layer.relaxed[0, 1] = 3.0
    >>> spread_penalty(layer).item()
    2.0
    """
    spreads = [(w - w.mean(-1, keepdim=True)).square().sum() for _, w in _named_relaxed(module)]
    if spreads:
        return torch.stack(spreads).sum()
    anything = next(module.parameters(), torch.zeros(()))
    return anything.new_zeros(())


def _named_relaxed(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return [
        (name, w)
        for name, w in module.named_parameters()
        if name.rpartition(".")[2].startswith("relaxed")
    ]


def _layer_name(parameter: str) -> str:
    return parameter.removesuffix(".relaxed")
