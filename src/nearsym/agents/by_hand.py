"""Gradients of actors and critics written out: the numbers of autograd in less time.

For heads whose passes are written out (`networks/passes.py`). Agents learn by them where they can;
their own losses are the slow and obvious version. An encoder that learns is left to autograd.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nearsym.agents.losses import (
    squashed_normal_sample,
    truncated_normal_sample,
    twin_critic_loss,
)
from nearsym.networks.actor_critic import ActorCritic, no_penalty
from nearsym.networks.heads import GaussianActor
from nearsym.networks.passes import ActorPasses, CriticPasses, actor_passes, critic_passes


class OfCritic(NamedTuple):
    """The critics' loss, their values (critics, batch), and the gradients by their parameters and,
    where an encoder learns from it, by the features."""

    loss: Tensor
    q: Tensor
    gradients: list[Tensor]
    by_features: Tensor | None


class OfActor(NamedTuple):
    """The actor's loss, what is noted beside it (log π, or how far actions are saturated), and the
    gradients by its parameters."""

    loss: Tensor
    noted: Tensor
    gradients: list[Tensor]


class Prior:
    """A penalty on the weights of a network, whose gradient is left to autograd."""

    def __init__(self, penalty: Callable[[], Tensor | float], network: nn.Module):
        self.penalty, self.weights = penalty, list(network.parameters())

    def added(self, loss: Tensor, gradients: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """A loss and its gradients by all weights, with the penalty and its gradients."""
        if self.penalty is no_penalty:
            return loss, gradients
        with torch.inference_mode(False), torch.enable_grad():
            value = torch.as_tensor(self.penalty())
            if not value.requires_grad:  # a number, or a penalty on layers that are not there
                return loss + value, gradients
            found = torch.autograd.grad(value, self.weights, allow_unused=True)
        pairs = zip(gradients, found, strict=True)
        both = [one if more is None else one + more for one, more in pairs]
        return loss + value.detach(), both


class ByHand:
    """Losses and gradients of one actor and its critics."""

    def __init__(
        self,
        actor: ActorPasses,
        critic: CriticPasses,
        target: CriticPasses,
        *,
        of_actor: Prior,
        of_critic: Prior,
    ):
        self.actor, self.critic, self.target = actor, critic, target
        self.actor_prior, self.critic_prior = of_actor, of_critic

    def mean(self, features: Tensor) -> Tensor:
        """The mean of the policy before its tanh."""
        return self.actor.forward(features)[0][0]

    def mean_and_log_std(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The same and log σ of a normal policy."""
        mean, free_log_std = self.actor.forward(features)[0]
        return mean, free_log_std.clamp(*GaussianActor.LOG_STD_RANGE)

    @torch.no_grad()
    def of_critic(
        self, features: Tensor, action: Tensor, target: Tensor, *, wants_features: bool = False
    ) -> OfCritic:
        """Σ_i mean (Q_i − target)²."""
        q, saved = self.critic.forward(features, action)
        dq = (q - target) * (2 / len(target))
        found = self.critic.by_weights(saved, dq, wants_features=wants_features)
        loss, gradients = self.critic_prior.added(twin_critic_loss(q, target), found.gradients)
        return OfCritic(loss, q, gradients, found.by_features)

    @torch.no_grad()
    def of_normal_actor(self, features: Tensor, noise: Tensor, temperature: Tensor) -> OfActor:
        """SAC: mean (α log π(a) − min_i Q_i(a)), a = tanh u, u = μ + σ·noise; notes log π.

        ∂log π/∂u = 2a and ∂log π/∂log σ = −1 beside what u brings.
        """
        (mean, free_log_std), saved = self.actor.forward(features)
        log_std = free_log_std.clamp(*GaussianActor.LOG_STD_RANGE)
        action, log_prob = squashed_normal_sample(mean, log_std, noise)
        least, by_action = self._least_value(features, action)
        loss = (temperature * log_prob - least).mean()

        weight = temperature / len(features)
        du = 2 * weight * action - by_action * (1 - action.square()) / len(features)
        by_log_std = du * log_std.exp() * noise - weight
        by_log_std = by_log_std * (log_std == free_log_std)  # none where it is clamped
        gradients = self.actor.backward(saved, du, by_log_std)
        loss, gradients = self.actor_prior.added(loss, gradients)
        return OfActor(loss, log_prob, gradients)

    @torch.no_grad()
    def of_deterministic_actor(
        self, features: Tensor, noise: Tensor, *, std: float, clip: float, penalty: float
    ) -> OfActor:
        """DrQ-v2: mean(−min_i Q_i(a)) + penalty·mean u², a = tanh u + noise; notes mean u².

        The gradient passes straight through the clipping of a.
        """
        (u,), saved = self.actor.forward(features)
        mean = torch.tanh(u)
        action = truncated_normal_sample(mean, std, noise, clip)
        least, by_action = self._least_value(features, action)
        saturation = u.square().mean()
        loss = penalty * saturation - least.mean()

        du = by_action * (mean.square() - 1) / len(features) + (2 * penalty / u.numel()) * u
        loss, gradients = self.actor_prior.added(loss, self.actor.backward(saved, du))
        return OfActor(loss, saturation, gradients)

    def _least_value(self, features: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """The smaller of the critics' values, and its gradient by the action of each sample."""
        q, saved = self.critic.forward(features, action)
        least = q.amin(dim=0)
        share = (q == least).to(q.dtype)  # critics that agree share the gradient
        return least, self.critic.by_action(saved, share / share.sum(dim=0))


def by_hand(networks: ActorCritic, target_critic: nn.Module) -> ByHand | None:
    """How heads learn without autograd; None where they need it: for a mirror loss, a penalty on
    an encoder, frozen weights, or layers whose passes are not written out.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.symmetry import Symmetry
    >>> from nearsym.networks.build import build_actor_critic
    >>> from nearsym.networks.config import NetworkConfig
    >>> symmetry = Symmetry(2 * dihedral(1).sign(), dihedral(1).sign())
    >>> def built(**settings):
    ...     return build_actor_critic(symmetry, (2,), "sac", NetworkConfig(**settings))
    >>> exact, taught = built(model="exact"), built(model="mirror")
    >>> by_hand(exact, exact.critic) is None, by_hand(taught, taught.critic) is None
    (False, True)
    """
    actor, critic = actor_passes(networks.actor), critic_passes(networks.critic)
    target = critic_passes(target_critic)
    if actor is None or critic is None or target is None:
        return None
    of_encoder = networks.critic_penalty is not no_penalty and _learns(networks.encoder)
    if of_encoder or networks.mirror_strength > 0:
        return None
    weights = (*networks.actor.parameters(), *networks.critic.parameters())
    if not all(p.requires_grad for p in weights):
        return None
    of_actor = Prior(networks.actor_penalty, networks.actor)
    of_critic = Prior(networks.critic_penalty, networks.critic)
    return ByHand(actor, critic, target, of_actor=of_actor, of_critic=of_critic)


def _learns(network: nn.Module) -> bool:
    return next(network.parameters(), None) is not None
