"""SAC: maximum-entropy actor-critic (Haarnoja et al. 2018), with fixed or learned temperature."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nearsym.agents.adam import Adam, minimise
from nearsym.agents.base import Compute, Learner, normal_like, uniform_action
from nearsym.agents.batch import Batch, as_tensor
from nearsym.agents.losses import clipped_double_q_target, squashed_normal_sample
from nearsym.errors import UsageError
from nearsym.networks.actor_critic import ActorCritic


@dataclass(frozen=True, kw_only=True)
class SACConfig:
    """Defaults follow Haarnoja et al. 2018 (arXiv:1812.05905), but for the first temperature, the
    range of log σ and how weights start.

    >>> SACConfig(learn_temperature=False).temperature
    0.1
    """

    learning_rate: float = 3e-4
    """Adam step size for encoder, actor, critic and temperature."""
    target_tau: float = 0.005
    """Fraction of the critic copied into its target after each update."""
    random_steps: int = 1000
    """Agent steps at the start that draw actions uniformly."""
    temperature: float = 0.1
    """α, the weight of entropy: its first value, or the fixed one."""
    learn_temperature: bool = True
    """Move α so that the policy's entropy approaches −(action size)."""
    policy_average: float = 0.0
    """Play a moving average of the weights, which moves so far to them in an update; 0 plays the
    weights as they are."""
    scale_rewards: bool = False
    """Learn from rewards divided by the running root mean square of those that are not zero."""

    def __post_init__(self) -> None:
        if not 0 < self.target_tau <= 1:
            raise UsageError(f"`target_tau` must lie in (0, 1], got {self.target_tau}.")
        if not self.temperature > 0:
            raise UsageError(f"`temperature` must be positive, got {self.temperature}.")


class SAC(Learner[SACConfig]):
    """The agent. Its temperature α is learned beside the networks, or fixed.

    >>> from nearsym.agents.base import Compute
    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.representation import sign
    >>> from nearsym.groups.symmetry import Symmetry
    >>> from nearsym.networks.build import build_actor_critic
    >>> from nearsym.networks.config import NetworkConfig
    >>> mirror = dihedral(1)
    >>> symmetry = Symmetry(2 * sign(mirror), sign(mirror))
    >>> sizes = NetworkConfig(model="exact", channels=4, hidden=16)
    >>> networks = build_actor_critic(symmetry, (2,), "sac", sizes)
    >>> compute, generator = Compute(torch.device("cpu"), bfloat16=False), torch.Generator()
    >>> agent = SAC(networks, SACConfig(), compute=compute, generator=generator)
    >>> obs = np.ones((1, 2), np.float32)
    >>> bool(np.allclose(agent.policy(-obs), -agent.policy(obs)))  # the mirrored action
    True
    """

    def __init__(
        self,
        networks: ActorCritic,
        config: SACConfig,
        *,
        compute: Compute,
        generator: torch.Generator,
    ):
        super().__init__(networks, config, compute=compute, generator=generator)
        start = math.log(config.temperature)
        self.log_temperature = torch.tensor(start, device=compute.device, requires_grad=True)
        self.optimisers["temperature"] = (
            Adam([self.log_temperature], config.learning_rate) if config.learn_temperature else None
        )

    @torch.no_grad()
    def act(self, obs: np.ndarray, *, step: int) -> np.ndarray:
        """An action drawn from the policy; uniform at the very start."""
        if step < self.config.random_steps:
            return uniform_action(self.networks.action_size, self.generator)
        features = self.encode(as_tensor(obs[None]))
        return self._sample(*self.networks.actor(features))[0][0].cpu().numpy()

    @torch.no_grad()
    def policy(self, obs: np.ndarray, *, sample: bool = False) -> np.ndarray:
        """Mean actions for a batch of observations, or drawn from the policy."""
        mean, log_std = self.played(as_tensor(obs))
        action = self._sample(mean, log_std)[0] if sample else torch.tanh(mean)
        return action.cpu().numpy()

    def update(self, batch: Batch, *, step: int) -> dict[str, Tensor]:
        """One gradient step on critic and encoder, one on the actor, one on the temperature."""
        # Where all gradients are written out, torch need not watch, which takes time.
        written_out = self.by_hand is not None and self.optimisers["encoder"] is None
        with torch.inference_mode(written_out):
            batch = self.taken(batch)
            features = self.encode(batch.obs)
            metrics = self.fit_critic(features, batch.action, self._target(batch))
            metrics |= self._update_actor(batch.obs, features.detach())
            self.end_update()
        return metrics

    @torch.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        features = self.encode(batch.next_obs)
        fast = self.by_hand
        actor = self.networks.actor if fast is None else fast.mean_and_log_std
        critic = self.target_critic if fast is None else fast.target
        action, log_prob = self._sample(*actor(features))
        soft_q = critic(features, action) - self.temperature * log_prob
        return clipped_double_q_target(batch.reward, batch.discount, soft_q)

    def _update_actor(self, obs: Tensor, features: Tensor) -> dict[str, Tensor]:
        if self.by_hand is None:
            loss, log_prob = self._actor_loss(obs, features)
            minimise(loss, self.optimisers["actor"])
        else:
            action = features.new_empty(len(features), self.networks.action_size)
            noise = normal_like(action, self.generator)
            found = self.by_hand.of_normal_actor(features, noise, self.temperature)
            loss, log_prob = found.loss, found.noted
            self.step("actor", found.gradients)
        entropy = -log_prob.detach().mean()
        self._update_temperature(entropy, self.networks.action_size)
        return {
            "actor/loss": loss.detach(),
            "actor/entropy": entropy,
            "actor/temperature": self.temperature,
        }

    def _actor_loss(self, obs: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """The loss, and log π of the actions that were drawn for it."""
        mean, log_std = self.networks.actor(features)
        action, log_prob = self._sample(mean, log_std)
        q = self.networks.critic(features, action).amin(dim=0)
        loss = (self.temperature * log_prob - q).mean() + self.networks.actor_penalty()
        return loss + self.mirror_loss(obs, torch.tanh(mean), self._mean), log_prob

    def _update_temperature(self, entropy: Tensor, action_size: int) -> None:
        # The gradient of L = α (H + dim a) by log α is L itself.
        gradient = self.temperature * (entropy + action_size)
        self.step("temperature", [gradient.to(self.log_temperature.dtype)])

    @property
    def temperature(self) -> Tensor:
        """α as it is now."""
        return self.log_temperature.detach().exp()

    def _mean(self, features: Tensor) -> Tensor:
        return torch.tanh(self.networks.actor(features)[0])

    def _sample(self, mean: Tensor, log_std: Tensor) -> tuple[Tensor, Tensor]:
        return squashed_normal_sample(mean, log_std, normal_like(mean, self.generator))

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"log_temperature": self.log_temperature.detach().clone()}

    def _load_networks(self, state: dict[str, Any]) -> None:
        super()._load_networks(state)
        with torch.no_grad():
            self.log_temperature.copy_(state["log_temperature"])
