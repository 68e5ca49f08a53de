"""Rewards in units of their own size."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

LONGEST = 1000
"""Batches that the average remembers: a moving one of the replay, not of its history."""


class RewardScale(nn.Module):
    """r ↦ r / u, where u² is the running mean square of the rewards that are not zero.

    The rewards of a batch are divided when they are learned from, all by the same u, so what was
    stored and what is logged keep the environment's units. Zeros do not count: a single reward of
    1 at the end of an episode stays 1, however long the episode. u does not subtract the mean: a
    constant reward for being alive is a unit too.

    >>> scale = RewardScale()
    >>> scale.watch(torch.tensor([0.0, 30.0, 0.0, -40.0]))
    >>> scale(torch.tensor([0.0, 50.0])), scale.unit
    (tensor([0.0000, 1.4142]), tensor(35.3553))
    """

    share: Tensor
    square: Tensor
    batches: Tensor
    unit: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("batches", "share", "square"):
            self.register_buffer(name, torch.zeros((), dtype=torch.float64))
        self.register_buffer("unit", torch.ones(()))

    def forward(self, reward: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        return reward / self.unit

    @torch.no_grad()
    def watch(self, reward: Float[Tensor, " batch"]) -> None:
        """Take a batch of rewards into the average."""
        reward = reward.to(self.square)
        self.batches += 1
        rate = 1 / self.batches.clamp(max=LONGEST)
        self.share.lerp_((reward != 0).to(reward).mean(), rate)
        self.square.lerp_(reward.square().mean(), rate)
        self.unit.copy_(torch.where(self.square > 0, (self.square / self.share).sqrt(), 1.0))
