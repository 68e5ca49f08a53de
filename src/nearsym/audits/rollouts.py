"""What rollouts alone can say about a symmetry, where states cannot be set.

Nobody can step from g·s, so the nearest step that did happen stands in for it: for each sampled
step (o, a, r, o') the one from another episode whose (observation, action) is nearest to (go, ga).
Two steps that are near are not equal, symmetric or not; how much that alone gives is measured with
the identity in place of g, and is the floor below which nothing can be said. Mirrored steps with no
step as near as that are left out, so that rarely visited sides do not look like broken symmetry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from nearsym.audits.declaration import check_spaces
from nearsym.audits.offers import (
    declared_symmetry,
    longest_episode,
    missing_methods,
    symmetric_layer,
)
from nearsym.audits.policies import PolicyMaker, uniform
from nearsym.audits.progress import Progress, as_progress
from nearsym.audits.simulator import check_samples, check_seed, listed, move
from nearsym.audits.table import audit_table
from nearsym.audits.world import check_finite
from nearsym.errors import UsageError
from nearsym.groups.symmetry import Symmetry
from nearsym.measures.intervals import Estimate, mean_interval
from nearsym.protocols import reset, step

EPISODES = 20


@dataclass(frozen=True, repr=False)
class RolloutAudit:
    """Rewards and next observations beside those of the nearest mirrored step, and the floor.

    Images have no useful distance: their elements come without numbers. Shown, it is a table.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> found = audit_rollouts(MirrorPendulum(), samples=100)
    >>> found.verdict is None, found.samples, found.episodes
    (True, 100, 20)
    """

    elements: list[dict[str, Any]]
    samples: int
    episodes: int
    missing: list[str]
    images: bool
    observations: np.ndarray
    """What the sampled steps started from, ordered by episode."""

    @property
    def verdict(self) -> None:
        """None: rollouts alone decide nothing."""
        return None

    @property
    def reason(self) -> str:
        """Why there is no verdict."""
        rest = (
            "Images of nearest steps of rollouts cannot be compared either."
            if self.images
            else "What follows compares nearest steps of rollouts."
        )
        why = "states were not set"
        if self.missing:
            why = f"the environment has no {listed(self.missing, 'or')}"
        return f"No verdict: {why}, so steps from s and g·s cannot be compared. {rest}"

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        return {
            "verdict": None,
            "reason": self.reason,
            "elements": self.elements,
            "samples": self.samples,
            "episodes": self.episodes,
            "missing": self.missing,
        }

    def plot(self, path: str | Path, *, title: str = "") -> None:
        """Refused: where nothing was compared state by state there is nothing to draw."""
        raise UsageError(f"There is nothing to plot. {self.reason}")

    def __repr__(self) -> str:
        return audit_table(self.as_json())


def audit_rollouts(
    env: gym.Env,
    *,
    samples: int = 2000,
    seed: int = 0,
    policies: Sequence[PolicyMaker] = (uniform,),
    progress: bool | Progress = False,
) -> RolloutAudit:
    """Declaration checks, and the nearest-step comparison under policies that take turns.

    Below the floor nothing can be said; well above it the symmetry is broken:

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> (mirror,) = audit_rollouts(MirrorPendulum(), samples=1000).elements
    >>> mirror["eps_p"]["mean"] < 1.3 * mirror["floor_p"]["mean"]
    True
    """
    check_samples(samples)
    check_seed(seed)
    symmetry, longest, missing = declared_symmetry(env), longest_episode(env), missing_methods(env)
    env = symmetric_layer(env)
    images = _are_images(env.observation_space)
    check_spaces(symmetry, env, [np.array(reset(env, seed=seed + i)[0]) for i in range(5)])
    rng, episodes = np.random.default_rng(seed), as_progress(progress)(range(EPISODES))
    steps = _steps(env, policies, -(-samples // EPISODES), longest, rng, episodes)
    if images:
        elements = [_as_json(name, None, None) for name in symmetry.group.elements[1:]]
    else:
        elements = _compare(env, symmetry, steps, np.random.default_rng((seed, 1)))
    return RolloutAudit(
        elements=elements,
        samples=len(steps),
        episodes=EPISODES,
        missing=missing,
        images=images,
        observations=np.stack([step[0] for step in steps]),
    )


Step = tuple[Any, Any, float, Any]


def _steps(
    env: gym.Env,
    policies: Sequence[PolicyMaker],
    per_episode: int,
    longest: int,
    rng: np.random.Generator,
    episodes: Iterable[int],
) -> list[Step]:
    """Steps at uniformly drawn times, `per_episode` from each episode."""
    kept: list[Step] = []
    for number in episodes:
        obs = np.array(reset(env, seed=int(rng.integers(2**31)))[0])  # a copy: it may be a buffer
        policy = policies[number % len(policies)](env, rng)
        episode: list[Step] = []
        for _ in range(longest):
            action = policy(obs)
            taken = np.array(action)  # the environment may clip it in place
            seen, reward, terminated, truncated, _ = step(env, action)
            following = np.array(seen)
            check_finite("reward", reward)
            check_finite("observation", following)
            episode.append((obs, taken, float(reward), following))
            obs = following
            if terminated or truncated:
                break
        replace = len(episode) < per_episode
        picks = rng.choice(len(episode), size=per_episode, replace=replace)
        kept += [episode[i] for i in picks]
    return kept


def _are_images(space: gym.Space) -> bool:
    """Whether observations are pictures, which are not compared, and not vectors, which are."""
    if isinstance(space, gym.spaces.Discrete):
        return False
    if isinstance(space, gym.spaces.Box) and len(space.shape) in (1, 3):
        return len(space.shape) == 3
    raise UsageError(f"An audit from rollouts reads vectors or images, got {space}.")


def _compare(
    env: gym.Env, symmetry: Symmetry, steps: list[Step], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Each element's numbers, beside the floor that the identity gives."""
    of = np.repeat(np.arange(EPISODES), len(steps) // EPISODES)
    start, following, reward = _features(env, steps)
    scale = np.where(start.std(axis=0) > 0, start.std(axis=0), 1.0)
    obs_scale = scale[: following.shape[1]]
    measured, reach = [], np.inf
    for g in range(symmetry.group.order):
        moved = [_moved(env, symmetry, g, step) for step in steps]
        query, image, _ = _features(env, moved)
        nearest, far = _nearest(query / scale, start / scale, of)
        reach = float(np.quantile(far, 0.9)) if g == 0 else reach
        gap_r = np.abs(reward - reward[nearest])
        gap_p = np.sqrt((((image - following[nearest]) / obs_scale) ** 2).mean(axis=1))
        near = far <= reach
        measured.append((near.mean(), *(_estimate(v, near, of, rng) for v in (gap_r, gap_p))))
    return [
        _as_json(name, found, measured[0])
        for name, found in zip(symmetry.group.elements[1:], measured[1:], strict=True)
    ]


def _moved(env: Any, symmetry: Any, g: int, step: Step) -> Step:
    obs, action, reward, following = step
    return (
        move(symmetry.observation, env.observation_space, g, obs),
        move(symmetry.action, env.action_space, g, action),
        reward,
        move(symmetry.observation, env.observation_space, g, following),
    )


def _features(env: Any, steps: list[Step]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(observation and action, next observation, reward) as rows of numbers."""
    obs = np.stack([_flat(env.observation_space, step[0]) for step in steps])
    action = np.stack([_flat(env.action_space, step[1]) for step in steps])
    following = np.stack([_flat(env.observation_space, step[3]) for step in steps])
    return np.concatenate([obs, action], axis=1), following, np.array([s[2] for s in steps])


def _flat(space: gym.Space, value: Any) -> np.ndarray:
    if isinstance(space, gym.spaces.Discrete):
        return np.eye(int(space.n))[int(value) - int(space.start)]
    return np.ravel(value).astype(float)


def _nearest(
    query: Float[np.ndarray, "samples features"],
    start: Float[np.ndarray, "samples features"],
    episode: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The index of the nearest start of another episode, for each query, and its distance."""
    square = (query**2).sum(1)[:, None] + (start**2).sum(1)[None] - 2 * query @ start.T
    square[episode[:, None] == episode[None]] = np.inf
    nearest = square.argmin(axis=1)
    distance = np.sqrt(np.maximum(square[np.arange(len(square)), nearest], 0.0))
    return nearest, distance


def _estimate(
    values: np.ndarray, near: np.ndarray, episode: np.ndarray, rng: np.random.Generator
) -> Estimate | None:
    """Summary over the samples that found a near step; None where there are hardly any."""
    means = np.array([values[near & (episode == e)].mean() for e in np.unique(episode[near])])
    if len(means) < 2:
        return None
    kept = values[near]
    interval = mean_interval(means, rng)
    return Estimate(
        float(means.mean()), interval, float(np.quantile(kept, 0.95)), float(kept.max())
    )


def _as_json(name: str, found: Any, floor: Any) -> dict[str, Any]:
    if found is None:
        return {"name": name, "eps_r": None, "eps_p": None, "compared": 0.0, "regions": []}
    compared, eps_r, eps_p = found
    numbers = {"eps_r": eps_r, "eps_p": eps_p, "floor_r": floor[1], "floor_p": floor[2]}
    plain = {key: None if e is None else e.as_json() for key, e in numbers.items()}
    return {"name": name, **plain, "compared": float(compared), "regions": []}
