"""Pairs of steps, one from s under a and one from g·s under g·a, at states that policies reach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from nearsym.audits.policies import PolicyMaker, draw_action
from nearsym.audits.progress import Progress
from nearsym.audits.simulator import Simulator
from nearsym.audits.world import Outcome, check_finite
from nearsym.errors import UsageError
from nearsym.protocols import State, reset, step

DRAWS = 8
"""Steps from each state where the dynamics are random."""
PROBES = 100
"""Samples whose full states are kept for further questions."""


@dataclass(frozen=True)
class Pairs:
    """What the paired steps gave. Samples are ordered by episode, `per_episode` from each."""

    per_episode: int
    x: Float[np.ndarray, "samples coordinates"]
    """Where the pairs start."""
    actions: Float[np.ndarray, "samples actions"]
    following: Float[np.ndarray, "samples draws coordinates"]
    """s', the next states."""
    moved: Float[np.ndarray, "samples elements draws coordinates"]
    """g·s'."""
    actual: Float[np.ndarray, "samples elements draws coordinates"]
    """The next states from g·s under g·a."""
    reward: Float[np.ndarray, "samples draws"]
    reward_moved: Float[np.ndarray, "samples elements draws"]
    ended: Bool[np.ndarray, "samples draws"]
    ended_moved: Bool[np.ndarray, "samples elements draws"]
    probes: list[tuple[State, Any]]
    """States and actions of some samples."""
    observations: np.ndarray | None
    """What was seen after each step from s, if it was to be kept."""

    @property
    def stochastic(self) -> bool:
        return self.following.shape[1] > 1

    @property
    def samples(self) -> int:
        return len(self.x)

    def by_episode(self, values: Float[np.ndarray, "samples"]) -> Float[np.ndarray, "episodes n"]:
        return values.reshape(-1, self.per_episode)


def sample_pairs(
    simulator: Simulator,
    policies: Sequence[PolicyMaker],
    *,
    samples: int,
    per_episode: int,
    seed: int,
    keep_observations: bool = False,
    progress: Progress = iter,
) -> Pairs:
    """Play episodes, draw states from each, and step from every state and its images.

    Each episode draws one of the policies, and `per_episode` of its states uniformly in time; the
    action at a sampled state is drawn uniformly. Episodes are independent, so they are what
    intervals are built on.
    """
    episodes = -(-samples // per_episode)
    rng = np.random.default_rng(seed)
    rows: list[_Row] = []
    draws = 0
    for episode in progress(range(episodes)):
        visited = _visit(simulator, policies, per_episode, rng)
        if episode == 0:
            _check_restoring(simulator, visited, seed)
            draws = DRAWS if _is_random(simulator, visited, seed) else 1
        for i, (state, action) in enumerate(visited):
            row = _measure(simulator, state, action, draws, (seed, episode, i))
            rows.append(row if keep_observations else row.without_observations())
    every = max(1, len(rows) // PROBES)
    probes = [(row.state, row.action) for row in rows[::every][:PROBES]]
    seen = np.stack([row.plain[0].obs for row in rows]) if keep_observations else None
    return _stacked(rows, per_episode, probes, seen)


@dataclass(frozen=True)
class _Row:
    state: State
    action: Any
    x: np.ndarray
    plain: list[Outcome]
    moved: np.ndarray
    images: list[list[Outcome]]

    def without_observations(self) -> "_Row":
        """The same without pictures, which would fill the memory."""
        nothing = np.empty(0)
        plain = [o._replace(obs=nothing, state={}) for o in self.plain]
        images = [[o._replace(obs=nothing, state={}) for o in image] for image in self.images]
        return replace(self, plain=plain, images=images)


def _visit(
    simulator: Simulator, policies: Sequence[PolicyMaker], count: int, rng: np.random.Generator
) -> list[tuple[State, Any]]:
    """States at `count` uniformly drawn times of one episode, each with a uniform action."""
    env = simulator.env
    policy = policies[int(rng.integers(len(policies)))](env, rng)
    obs, _ = reset(env, seed=int(rng.integers(2**31)))
    kept: list[State] = []
    for t in range(simulator.longest):
        # Reservoir sampling: after each step the kept states are a uniform draw of those so far.
        place = t if t < count else int(rng.integers(t + 1))
        if place < count:
            kept[place : place + 1] = [simulator.state()]
        obs, _, terminated, truncated, _ = step(env, policy(np.asarray(obs)))
        check_finite("observation", obs)
        if terminated or truncated:
            break
    picks = (
        rng.permutation(len(kept)) if len(kept) == count else rng.integers(len(kept), size=count)
    )
    return [(kept[i], draw_action(env.action_space, rng)) for i in picks]


def _measure(
    simulator: Simulator, state: State, action: Any, draws: int, key: tuple[int, ...]
) -> _Row:
    seeds: list[Any] = [None] if draws == 1 else [(*key, k) for k in range(draws)]
    plain = [simulator.outcome(state, action, seed) for seed in seeds]
    _check_numbers(simulator, plain)
    moved, images = [], []
    for g in range(1, simulator.group.order):
        start, act = simulator.moved(g, state), simulator.move_action(g, action)
        images.append([simulator.outcome(start, act, seed) for seed in seeds])
        _check_numbers(
            simulator,
            images[-1],
            after=f"a step from {simulator.group.elements[g]}·s",
            advice="Perhaps the state that `transform` gives is not possible.",
        )
        moved.append([simulator.coordinates.of(simulator.moved(g, o.state)) for o in plain])
    x = simulator.coordinates.of(state)
    return _Row(state, action, x, plain, np.array(moved), images)


def _check_numbers(simulator: Simulator, outcomes: list[Outcome], **said: str) -> None:
    for outcome in outcomes:
        check_finite("coordinate", outcome.x, simulator.coordinates.names, **said)
        check_finite("reward", outcome.reward, **said)
        check_finite("observation", outcome.obs, **said)


def _stacked(
    rows: list[_Row], per_episode: int, probes: list[tuple[State, Any]], seen: np.ndarray | None
) -> Pairs:
    return Pairs(
        per_episode=per_episode,
        x=np.stack([row.x for row in rows]),
        actions=np.stack([np.ravel(row.action).astype(float) for row in rows]),
        following=np.stack([[o.x for o in row.plain] for row in rows]),
        moved=np.stack([row.moved for row in rows]),
        actual=np.stack([[[o.x for o in image] for image in row.images] for row in rows]),
        reward=np.array([[o.reward for o in row.plain] for row in rows]),
        reward_moved=np.array([[[o.reward for o in im] for im in row.images] for row in rows]),
        ended=np.array([[o.terminated for o in row.plain] for row in rows]),
        ended_moved=np.array([[[o.terminated for o in im] for im in row.images] for row in rows]),
        probes=probes,
        observations=seen,
    )


def _check_restoring(simulator: Simulator, visited: list[tuple[State, Any]], seed: int) -> None:
    """The same state, action and random numbers must give the same step twice."""
    for state, action in visited[:10]:
        first, second = (simulator.outcome(state, action, (seed, 0)) for _ in range(2))
        rounding = _rounding(simulator, first)
        if simulator.wrapped and not np.allclose(first.obs, second.obs, 0, rounding):
            raise UsageError(
                "A wrapper around the environment keeps a state that set_state does not know: two "
                "steps from the same state with the same action and random numbers show different "
                "observations. Give that wrapper get_state and set_state, or declare the symmetry "
                "inside it."
            )
        what = _unlike(simulator, first, second)
        if what is not None:
            raise UsageError(
                "set_state does not restore the whole state: two steps from the same state with "
                f"the same action and random numbers differ in {what}. get_state must return "
                "everything that the future depends on."
            )


def _unlike(simulator: Simulator, first: Outcome, second: Outcome) -> str | None:
    """In what two outcomes differ by more than rounding; None if in nothing."""
    gap = np.abs(simulator.coordinates.difference(first.x, second.x))
    rounding = _rounding(simulator, first)
    if gap.max() > rounding:
        return simulator.coordinates.names[int(np.argmax(gap))]
    if abs(first.reward - second.reward) > rounding * (1 + abs(first.reward)):
        return "reward"
    return None if first.terminated == second.terminated else "its end"


def _rounding(simulator: Simulator, outcome: Outcome) -> float:
    """A solver that starts from elsewhere, as MuJoCo's does, is no state that is lost."""
    return simulator.coordinates.rounding * float(1 + np.abs(outcome.x).max())


def _is_random(simulator: Simulator, visited: list[tuple[State, Any]], seed: int) -> bool:
    """Whether other random numbers change what a step gives, or could.

    Steps that draw random numbers count as random even if these gave the same each time: rare
    events are events. Noise that shows in the observation alone is none of the dynamics.
    """
    drew = noisy = False
    for state, action in visited[:20]:
        outcomes = []
        for k in range(4):
            outcomes.append(simulator.outcome(state, action, (seed, 1, k)))
            drew = drew or simulator.drew((seed, 1, k))
        first, rest = outcomes[0], outcomes[1:]
        if any(_unlike(simulator, first, other) is not None for other in rest):
            return True
        rounding = _rounding(simulator, first)
        noisy = noisy or not all(np.allclose(o.obs, first.obs, 0, rounding) for o in rest)
    return drew and not noisy


def resets(simulator: Simulator, count: int, seed: int) -> Iterator[State]:
    """Initial states of `count` episodes."""
    for word in np.random.default_rng((seed, 2)).integers(2**31, size=count):
        simulator.env.reset(seed=int(word))
        yield simulator.state()
