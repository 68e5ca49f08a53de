"""Running normalisation of observations that commutes with a group."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.groups.representation import Representation

LONGEST = 1000
"""Batches that the moments remember: a moving average of the replay, not of its history."""
FLAT = 1e-6
"""A deviation below this share of the mean is rounding: such entries are not scaled."""
USUAL = (0.1, 10.0)
"""Deviations in between are left alone: there the author's units tell what matters more."""


class Normaliser(nn.Module):
    """x ↦ (x − m) / s, with the moments of the observations seen, averaged over the group.

        m = P μ,  P = 1/|G| Σ_g ρ(g),      σ_i² = mean of E (x_j − m_j)² over the block of i,
        s = σ / clip(σ, 0.1, 10)

    Deviations end up between 0.1 and 10, and those that are there already stay. A block holds
    coordinates that some ρ(g) mixes; where ρ permutes coordinates it is an orbit. Since ρ(g) m = m
    and s is constant on blocks, the map commutes with every ρ(g), whatever was seen. Over the
    trivial group these are the mean and the deviation of each coordinate.

    Nothing is learned by gradients: `watch` takes a batch into the moments. Before the first it
    changes nothing.

    >>> from nearsym.groups.catalog import dihedral
    >>> mirror = dihedral(1)
    >>> normaliser = Normaliser(mirror.sign() + mirror.trivial())
    >>> normaliser.watch(torch.tensor([[3000.0, 5.0], [4000.0, 9.0]]))
    >>> normaliser.shift, normaliser.scale  # no mean where a sign changes
    (tensor([0., 7.]), tensor([353.5534,   1.0000]))
    """

    block: Tensor
    averages: Tensor
    invariant: Tensor
    batches: Tensor
    mean: Tensor
    variance: Tensor
    shift: Tensor
    scale: Tensor

    def __init__(self, representation: Representation):
        super().__init__()
        size, block = representation.size, blocks(representation)
        member = block == np.arange(block.max() + 1)[:, None]  # (blocks, size)
        fixed = {
            "block": block,
            "averages": member / member.sum(1, keepdims=True),
            "invariant": representation.matrices.mean(0),  # P
        }
        for name, array in fixed.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        self.register_buffer("batches", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(size, dtype=torch.float64))
        self.register_buffer("shift", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))

    def forward(self, x: Float[Tensor, "batch size"]) -> Float[Tensor, "batch size"]:
        return (x - self.shift) / self.scale

    @torch.no_grad()
    def watch(self, x: Float[Tensor, "batch size"]) -> None:
        """Take a batch of observations into the moments."""
        x = x.to(self.mean)
        self.batches += 1
        rate = 1 / self.batches.clamp(max=LONGEST)
        variance, mean = torch.var_mean(x, 0, correction=0)
        self.variance.lerp_(variance + (1 - rate) * (mean - self.mean).square(), rate)
        self.mean.lerp_(mean, rate)
        shift = self.invariant @ self.mean
        spread = self._shared(self.variance + (self.mean - shift).square()).sqrt()
        flat = spread <= FLAT * self._shared(shift.abs())
        self.shift.copy_(shift)
        self.scale.copy_(torch.where(flat, 1.0, spread / spread.clamp(*USUAL)))

    def _shared(self, values: Tensor) -> Tensor:
        """Each block's mean for all of its coordinates, to the last bit."""
        return (self.averages @ values)[self.block]


def blocks(representation: Representation) -> np.ndarray:
    """The number of each coordinate's block: the smallest sets that no matrix leaves.

    >>> from nearsym.groups.catalog import dihedral
    >>> mirror = dihedral(1)
    >>> blocks(mirror.sign() + mirror.regular() + mirror.trivial())
    array([0, 1, 1, 2])
    """
    mixed = (representation.matrices != 0).any(0)
    mixed = mixed | mixed.T | np.eye(representation.size, dtype=bool)
    reached = mixed
    while not np.array_equal(reached, mixed := (reached.astype(float) @ reached) > 0):
        reached = mixed
    _, numbers = np.unique(reached.argmax(1), return_inverse=True)
    return numbers
