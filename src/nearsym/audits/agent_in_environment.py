"""The audit of an agent in the environment that it acts in: the world, the agent, and Theorem 1."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.audits.agent import AgentAudit, audit_agent, bound_beside_gap, lipschitz_seen
from nearsym.audits.any_environment import audit
from nearsym.audits.environment import EnvironmentAudit
from nearsym.audits.offers import declared_symmetry, symmetric_layer
from nearsym.audits.policies import Policy
from nearsym.audits.progress import Progress
from nearsym.audits.rollouts import RolloutAudit
from nearsym.audits.table import audit_table
from nearsym.audits.verdict import Verdict
from nearsym.audits.wrappers import observation_outside, wrappers_between
from nearsym.networks.actor_critic import ActorCritic

SAMPLES = 500


@dataclass(frozen=True, repr=False)
class RunAudit:
    """The audit of an environment and of an agent at the states that were sampled in it.

    Shown, it is a table; `plot(path)` draws where the environment's symmetry is broken.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> from nearsym.networks.build import build_actor_critic
    >>> from nearsym.networks.config import NetworkConfig
    >>> env, size = MirrorPendulum(wind=0.2), NetworkConfig(channels=8, hidden=16, waist=8)
    >>> networks = build_actor_critic(env.symmetry, (3,), "sac", size)
    >>> found = audit_agent_in(env, networks, lambda obs: np.zeros(1), discount=0.9, samples=100)
    >>> found.verdict, round(found.alpha["eps_p"], 3)
    ('approximate', 0.06)
    """

    world: EnvironmentAudit | RolloutAudit
    agent: AgentAudit
    discount: float

    @property
    def verdict(self) -> Verdict | None:
        """The environment's; None where its states cannot be set."""
        return self.world.verdict

    @property
    def reason(self) -> str:
        """One sentence for the verdict, or for why there is none."""
        return self.world.reason

    @property
    def elements(self) -> list[dict[str, Any]]:
        """For each group element, what was measured of the world and of the agent."""
        worlds = self.world.as_json()["elements"]
        return [{**a, **b} for a, b in zip(worlds, self.agent.elements, strict=True)]

    @property
    def alpha(self) -> dict[str, Any] | None:
        """Theorem 1 with what was measured; None where no paired steps were."""
        world = self.world
        if not isinstance(world, EnvironmentAudit):
            return None
        slope = lipschitz_seen(self.agent.values, world.following, world.coordinates)
        worst_r = max(element.eps_r.largest for element in world.elements)
        worst_p = max(element.eps_p.largest for element in world.elements)
        gap = self.agent.q_gap["largest"]
        return bound_beside_gap(worst_r, worst_p, slope, self.discount, gap)

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        both = {**self.world.as_json(), **self.agent.as_json()}
        return {**both, "elements": self.elements, "alpha": self.alpha}

    def plot(self, path: str | Path, *, title: str = "") -> None:
        """Write a heat map of the environment's mismatch to a .png, .pdf or .svg file."""
        self.world.plot(path, title=title)

    def __repr__(self) -> str:
        return audit_table(self.as_json())


def audit_agent_in(
    env: gym.Env,
    networks: ActorCritic,
    policy: Policy,
    *,
    discount: float,
    reward_unit: float = 1.0,
    samples: int = SAMPLES,
    seed: int = 0,
    epsilon: float | None = None,
    progress: bool | Progress = False,
) -> RunAudit:
    """Audit an environment, with an agent acting in half of the episodes, and the agent's networks.

    `policy` maps one observation of `env` to one action of it; `networks` read the same
    observations, in float32 or uint8. `discount` is the γ of one step, for Theorem 1, and
    `reward_unit` the reward that the critics count as 1. The other options are those of `audit`.

    >>> import torch
    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> from nearsym.networks.build import build_actor_critic
    >>> from nearsym.networks.config import NetworkConfig
    >>> from nearsym.networks.policy import MeanPolicy
    >>> env, size = MirrorPendulum(), NetworkConfig(channels=8, hidden=16, waist=8)
    >>> networks = build_actor_critic(env.symmetry, (3,), "sac", size)
    >>> mean = MeanPolicy(networks)
    >>> def policy(obs):  # actions are in [−1, 1], torques in [−2, 2]
    ...     with torch.no_grad():
    ...         return 2 * mean(torch.as_tensor(obs)[None])[0].numpy()
    >>> found = audit_agent_in(env, networks, policy, discount=0.99, samples=100)
    >>> found.verdict, found.elements[0]["policy"]["largest"] < 1e-5  # untrained: still exact
    ('exact', True)
    """
    world = audit(
        env,
        samples=samples,
        seed=seed,
        epsilon=epsilon,
        policy=policy,
        keep_observations=True,
        progress=progress,
    )
    assert world.observations is not None
    around = wrappers_between(env, symmetric_layer(env))
    read = np.stack([_as_read(observation_outside(around, obs)) for obs in world.observations])
    symmetry, episodes = declared_symmetry(env), world.episodes
    agent = audit_agent(
        networks, read, symmetry, episodes=episodes, seed=seed, reward_unit=reward_unit
    )
    return RunAudit(world, agent, discount)


def _as_read(obs: np.ndarray) -> np.ndarray:
    """An observation in the type that networks read."""
    return obs if obs.dtype == np.uint8 else obs.astype(np.float32)
