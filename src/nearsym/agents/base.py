"""What the agents share: their interface, and the steps every update is made of."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from nearsym.agents.adam import adam, gradients_of, minimise
from nearsym.agents.average import AveragedNetworks
from nearsym.agents.batch import Batch
from nearsym.agents.by_hand import by_hand
from nearsym.agents.losses import twin_critic_loss
from nearsym.agents.rewards import RewardScale
from nearsym.errors import UsageError
from nearsym.layers.constant import sent
from nearsym.layers.relaxation import relaxed_parameters
from nearsym.networks.actor_critic import ActorCritic


class Agent(Protocol):
    """What the training loop needs of an agent.

    >>> def best_action(agent: Agent, obs: np.ndarray) -> np.ndarray:
    ...     return agent.policy(obs[None])[0]
    """

    networks: ActorCritic
    generator: torch.Generator
    """Where everything random that the agent does comes from."""

    @property
    def reward_unit(self) -> float:
        """The reward of the environment that the critics count as 1."""
        ...

    def act(self, obs: np.ndarray, *, step: int) -> np.ndarray:
        """An exploring action for one observation, at this agent step of training."""
        ...

    def policy(self, obs: np.ndarray, *, sample: bool = False) -> np.ndarray:
        """Actions for a batch of observations: the mean ones, or drawn from the policy."""
        ...

    def update(self, batch: Batch, *, step: int) -> dict[str, Tensor]:
        """One gradient step at this agent step; returns named scalars."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimisers and random state: tensors and plain data only."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        ...

    def load_weights(self, state: dict[str, Any]) -> None:
        """What acting needs of a state, whatever device it was made on."""
        ...


@dataclass(frozen=True)
class Compute:
    """Where and how precisely an agent computes.

    >>> compute = Compute(torch.device("cpu"), bfloat16=True)
    >>> compute.encode(nn.Linear(3, 2), torch.ones(5, 3)).dtype
    torch.float32
    """

    device: torch.device
    bfloat16: bool
    """Run the encoder in bfloat16. Values, targets and losses stay float32: at Q = 80 the spacing
    of bfloat16 is a half."""

    def here(self, batch: Batch) -> Batch:
        """A batch on this device; nobody waits until it is there."""
        return Batch(*(sent(field, self.device) for field in batch))

    def encode(self, encoder: Callable[[Tensor], Tensor], obs: Tensor) -> Tensor:
        """Features in float32, computed in the chosen precision."""
        if not self.bfloat16:
            return encoder(obs)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            return encoder(obs).float()


def check_fits(name: str, module: nn.Module, saved: dict[str, Tensor]) -> None:
    """Refuse weights of another network: those of a version that built it otherwise."""
    expected = {key: tuple(weight.shape) for key, weight in module.state_dict().items()}
    found = {key: tuple(weight.shape) for key, weight in saved.items()}
    if found != expected:
        key = min(k for k in expected | found if expected.get(k) != found.get(k))
        was, wants = (f"shape {w[key]}" if key in w else "nothing" for w in (found, expected))
        raise UsageError(
            f"The saved {name} is not the one that this version of nearsym builds for these "
            f"settings: at {key!r} it has {was}, expected {wants}. Use the version that "
            "saved it with its settings, or train again."
        )


def uniform_action(size: int, generator: torch.Generator) -> np.ndarray:
    """An action drawn uniformly from [−1, 1]ⁿ."""
    drawn = torch.rand((1, size), generator=generator, device=generator.device)
    return (2 * drawn - 1)[0].cpu().numpy()


def normal_like(x: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal noise of the shape, type and device of x."""
    return torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)


class LearnerConfig(Protocol):
    """The settings that all learners share."""

    @property
    def learning_rate(self) -> float: ...

    @property
    def target_tau(self) -> float: ...

    @property
    def policy_average(self) -> float: ...

    @property
    def scale_rewards(self) -> bool: ...


Config = TypeVar("Config", bound=LearnerConfig)


class Learner(Generic[Config]):
    """An actor-critic in training: its networks, target critic, optimisers and random generator.

    The networks are handed in; the encoder learns from the critic's loss. Agents add `act`,
    `policy` and `update` (see `Agent`).

    >>> from nearsym.agents.sac import SAC
    >>> issubclass(SAC, Learner)
    True
    """

    def __init__(
        self,
        networks: ActorCritic,
        config: Config,
        *,
        compute: Compute,
        generator: torch.Generator,
    ):
        self.networks = networks
        self.config = config
        self.compute = compute
        self.generator = generator
        self.rewards = RewardScale().to(compute.device) if config.scale_rewards else None
        self.target_critic = copy.deepcopy(networks.critic).requires_grad_(False)
        # Listed once: looking them up takes longer than moving the weights of a small network.
        self._followed: list[Tensor] = list(networks.critic.parameters())
        self._followers: list[Tensor] = list(self.target_critic.parameters())
        self.by_hand = by_hand(networks, self.target_critic)
        rate = config.policy_average
        self.averaged = AveragedNetworks(networks.parts, rate) if rate else None
        self.optimisers = {
            name: adam(config.learning_rate, part, networks.relaxed_rate, networks.relaxed_from)
            for name, part in networks.parts.items()
        }
        decays = networks.parts.values() if networks.relaxed_decay else ()
        self._drawn_together = [w for module in decays for w in relaxed_parameters(module)]

    def taken(self, batch: Batch) -> Batch:
        """A batch where this learner computes, its samples moved if the model learns so and its
        rewards in the learner's units; scales that follow the data have seen it."""
        batch = self.compute.here(batch)
        moves, normaliser = self.networks.moves, self.networks.normaliser
        if moves is not None:
            elements = moves.draw(len(batch.obs), self.generator)
            batch = batch._replace(
                obs=moves.observations(batch.obs, elements),
                action=moves.actions(batch.action, elements),
                next_obs=moves.observations(batch.next_obs, elements),
            )
        if normaliser is not None:
            normaliser.watch(batch.obs)
        if self.rewards is None:
            return batch
        self.rewards.watch(batch.reward)
        return batch._replace(reward=self.rewards(batch.reward))

    @property
    def reward_unit(self) -> float:
        """The reward of the environment that the critics count as 1."""
        return 1.0 if self.rewards is None else float(self.rewards.unit)

    def encode(self, obs: Tensor) -> Tensor:
        """Features of a batch of observations, where and how this learner computes."""
        return self.compute.encode(self.networks.encoder, obs.to(self.compute.device))

    def played(self, obs: Tensor) -> Any:
        """What the actor that is evaluated says of observations: the averaged one if there is."""
        parts = self.networks.parts if self.averaged is None else self.averaged.parts
        # Not the compiled call: batches of an evaluation shrink, torch makes eight programs only,
        # and those are for training.
        features = self.compute.encode(parts["encoder"].forward, obs.to(self.compute.device))
        return parts["actor"](features)

    def fit_critic(self, features: Tensor, action: Tensor, target: Tensor) -> dict[str, Tensor]:
        """One gradient step of critic and encoder towards the targets; returns named scalars."""
        encoder = self.optimisers["encoder"]
        if self.by_hand is None:
            q = self.networks.critic(features, action)
            loss = twin_critic_loss(q, target) + self.networks.critic_penalty()
            minimise(loss, self.optimisers["critic"], encoder)
            return self.critic_metrics(loss.detach(), q.detach())
        learns = encoder is not None
        found = self.by_hand.of_critic(features, action, target, wants_features=learns)
        self.step("critic", found.gradients)
        if encoder is not None:
            encoder.step(gradients_of(features, encoder.parameters, found.by_features))
        return self.critic_metrics(found.loss, found.q)

    def step(self, part: str, gradients: Sequence[Tensor]) -> None:
        """One step of a part by its gradients, if there is anything to learn."""
        optimiser = self.optimisers[part]
        if optimiser is not None:
            optimiser.step(gradients)

    def slow_down(self, share: float) -> None:
        """Learn with a share of the learning rate from now on."""
        for optimiser in self.optimisers.values():
            if optimiser is not None:
                optimiser.share = share

    def critic_metrics(self, loss: Tensor, q: Tensor) -> dict[str, Tensor]:
        """What is logged of the critic."""
        metrics = {"critic/loss": loss, "critic/q": q.mean()}
        return metrics if self.rewards is None else metrics | {"reward/unit": self.rewards.unit}

    def mirror_loss(
        self, obs: Tensor, mean: Tensor, mean_of: Callable[[Tensor], Tensor]
    ) -> Tensor | float:
        """Weighted ‖gπ(s) − π(gs)‖² with a g other than e for each sample; `mean` is π(s).

        Both sides learn (Yu et al. 2018); the encoder does not, as in the rest of the actor's loss.
        """
        moves, strength = self.networks.moves, self.networks.mirror_strength
        if moves is None or not strength:
            return 0.0
        elements = moves.draw(len(obs), self.generator, identity=False)
        with torch.no_grad():
            features = self.encode(moves.observations(obs, elements))
        difference = moves.actions(mean, elements) - mean_of(features)
        return strength * difference.square().sum(-1).mean()

    @torch.no_grad()
    def end_update(self) -> None:
        """Move the target critic a fraction `target_tau` towards the critic, relaxed weights that
        are to stay together towards their means, and the average of all weights."""
        torch._foreach_lerp_(self._followers, self._followed, self.config.target_tau)
        for w in self._drawn_together:
            w.lerp_(w.mean(-1, keepdim=True), self.networks.relaxed_decay)
        if self.averaged is not None:
            self.averaged.follow()

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimisers and random state: tensors and plain data only."""
        state = {name: module.state_dict() for name, module in self._modules().items()}
        optimisers = {k: o.state_dict() for k, o in self.optimisers.items() if o is not None}
        averaged = {} if self.averaged is None else {"averaged": self.averaged.state_dict()}
        shared = {"optimisers": optimisers, "generator": self.generator.get_state()}
        return state | shared | averaged

    def load_weights(self, state: dict[str, Any]) -> None:
        """The networks of a state as they are played: enough to act, on any device."""
        self._load_networks(state)
        if self.averaged is not None:
            for name, part in self.averaged.parts.items():
                self.networks.parts[name].load_state_dict(part.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Everything in a state that `state_dict` gave: training goes on bit for bit."""
        self._load_networks(state)
        for name, optimiser in self.optimisers.items():
            if optimiser is not None:
                optimiser.load_state_dict(state["optimisers"][name])
        self.generator.set_state(state["generator"])

    def _load_networks(self, state: dict[str, Any]) -> None:
        for name, module in self._modules().items():
            check_fits(name, module, state[name])
            module.load_state_dict(state[name])
        if self.averaged is not None:
            self.averaged.load_state_dict(state["averaged"])

    def _modules(self) -> dict[str, nn.Module]:
        modules = self.networks.parts | {"target_critic": self.target_critic}
        return modules if self.rewards is None else modules | {"rewards": self.rewards}
