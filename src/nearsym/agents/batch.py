"""What agents are handed: a batch of n-step transitions by the replay, observations by whom they
play for."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor


class Batch(NamedTuple):
    """Transitions (s, a, R, Γ, s′) for targets of the form R + Γ · Q(s′, a′).

    With an n-step window of m ≤ n steps that ends inside the episode,

        R = Σ_{k<m} γᵏ (Π_{j<k} d_j) r_k,      Γ = γᵐ Π_{k<m} d_k,

    where d_k is 0 at a true termination and 1 elsewhere.

    >>> import torch
    >>> obs, reward = torch.zeros(8, 3), torch.zeros(8)
    >>> Batch(obs, torch.zeros(8, 1), reward, torch.full((8,), 0.99), obs).action.shape
    torch.Size([8, 1])
    """

    obs: Shaped[Tensor, "batch *shape"]
    """Observations: uint8 (batch, height, width, 3·stack), or float32 vectors."""
    action: Float[Tensor, "batch action"]
    """The action taken at `obs`."""
    reward: Float[Tensor, " batch"]
    """The n-step return R."""
    discount: Float[Tensor, " batch"]
    """The factor Γ of the value at `next_obs`; 0 if the episode terminated on the way."""
    next_obs: Shaped[Tensor, "batch *shape"]
    """The observation m steps later."""


def as_tensor(obs: np.ndarray) -> Tensor:
    """Observations as torch takes them: mirrored views and read-only arrays are copied.

    >>> as_tensor(np.array([1.0, 2.0])[::-1])
    tensor([2., 1.], dtype=torch.float64)
    """
    return torch.from_numpy(np.require(obs, requirements=("C", "W")))
