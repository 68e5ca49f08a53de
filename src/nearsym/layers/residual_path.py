"""Residual pathway priors (Finzi et al. 2021): an equivariant layer beside a free one."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.errors import UsageError
from nearsym.groups.action import Action

FREE_SCALE = 1e-3


class ResidualPath(nn.Module):
    """y = exact(x) + free(x), where the free layer knows no symmetry and starts almost silent.

    The free parameters are scaled by 1e-3 on creation, so the sum starts nearly equivariant. The
    loss adds λ_e‖w_e‖² + λ_b‖w_b‖² (`residual_penalties`), which lets the free path grow only
    where the symmetric one cannot explain the data.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.linear import GroupLinear
    >>> path = ResidualPath(GroupLinear(dihedral(1), 4, 8), nn.Linear(4, 8))
    >>> path(torch.zeros(5, 2, 4)).shape
    torch.Size([5, 2, 8])
    """

    def __init__(self, exact: nn.Module, free: nn.Module):
        super().__init__()
        self.exact, self.free = exact, free
        with torch.no_grad():
            for parameter in free.parameters():
                parameter.mul_(FREE_SCALE)

    def forward(self, x: Tensor) -> Tensor:
        return self.exact(x) + self.free(x)

    @property
    def in_action(self) -> Action | None:
        """How the group moves the input of the exact path, where that says it."""
        return getattr(self.exact, "in_action", None)

    @property
    def out_action(self) -> Action | None:
        """How the group moves the output of the exact path, where that says it."""
        return getattr(self.exact, "out_action", None)


def residual(layer: Any) -> ResidualPath:
    """The residual-path version of a layer that knows its unconstrained counterpart.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.linear import GroupLinear
    >>> residual(GroupLinear(dihedral(1), 4, 8)).free.linear
    Linear(in_features=8, out_features=16, bias=True)
    """
    if not hasattr(layer, "unconstrained"):
        raise UsageError(
            f"{type(layer).__name__} does not say what its free counterpart is. "
            "Build ResidualPath(exact, free) from two layers of the same shapes."
        )
    return ResidualPath(layer, layer.unconstrained())


def residual_penalties(module: nn.Module) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """(Σ‖w_e‖², Σ‖w_b‖²) over the exact and the free paths of a network; zeros without any.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.linear import GroupLinear
    >>> exact, free = residual_penalties(residual(GroupLinear(dihedral(1), 4, 8)))
    >>> bool(free < 1e-3 * exact)
    True
    """
    paths = [m for m in module.modules() if isinstance(m, ResidualPath)]
    exact = [p for path in paths for p in path.exact.parameters()]
    free = [p for path in paths for p in path.free.parameters()]
    return _squares(exact), _squares(free)


def _squares(parameters: list[nn.Parameter]) -> Tensor:
    if not parameters:
        return torch.zeros(())
    return torch.stack([p.square().sum() for p in parameters]).sum()
