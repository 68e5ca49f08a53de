"""What the relaxed weights of a network say about the symmetry it found."""

from typing import TypedDict

from torch import nn

from nearsym.layers.relaxation import relaxed_weights


class Spread(TypedDict):
    """The relaxed weights of one layer in four numbers.

    >>> Spread(mean=1.0, smallest=0.5, largest=1.5, spread=0.5)["spread"]
    0.5
    """

    mean: float
    smallest: float
    largest: float
    spread: float
    """The largest standard deviation over the elements of any filter, over that filter's mean
    size; 0 is exact."""


def relaxation_summary(network: nn.Module) -> dict[str, Spread]:
    """The spread of relaxed weights, layer by layer, by name.

    Even on an exactly symmetric task sampling noise spreads them by a few per cent: read the
    numbers against such a run.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.linear import GroupLinear
    >>> relaxation_summary(nn.Sequential(GroupLinear(dihedral(1), 2, 3, relaxed=True)))
    {'0': {'mean': 1.0, 'smallest': 1.0, 'largest': 1.0, 'spread': 0.0}}
    """
    return {
        name: Spread(
            mean=float(w.mean()),
            smallest=float(w.min()),
            largest=float(w.max()),
            spread=float((w.std(-1, correction=0) / w.abs().mean(-1).clamp_min(1e-12)).max()),
        )
        for name, w in relaxed_weights(network).items()
    }
