"""What passes of layers share (`layers/passes.py`): their interface, and rows of features.

Features are rows here, (|G|·batch, channels), the elements one after the other: over the trivial
group that is a plain batch. What a forward pass returns beside its rows is for the backward pass.
"""

from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn


class Back(NamedTuple):
    """What a backward pass finds."""

    dx: Any
    """The gradient by x; None where nobody wants it."""
    learned: list[Tensor]
    """The gradients by what the layer learns, in that order; empty if it does not learn."""


class Pass(Protocol):
    """Both passes of a layer that shares its weights with them."""

    learned: list[nn.Parameter]
    """All parameters of the layer, in the order of their gradients."""

    def forward(self, x: Tensor) -> tuple[Tensor, Any]: ...

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back: ...


def by_sample(rows: Tensor, order: int) -> Tensor:
    """(|G|·batch, channels) as (batch, |G|·channels)."""
    elements = rows.view(order, -1, rows.shape[-1]).transpose(0, 1)
    return elements.reshape(len(elements), -1)


def by_element(samples: Tensor, order: int) -> Tensor:
    """The inverse."""
    elements = samples.view(len(samples), order, -1).transpose(0, 1)
    return elements.reshape(-1, elements.shape[-1])
