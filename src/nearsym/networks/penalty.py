"""Penalties on the weights of networks, which join a loss."""

from dataclasses import dataclass

from torch import Tensor, nn

from nearsym.layers.relaxation import spread_penalty
from nearsym.layers.residual_path import residual_penalties


@dataclass(frozen=True)
class Penalty:
    """λ_e‖w_e‖² + λ_b‖w_b‖² of residual paths + λ_s · the spread of relaxed weights.

    It holds its networks, so a copied agent penalises its own weights.
    """

    modules: tuple[nn.Module, ...]
    exact: float = 0.0
    """λ_e, for the exact paths."""
    free: float = 0.0
    """λ_b, for the free paths."""
    spread: float = 0.0
    """λ_s."""

    def __call__(self) -> Tensor | float:
        total: Tensor | float = 0.0
        for module in self.modules:
            if self.exact or self.free:
                exact, free = residual_penalties(module)
                total = total + self.exact * exact + self.free * free
            if self.spread:
                total = total + self.spread * spread_penalty(module)
        return total
