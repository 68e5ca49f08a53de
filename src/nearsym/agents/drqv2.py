"""DrQ-v2: deterministic policy gradients with image augmentation (Yarats et al. 2021)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nearsym.agents.adam import minimise
from nearsym.agents.augment import draw_shifts, shift_images
from nearsym.agents.base import Learner, normal_like, uniform_action
from nearsym.agents.batch import Batch, as_tensor
from nearsym.agents.losses import clipped_double_q_target, linear_schedule, truncated_normal_sample
from nearsym.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class DrQV2Config:
    """Defaults follow Yarats et al. 2021 (arXiv:2107.09645).

    >>> DrQV2Config(std_steps=50_000).learning_rate
    0.0001
    """

    learning_rate: float = 1e-4
    """Adam step size for encoder, actor and critic."""
    rate_end: float = 1.0
    """Share of the learning rate that is left at the end of its schedule; 1 keeps it, as the paper
    does."""
    rate_steps: int = 100_000
    """Agent steps over which the learning rate falls."""
    target_tau: float = 0.01
    """Fraction of the critic copied into its target after each update."""
    random_steps: int = 2000
    """Agent steps at the start that draw actions uniformly."""
    std_start: float = 1.0
    """Exploration noise at the start, in action units."""
    std_end: float = 0.1
    """Exploration noise at the end of its schedule."""
    std_steps: int = 100_000
    """Agent steps over which the noise falls."""
    noise_clip: float = 0.3
    """Largest noise in a TD target and in the actor's loss."""
    shift_pad: int = 4
    """Largest random shift of images, in pixels; unused for vectors."""
    saturation_penalty: float = 0.0
    """Strength of a penalty on the squared action before its tanh. 0 in the paper; the laptop
    preset uses it, since the published settings can saturate early and stay so."""
    policy_average: float = 0.0
    """Play a moving average of the weights, which moves so far to them in an update; 0 plays the
    weights as they are, as the paper does."""
    scale_rewards: bool = False
    """Learn from rewards divided by the running root mean square of those that are not zero."""

    def __post_init__(self) -> None:
        if not 0 < self.target_tau <= 1:
            raise UsageError(f"`target_tau` must lie in (0, 1], got {self.target_tau}.")
        if self.std_steps < 1:
            raise UsageError(f"`std_steps` must be at least 1, got {self.std_steps}.")
        if self.rate_steps < 1:
            raise UsageError(f"`rate_steps` must be at least 1, got {self.rate_steps}.")


class DrQV2(Learner[DrQV2Config]):
    """The agent. Images are augmented, vectors are not.

    >>> from nearsym.agents.base import Compute
    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.representation import sign
    >>> from nearsym.groups.symmetry import Symmetry
    >>> from nearsym.networks.build import build_actor_critic
    >>> from nearsym.networks.config import NetworkConfig
    >>> mirror = dihedral(1)
    >>> symmetry = Symmetry(2 * sign(mirror), sign(mirror))
    >>> sizes = NetworkConfig(model="exact", channels=4, hidden=16)
    >>> networks = build_actor_critic(symmetry, (2,), "drqv2", sizes)
    >>> compute, generator = Compute(torch.device("cpu"), bfloat16=False), torch.Generator()
    >>> agent = DrQV2(networks, DrQV2Config(), compute=compute, generator=generator)
    >>> obs = np.ones((1, 2), np.float32)
    >>> bool(np.allclose(agent.policy(-obs), -agent.policy(obs)))  # the mirrored action
    True
    """

    @torch.no_grad()
    def act(self, obs: np.ndarray, *, step: int) -> np.ndarray:
        """The mean action with exploration noise; uniform at the very start."""
        if step < self.config.random_steps:
            return uniform_action(self.networks.action_size, self.generator)
        mean = self._mean(self.encode(as_tensor(obs[None])))
        noise = normal_like(mean, self.generator)
        return truncated_normal_sample(mean, self.std(step), noise)[0].cpu().numpy()

    @torch.no_grad()
    def policy(self, obs: np.ndarray, *, sample: bool = False) -> np.ndarray:
        """Mean actions for a batch of observations, or with the final exploration noise."""
        mean = torch.tanh(self.played(as_tensor(obs)))
        if sample:
            noise = normal_like(mean, self.generator)
            mean = truncated_normal_sample(mean, self.config.std_end, noise)
        return mean.cpu().numpy()

    def std(self, step: int) -> float:
        """Exploration noise at an agent step."""
        config = self.config
        return linear_schedule(config.std_start, config.std_end, config.std_steps, step)

    def update(self, batch: Batch, *, step: int) -> dict[str, Tensor]:
        """One gradient step on critic and encoder, then one on the actor."""
        batch = self.taken(batch)
        config, std = self.config, self.std(step)
        self.slow_down(linear_schedule(1.0, config.rate_end, config.rate_steps, step))
        obs = self._shifted(batch.obs)
        target = self._target(batch, std)  # before anything is kept for a backward pass
        features = self.encode(obs)
        metrics = self.fit_critic(features, batch.action, target)
        metrics |= self._update_actor(obs, features.detach(), std)
        self.end_update()
        return metrics

    @torch.no_grad()
    def _target(self, batch: Batch, std: float) -> Tensor:
        features = self.encode(self._shifted(batch.next_obs))
        fast = self.by_hand
        actor = self.networks.actor if fast is None else fast.mean
        critic = self.target_critic if fast is None else fast.target
        next_q = critic(features, self._noisy(torch.tanh(actor(features)), std))
        return clipped_double_q_target(batch.reward, batch.discount, next_q)

    def _update_actor(self, obs: Tensor, features: Tensor, std: float) -> dict[str, Tensor]:
        if self.by_hand is None:
            loss, saturation = self._actor_loss(obs, features, std)
            minimise(loss, self.optimisers["actor"])
        else:
            action = features.new_empty(len(features), self.networks.action_size)
            found = self.by_hand.of_deterministic_actor(
                features,
                normal_like(action, self.generator),
                std=std,
                clip=self.config.noise_clip,
                penalty=self.config.saturation_penalty,
            )
            loss, saturation = found.loss, found.noted
            self.step("actor", found.gradients)
        return {"actor/loss": loss.detach(), "actor/saturation": saturation.detach()}

    def _actor_loss(self, obs: Tensor, features: Tensor, std: float) -> tuple[Tensor, Tensor]:
        """The loss, and the mean square of the actions before their tanh."""
        before_tanh = self.networks.actor(features)
        mean = torch.tanh(before_tanh)
        q = self.networks.critic(features, self._noisy(mean, std))
        loss = -q.amin(dim=0).mean() + self.networks.actor_penalty()
        loss = loss + self.mirror_loss(obs, mean, self._mean)
        saturation = before_tanh.square().mean()
        if self.config.saturation_penalty:
            loss = loss + self.config.saturation_penalty * saturation
        return loss, saturation

    def _mean(self, features: Tensor) -> Tensor:
        return torch.tanh(self.networks.actor(features))

    def _noisy(self, mean: Tensor, std: float) -> Tensor:
        noise = normal_like(mean, self.generator)
        return truncated_normal_sample(mean, std, noise, self.config.noise_clip)

    def _shifted(self, obs: Tensor) -> Tensor:
        if obs.dtype != torch.uint8:
            return obs
        shifts = draw_shifts(len(obs), self.config.shift_pad, self.generator)
        return shift_images(obs, shifts, self.config.shift_pad)
