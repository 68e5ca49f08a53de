"""What rollouts alone can say about a symmetry, where states cannot be set.

Nobody can step from g·s, so the nearest step that did happen stands in for it: for each sampled
step (o, a, r, o') the one from another episode whose (observation, action) is nearest to (go, ga).
Two steps that are near are not equal, symmetric or not; how much that alone gives is measured with
the identity in place of g, and is the floor below which nothing can be said. Mirrored steps with no
step as near as that are left out, so that rarely visited sides do not look like broken symmetry.
"""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from nearsym.diagnostics.declaration import check_spaces
from nearsym.diagnostics.intervals import Estimate, mean_interval
from nearsym.diagnostics.pairs import Progress
from nearsym.diagnostics.policies import uniform
from nearsym.diagnostics.simulator import LONGEST, declared_symmetry, missing_methods, move
from nearsym.errors import UsageError


@dataclass(frozen=True)
class RolloutAudit:
    """Rewards and next observations beside those of the nearest mirrored step, and the floor."""

    elements: list[dict[str, Any]]
    samples: int
    missing: list[str]

    @property
    def reason(self) -> str:
        return (
            f"No verdict: the environment has no {' and no '.join(self.missing)}, so steps from s "
            "and g·s cannot be compared. What follows compares nearest steps of rollouts."
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": None,
            "reason": self.reason,
            "elements": self.elements,
            "samples": self.samples,
            "missing": self.missing,
        }


def audit_rollouts(
    env: gym.Env, *, samples: int = 2000, seed: int = 0, progress: Progress = iter
) -> RolloutAudit:
    """Declaration checks, and the nearest-step comparison under uniformly random actions."""
    symmetry = declared_symmetry(env)
    base: Any = env.unwrapped
    vector = isinstance(base.observation_space, gym.spaces.Discrete) or (
        isinstance(base.observation_space, gym.spaces.Box)
        and len(base.observation_space.shape) == 1
    )
    if not vector:
        raise UsageError(
            "Without set_state only vectors can be compared from rollouts, got observations in "
            f"{base.observation_space}."
        )
    episodes = 20
    steps = _steps(env, episodes, -(-samples // episodes), seed, progress)
    check_spaces(symmetry, base, [step[0] for step in steps[:5]])
    of = np.repeat(np.arange(episodes), len(steps) // episodes)
    rng = np.random.default_rng((seed, 1))
    start, following, reward = _features(base, steps)
    scale = np.where(start.std(axis=0) > 0, start.std(axis=0), 1.0)
    obs_scale = scale[: following.shape[1]]
    measured, reach = [], np.inf
    for g in range(symmetry.group.order):
        moved = [_moved(base, symmetry, g, step) for step in steps]
        query, image, _ = _features(base, moved)
        nearest, far = _nearest(query / scale, start / scale, of)
        reach = float(np.quantile(far, 0.9)) if g == 0 else reach
        gap_r = np.abs(reward - reward[nearest])
        gap_p = np.sqrt((((image - following[nearest]) / obs_scale) ** 2).mean(axis=1))
        near = far <= reach
        measured.append((near.mean(), *(_estimate(v, near, of, rng) for v in (gap_r, gap_p))))
    floor = measured[0]
    elements = [
        _as_json(name, found, floor)
        for name, found in zip(symmetry.group.elements[1:], measured[1:], strict=True)
    ]
    return RolloutAudit(elements, len(steps), missing_methods(env))


Step = tuple[Any, Any, float, Any]


def _steps(
    env: gym.Env, episodes: int, per_episode: int, seed: int, progress: Progress
) -> list[Step]:
    """Steps at uniformly drawn times, `per_episode` from each episode."""
    rng = np.random.default_rng(seed)
    kept: list[Step] = []
    for _ in progress(range(episodes)):
        obs, _ = env.reset(seed=int(rng.integers(2**31)))
        policy, episode = uniform(env.unwrapped, rng), []
        for _ in range(LONGEST):
            action = policy(obs)
            following, reward, terminated, truncated, _ = env.step(action)
            episode.append((np.array(obs), action, float(reward), np.array(following)))
            obs = following
            if terminated or truncated:
                break
        replace = len(episode) < per_episode
        picks = rng.choice(len(episode), size=per_episode, replace=replace)
        kept += [episode[i] for i in picks]
    return kept


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
    compared, eps_r, eps_p = found
    numbers = {"eps_r": eps_r, "eps_p": eps_p, "floor_r": floor[1], "floor_p": floor[2]}
    plain = {key: None if e is None else e.as_json() for key, e in numbers.items()}
    return {"name": name, **plain, "compared": float(compared), "regions": []}
