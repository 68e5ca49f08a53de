"""Policies for Stable-Baselines3 whose networks use a symmetry.

    from stable_baselines3 import SAC
    from nearsym.integrations.sb3 import SymmetricPolicy
    agent = SAC(SymmetricPolicy, nearsym.make("craft"), policy_kwargs={"model": "approx"})

| class | algorithms |
|---|---|
| `SymmetricPolicy` | SAC |
| `SymmetricTD3Policy` | TD3, DDPG |
| `SymmetricActorCriticPolicy` | PPO, A2C; discrete actions that are permuted too |

`policy_kwargs` may have `model` (none, exact or approx), `symmetry` (a `nearsym.Symmetry`; not
needed for environments of `nearsym.make`), `filters`, `channels`, and what the policies of
Stable-Baselines3 take for vectors: `net_arch`, `activation_fn`, optimiser. Training, saving and
loading are Stable-Baselines3's own.
"""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from nearsym.errors import MissingExtraError, UsageError
from nearsym.groups.space import declared_on
from nearsym.groups.symmetry import Symmetry
from nearsym.integrations.symmetric_networks import SymmetricNetworks

try:
    from stable_baselines3.common.distributions import DiagGaussianDistribution, Distribution
    from stable_baselines3.common.policies import ActorCriticPolicy, ContinuousCritic
    from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, get_actor_critic_arch
    from stable_baselines3.sac.policies import Actor as SACActor
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import Actor as TD3Actor
    from stable_baselines3.td3.policies import TD3Policy
except ImportError as error:
    raise MissingExtraError("Policies for Stable-Baselines3", "sb3") from error

OWN = ("model", "symmetry", "filters", "channels")


class SymmetricFeatures(BaseFeaturesExtractor):
    """Observations to the rows of features that symmetric heads take apart again."""

    def __init__(self, observation_space: spaces.Box, networks: SymmetricNetworks):
        shape = observation_space.shape
        self.images = is_image_space(observation_space)
        self.channels_first = self.images and is_image_space_channels_first(observation_space)
        encoder = networks.encoder((*shape[1:], shape[0]) if self.channels_first else shape)
        super().__init__(observation_space, encoder.size)
        self.encoder = encoder

    def forward(self, observations: Tensor) -> Tensor:
        if self.images:  # as bytes, the channels last
            observations = observations.to(torch.uint8)
        if self.channels_first:
            observations = observations.permute(0, 2, 3, 1)
        return self.encoder(observations)


class _Symmetric:
    """What the policies share: networks in the place of Stable-Baselines3's."""

    networks: SymmetricNetworks

    def __init__(
        self,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        lr_schedule: Any,
        *,
        model: str = "approx",
        symmetry: Symmetry | None = None,
        filters: int = 1,
        channels: int = 32,
        **options: Any,
    ):
        _refuse_unused(options)
        symmetry = declared_on(action_space) if symmetry is None else symmetry
        checked = _checked(symmetry, observation_space, action_space, model)
        self.networks = SymmetricNetworks(checked, model, filters, channels)
        options |= {"features_extractor_class": SymmetricFeatures, "normalize_images": False}
        options |= {"features_extractor_kwargs": {"networks": self.networks}}
        super().__init__(observation_space, action_space, lr_schedule, **options)  # type: ignore[call-arg]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        """What `load` calls the constructor with."""
        given = super()._get_constructor_parameters()  # type: ignore[misc]
        for name in _UNUSED:
            given.pop(name, None)
        return given | {name: getattr(self.networks, name) for name in OWN}

    def _values_of(self, critic: ContinuousCritic, widths: list[int]) -> ContinuousCritic:
        """A critic with invariant values."""
        size, activation = critic.features_extractor.features_dim, self.activation_fn  # type: ignore[attr-defined]
        critic.q_networks = [
            self.networks.to_value(size, widths, activation) for _ in range(critic.n_critics)
        ]
        for i, network in enumerate(critic.q_networks):
            critic.add_module(f"qf{i}", network)
        return critic.to(self.device)  # type: ignore[attr-defined]


class SymmetricPolicy(_Symmetric, SACPolicy):
    """Actor and critics for SAC."""

    def make_actor(self, features_extractor: Any = None) -> SACActor:
        """An actor whose mean moves as actions do, and whose spread moves with it."""
        actor = super().make_actor(features_extractor)
        body = self.networks.body(actor.features_dim, actor.net_arch, actor.activation_fn)
        actor.latent_pi = body  # type: ignore[assignment]
        actor.mu = self.networks.to(self.networks.action, body)
        actor.log_std = self.networks.to(self.networks.action.absolute(), body)  # type: ignore[assignment]
        return actor.to(self.device)

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        """Critics of features and action."""
        widths = get_actor_critic_arch(self.net_arch)[1]
        return self._values_of(super().make_critic(features_extractor), widths)


class SymmetricTD3Policy(_Symmetric, TD3Policy):
    """Actor and critics for TD3 and DDPG."""

    def make_actor(self, features_extractor: Any = None) -> TD3Actor:
        """An actor that moves as actions do."""
        actor = super().make_actor(features_extractor)
        sizes = actor.features_dim, actor.net_arch, actor.activation_fn
        actor.mu = nn.Sequential(self.networks.to_action(*sizes), nn.Tanh())
        return actor.to(self.device)

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        """Critics of features and action."""
        widths = get_actor_critic_arch(self.net_arch)[1]
        return self._values_of(super().make_critic(features_extractor), widths)


class SymmetricActorCriticPolicy(_Symmetric, ActorCriticPolicy):
    """Actor and value for PPO and A2C. Discrete actions move as a permutation."""

    over_orbits: Tensor
    """The mean of |ρ(g)|: what averages over actions that the group exchanges."""

    def _build(self, lr_schedule: Any) -> None:
        networks, size = self.networks, self.features_dim
        policy, value = (
            networks.body(size, widths, self.activation_fn) for widths in _widths(self.net_arch)
        )
        self.mlp_extractor = _Latents(policy, value)  # type: ignore[assignment]
        # As small as in Stable-Baselines3: a policy that begins with no preference.
        self.action_net = networks.to(networks.action, policy, gain=0.01)
        self.value_net = networks.to(networks.invariant, value)  # type: ignore[assignment]
        if isinstance(self.action_dist, DiagGaussianDistribution):
            self.log_std = nn.Parameter(torch.full((networks.action.size,), self.log_std_init))
        moved = np.abs(networks.action.matrices).mean(axis=0)
        self.register_buffer("over_orbits", torch.from_numpy(moved).float(), persistent=False)
        options = self.optimizer_kwargs | {"lr": lr_schedule(1)}
        self.optimizer = self.optimizer_class(self.parameters(), **options)

    def _get_action_dist_from_latent(self, latent_pi: Tensor) -> Distribution:
        if not isinstance(self.action_dist, DiagGaussianDistribution):
            return super()._get_action_dist_from_latent(latent_pi)
        # Actions that the group exchanges have one spread.
        log_std = self.over_orbits @ self.log_std
        return self.action_dist.proba_distribution(self.action_net(latent_pi), log_std)


class _Latents(nn.Module):
    """Features before the action and before the value."""

    def __init__(self, policy: nn.Module, value: nn.Module):
        super().__init__()
        self.policy, self.value = policy, value

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return self.policy(features), self.value(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        return self.policy(features)

    def forward_critic(self, features: Tensor) -> Tensor:
        return self.value(features)


def _widths(net_arch: Any) -> tuple[list[int], list[int]]:
    """Widths of policy and value, however they were given."""
    if isinstance(net_arch, dict):
        return list(net_arch.get("pi", [])), list(net_arch.get("vf", []))
    return list(net_arch), list(net_arch)


_UNUSED = ("features_extractor_class", "features_extractor_kwargs", "normalize_images")


def _refuse_unused(options: dict[str, Any]) -> None:
    for name in _UNUSED:
        if name in options:
            raise UsageError(f"`{name}` is chosen by the symmetric policies: leave it away.")
    if options.get("use_sde"):
        raise UsageError("`use_sde` breaks the symmetry: its noise depends on features. Use False.")
    if options.get("net_arch") == []:
        raise UsageError("`net_arch` needs a layer for each network, got an empty list.")


def _checked(
    symmetry: Symmetry | None, observations: spaces.Space, actions: spaces.Space, model: str
) -> Symmetry:
    if symmetry is None:
        raise UsageError(
            "The policy is not told how the environment is symmetric: add "
            "`policy_kwargs={'symmetry': env.unwrapped.symmetry, …}`, a nearsym.Symmetry."
        )
    if not isinstance(observations, spaces.Box):
        raise UsageError(f"The policy reads vectors and images, not {type(observations).__name__}.")
    if isinstance(actions, spaces.Discrete):
        _check_choices(symmetry, int(actions.n))
    elif isinstance(actions, spaces.Box):
        _check_box(symmetry, actions)
    else:
        raise UsageError(f"Actions must be a Box or Discrete, got {type(actions).__name__}.")
    return symmetry


def _check_choices(symmetry: Symmetry, count: int) -> None:
    if symmetry.action.size != count or (symmetry.action.matrices < 0).any():
        raise UsageError(
            f"The {count} discrete actions are moved by permutations of them, got the action "
            f"representation {symmetry.action} of size {symmetry.action.size}."
        )


def _check_box(symmetry: Symmetry, box: spaces.Box) -> None:
    if box.shape != (symmetry.action.size,):
        raise UsageError(
            f"The symmetry moves actions of {symmetry.action.size} numbers, the environment "
            f"takes them in the shape {box.shape}."
        )
    low, high = box.low.astype(float), box.high.astype(float)
    middle, half = (low + high) / 2, (high - low) / 2
    for name, matrix in zip(symmetry.group.elements, symmetry.action.matrices, strict=True):
        if not (np.allclose(matrix @ middle, middle) and np.allclose(np.abs(matrix) @ half, half)):
            raise UsageError(f"{name} leaves the action space, which reaches from {low} to {high}.")
