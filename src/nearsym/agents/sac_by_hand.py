"""SAC's gradients written out: the numbers of autograd in less time.

For networks on vectors whose passes are written out (`networks/passes.py`). `SAC` learns by them
where it can; its own losses are the slow and obvious version.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nearsym.agents.losses import squashed_normal_sample, twin_critic_loss
from nearsym.networks.actor_critic import ActorCritic
from nearsym.networks.passes import ActorPasses, CriticPasses, actor_passes, critic_passes


class Found(NamedTuple):
    """A loss, what was found on the way, and the gradients by all parameters of a network."""

    loss: Tensor
    values: Tensor
    """Of the critic: Q, (critics, batch). Of the actor: log π, (batch,)."""
    gradients: list[Tensor]


class ByHand:
    """Losses and gradients of one actor and its critics.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.symmetry import Symmetry
    >>> from nearsym.networks.build import NetworkConfig, build_actor_critic
    >>> signs = dihedral(1).sign()
    >>> networks = build_actor_critic(Symmetry(2 * signs, signs), (2,), "sac", NetworkConfig())
    >>> by_hand(networks, networks.critic) is None  # it has a waist, which is not written out
    True
    """

    def __init__(self, actor: ActorPasses, critic: CriticPasses, target: CriticPasses):
        self.actor, self.critic, self.target = actor, critic, target

    @torch.no_grad()
    def of_critic(self, features: Tensor, action: Tensor, target: Tensor) -> Found:
        """Σ_i mean (Q_i − target)²."""
        q, saved = self.critic.forward(features, action)
        gradients = self.critic.by_weights(saved, (q - target) * (2 / len(target)))
        return Found(twin_critic_loss(q, target), q, gradients)

    @torch.no_grad()
    def of_actor(self, features: Tensor, noise: Tensor, temperature: Tensor) -> Found:
        """mean (α log π(a) − min_i Q_i(a)), a = tanh u, u = μ + σ·noise.

        ∂log π/∂u = 2a and ∂log π/∂log σ = −1 beside what u brings.
        """
        (mean, free_log_std), saved = self.actor.forward(features)
        log_std = self.actor.clamped(free_log_std)
        action, log_prob = squashed_normal_sample(mean, log_std, noise)
        q, of_critic = self.critic.forward(features, action)
        least = q.amin(dim=0)
        loss = (temperature * log_prob - least).mean()

        share = (q == least).to(q.dtype)  # critics that agree share the gradient
        by_action = self.critic.by_action(of_critic, share / share.sum(dim=0))
        weight = temperature / len(features)
        du = 2 * weight * action - by_action * (1 - action.square()) / len(features)
        by_log_std = du * log_std.exp() * noise - weight
        by_log_std = by_log_std * (log_std == free_log_std)  # none where it is clamped
        return Found(loss, log_prob, self.actor.backward(saved, du, by_log_std))


def by_hand(networks: ActorCritic, target_critic: nn.Module) -> ByHand | None:
    """How networks learn without autograd; None where they need it: for an encoder that learns, a
    penalty, a mirror loss, or layers whose passes are not written out."""
    actor, critic = actor_passes(networks.actor), critic_passes(networks.critic)
    target = critic_passes(target_critic)
    penalties = networks.actor_penalty(), networks.critic_penalty(), networks.mirror_strength
    encoder_learns = any(True for _ in networks.encoder.parameters())
    if actor is None or critic is None or target is None or encoder_learns:
        return None
    if any(isinstance(penalty, Tensor) or penalty for penalty in penalties):
        return None
    return ByHand(actor, critic, target)
