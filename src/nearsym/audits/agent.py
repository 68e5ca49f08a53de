"""How equivariant a trained agent is: its policy, its critic, its layers, its relaxed weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from nearsym.audits.coordinates import Coordinates
from nearsym.groups.action import Invariant
from nearsym.groups.group import FiniteGroup
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.relaxation import relaxed_weights
from nearsym.measures.cosets import LeftInRun, left_in_run
from nearsym.measures.equivariance import equivariance_error, numeric_floor
from nearsym.measures.intervals import mean_interval
from nearsym.measures.layerwise import QUANTILES, layer_errors, summary
from nearsym.measures.relaxation import relaxation_summary
from nearsym.networks.actor_critic import ActorCritic
from nearsym.networks.policy import MeanPolicy, SmallerValue
from nearsym.theory.bounds import alpha


@dataclass(frozen=True)
class AgentAudit:
    """Errors per element, the spread of relaxed weights, and the gap of the learned values.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> from nearsym.networks.build import build_actor_critic
    >>> from nearsym.networks.config import NetworkConfig
    >>> symmetry, free = MirrorPendulum.symmetry, NetworkConfig(model="none", hidden=16, waist=8)
    >>> networks = build_actor_critic(symmetry, (3,), "sac", free)
    >>> found = audit_agent(networks, np.eye(3, dtype=np.float32), symmetry)
    >>> found.q_gap["largest"] > 1e-3, found.relaxed
    (True, {})
    """

    elements: list[dict[str, Any]]
    """name, policy, critic and layers: mean, mean_ci95, q95, largest (layers without interval)."""
    floors: dict[str, float]
    """How much of the policy's and the critic's error is rounding."""
    relaxed: dict[str, Any]
    left: LeftInRun
    """What the relaxed weights say is left of the symmetry, beside the policy's errors."""
    q_gap: dict[str, float]
    """|Q(s, a) − Q(gs, ga)| over all elements: mean, 95 % quantile, largest seen."""
    values: Float[np.ndarray, "samples"]
    """V(s) = Q(s, π(s))."""

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        return {
            "elements": self.elements,
            "floors": self.floors,
            "relaxed": self.relaxed,
            "left": self.left.as_json(),
            "q_gap": self.q_gap,
        }


def audit_agent(
    networks: ActorCritic,
    obs: np.ndarray,
    symmetry: Symmetry,
    *,
    episodes: int = 1,
    seed: int = 0,
    layers: int = 64,
    reward_unit: float = 1.0,
) -> AgentAudit:
    """Measure an agent on observations it meets, ordered by episode (equally many from each).

    The policy's error is ‖π(gs) − gπ(s)‖ in action units, the critic's |Q(gs, ga) − Q(s, a)| at
    the policy's actions. `layers` observations serve to judge the layers. `reward_unit` is the
    reward that the critics count as 1.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> from nearsym.networks.build import build_actor_critic
    >>> from nearsym.networks.config import NetworkConfig
    >>> symmetry, size = MirrorPendulum.symmetry, NetworkConfig(channels=8, hidden=16, waist=8)
    >>> networks = build_actor_critic(symmetry, (3,), "sac", size)
    >>> obs = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    >>> found = audit_agent(networks, obs, symmetry, episodes=4)
    >>> [(e["name"], e["policy"]["largest"] < 1e-5) for e in found.elements]
    [('mirror_x', True)]
    """
    policy, value = MeanPolicy(networks), SmallerValue(networks, reward_unit)
    device = next(policy.parameters()).device
    x = torch.as_tensor(np.ascontiguousarray(obs), device=device)
    with torch.no_grad():
        actions = policy(x)
        values = value(x, actions)[:, 0].double().cpu().numpy()
    invariant = Invariant(symmetry.group)
    both = (symmetry.observation, symmetry.action)
    asked = {
        "policy": (policy, x, symmetry.observation, symmetry.action),
        "critic": (value, (x, actions), both, invariant),
    }
    rng = np.random.default_rng(seed)
    found = {name: _by_element(*question, episodes, rng) for name, question in asked.items()}
    some = x[:: max(1, len(x) // layers)][:layers]
    by_layer = layer_errors(networks.parts, lambda: value(some, policy(some)), symmetry.group)
    elements = [
        {
            "name": g,
            **{name: errors[g] for name, errors in found.items()},
            "layers": {name: errors[g] for name, errors in by_layer.items()},
        }
        for g in symmetry.group.elements[1:]
    ]
    floors = {
        "policy": numeric_floor(policy, some),
        "critic": numeric_floor(value, (some, policy(some).detach())),
    }
    relaxed = {
        _named(part, name): dict(spread)
        for part, module in networks.parts.items()
        for name, spread in relaxation_summary(module).items()
    }
    left = _left(networks, found["policy"], symmetry.group)
    return AgentAudit(elements, floors, relaxed, left, _worst(found["critic"]), values)


def lipschitz_seen(
    values: Float[np.ndarray, "samples"],
    x: Float[np.ndarray, "samples coordinates"],
    coordinates: Coordinates,
) -> float:
    """The steepest slope |V(s) − V(s')| / d(s, s') among pairs of samples.

    A lower estimate of the Lipschitz constant: steeper places may lie between the samples.
    """
    distance = coordinates.distance(x[:, None], x[None])
    apart = distance > 1e-9
    slopes = np.abs(values[:, None] - values)[apart] / distance[apart]
    return float(slopes.max(initial=0.0))


def bound_beside_gap(
    eps_r: float, eps_p: float, lipschitz: float, discount: float, q_gap: float
) -> dict[str, Any]:
    """Theorem 1 with measured numbers, and how it relates to the gap that was seen."""
    bound = float(alpha(np.array(eps_r), np.array(eps_p), lipschitz, discount))
    ratio = None if q_gap == 0 else bound / q_gap
    return {
        "value": bound,
        "eps_r": eps_r,
        "eps_p": eps_p,
        "lipschitz": lipschitz,
        "discount": discount,
        "over_q_gap": ratio,
        "note": (
            "α bounds the optimal values, with true suprema and the true Lipschitz constant. Here "
            "all three are the largest seen and the critic is learned, so α is only a rough guide, "
            "often loose by orders of magnitude: 1/(1 − γ) assumes the worst break at every step."
        ),
    }


def _named(part: str, layer: str) -> str:
    return f"{part}.{layer}" if layer else part


def _left(
    networks: ActorCritic, policy: dict[str, dict[str, Any]], group: FiniteGroup
) -> LeftInRun:
    weights = {
        _named(part, name): w.double().cpu().numpy()
        for part, module in networks.parts.items()
        for name, w in relaxed_weights(module).items()
    }
    return left_in_run(weights, {g: errors["mean"] for g, errors in policy.items()}, group)


def _by_element(
    f: nn.Module, x: Any, act_in: Any, act_out: Any, episodes: int, rng: np.random.Generator
) -> dict[str, dict[str, Any]]:
    whole = equivariance_error(f, x, act_in, act_out, quantiles=QUANTILES)
    parts = [equivariance_error(f, chunk, act_in, act_out) for chunk in _chunks(x, episodes)]
    return {
        g: {**summary(errors), "mean_ci95": _interval([part[g] for part in parts], rng)}
        for g, errors in whole.items()
    }


def _chunks(x: Any, episodes: int) -> list[Any]:
    if isinstance(x, tuple):
        return list(zip(*(_chunks(part, episodes) for part in x), strict=True))
    return list(x.reshape(episodes, -1, *x.shape[1:]))


def _interval(means: list[float], rng: np.random.Generator) -> list[float] | None:
    if len(means) < 2:
        return None
    return list(mean_interval(np.array(means), rng))


def _worst(critic: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The largest of each number over the elements."""
    return {
        key: max((errors[key] for errors in critic.values()), default=0.0)
        for key in ("mean", "q95", "largest")
    }
