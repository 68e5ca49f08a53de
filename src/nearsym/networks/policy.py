"""What an agent's networks compute together: its mean action, and the value of an action."""

import torch
from torch import Tensor, nn

from nearsym.networks.actor_critic import ActorCritic


class MeanPolicy(nn.Module):
    """Observations to mean actions in [−1, 1]ⁿ, whatever the agent."""

    def __init__(self, networks: ActorCritic):
        super().__init__()
        self.encoder, self.actor = networks.encoder, networks.actor

    def forward(self, obs: Tensor) -> Tensor:
        out = self.actor(self.encoder(obs))
        return torch.tanh(out[0] if isinstance(out, tuple) else out)


class SmallerValue(nn.Module):
    """Observations and actions to the smaller of the critics' values, (batch, 1).

    `unit` is what one of the critics' units is in rewards of the environment.
    """

    def __init__(self, networks: ActorCritic, unit: float = 1.0):
        super().__init__()
        self.encoder, self.critic = networks.encoder, networks.critic
        self.unit = unit

    def forward(self, obs: Tensor, action: Tensor) -> Tensor:
        return self.unit * self.critic(self.encoder(obs), action).amin(dim=0)[:, None]
