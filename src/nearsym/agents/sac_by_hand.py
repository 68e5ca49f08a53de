"""SAC's gradients written out: the numbers of autograd in less time.

For networks on vectors whose passes are written out (`networks/passes.py`). `SAC` learns by them
where it can; its own losses are the slow and obvious version.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nearsym.agents.losses import squashed_normal_sample, twin_critic_loss
from nearsym.networks.actor_critic import ActorCritic, no_penalty
from nearsym.networks.passes import ActorPasses, CriticPasses, actor_passes, critic_passes


class OfCritic(NamedTuple):
    """The critics' loss, their values (critics, batch), and the gradients by their parameters."""

    loss: Tensor
    q: Tensor
    gradients: list[Tensor]


class OfActor(NamedTuple):
    """The actor's loss, log π of its actions, and the gradients by its parameters."""

    loss: Tensor
    log_prob: Tensor
    gradients: list[Tensor]


class ByHand:
    """Losses and gradients of one actor and its critics."""

    def __init__(self, actor: ActorPasses, critic: CriticPasses, target: CriticPasses):
        self.actor, self.critic, self.target = actor, critic, target

    @torch.no_grad()
    def of_critic(self, features: Tensor, action: Tensor, target: Tensor) -> OfCritic:
        """Σ_i mean (Q_i − target)²."""
        q, saved = self.critic.forward(features, action)
        gradients = self.critic.by_weights(saved, (q - target) * (2 / len(target)))
        return OfCritic(twin_critic_loss(q, target), q, gradients)

    @torch.no_grad()
    def of_actor(self, features: Tensor, noise: Tensor, temperature: Tensor) -> OfActor:
        """mean (α log π(a) − min_i Q_i(a)), a = tanh u, u = μ + σ·noise.

        ∂log π/∂u = 2a and ∂log π/∂log σ = −1 beside what u brings.
        """
        (mean, free_log_std), saved = self.actor.forward(features)
        log_std = self.actor.clamped(free_log_std)
        action, log_prob = squashed_normal_sample(mean, log_std, noise)
        q, saved_by_critic = self.critic.forward(features, action)
        least = q.amin(dim=0)
        loss = (temperature * log_prob - least).mean()

        share = (q == least).to(q.dtype)  # critics that agree share the gradient
        by_action = self.critic.by_action(saved_by_critic, share / share.sum(dim=0))
        weight = temperature / len(features)
        du = 2 * weight * action - by_action * (1 - action.square()) / len(features)
        by_log_std = du * log_std.exp() * noise - weight
        by_log_std = by_log_std * (log_std == free_log_std)  # none where it is clamped
        return OfActor(loss, log_prob, self.actor.backward(saved, du, by_log_std))


def by_hand(networks: ActorCritic, target_critic: nn.Module) -> ByHand | None:
    """How networks learn without autograd; None where they need it: for an encoder that learns, a
    penalty, a mirror loss, frozen weights, or layers whose passes are not written out.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.symmetry import Symmetry
    >>> from nearsym.networks.build import NetworkConfig, build_actor_critic
    >>> symmetry = Symmetry(2 * dihedral(1).sign(), dihedral(1).sign())
    >>> def built(**settings):
    ...     return build_actor_critic(symmetry, (2,), "sac", NetworkConfig(**settings))
    >>> plain, waisted = built(model="exact", waist=None), built(model="exact", waist=50)
    >>> by_hand(plain, plain.critic) is None, by_hand(waisted, waisted.critic) is None
    (False, True)
    """
    actor, critic = actor_passes(networks.actor), critic_passes(networks.critic)
    target = critic_passes(target_critic)
    if actor is None or critic is None or target is None:
        return None
    penalties = {networks.actor_penalty, networks.critic_penalty} - {no_penalty}
    encoder_learns = next(networks.encoder.parameters(), None) is not None
    if penalties or networks.mirror_strength > 0 or encoder_learns:
        return None
    weights = (*networks.actor.parameters(), *networks.critic.parameters())
    return ByHand(actor, critic, target) if all(p.requires_grad for p in weights) else None
