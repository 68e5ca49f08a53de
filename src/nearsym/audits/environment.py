"""How far an environment's rewards and dynamics are from symmetric, and where."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.audits.coordinates import Coordinates
from nearsym.audits.declaration import asymmetric_starts, check_spaces, check_transform
from nearsym.audits.element import ElementAudit, measure_element
from nearsym.audits.hints import undeclared_angles
from nearsym.audits.mistakes import Mistake, find_mistakes
from nearsym.audits.pairs import Pairs, resets, sample_pairs
from nearsym.audits.policies import RANDOM_POLICIES, PolicyMaker
from nearsym.audits.progress import Progress, as_progress
from nearsym.audits.recommendation import Recommendation, recommended
from nearsym.audits.simulator import Simulator, check_samples, check_seed
from nearsym.audits.table import audit_table
from nearsym.audits.verdict import EVERYWHERE, Verdict, decide, elements_up_to, usual_epsilon
from nearsym.errors import UsageError
from nearsym.groups.group import FiniteGroup
from nearsym.measures.stabilizers import Stabilizer
from nearsym.protocols import reset

SAMPLES = 2000
PER_EPISODE = 40
STARTS = 200
"""Resets that the test of the initial states looks at."""
SEEN_AT_RANDOM = (
    "Shares are of states that random actions reach. A trained agent may be much more often where "
    "the symmetry fails: audit again with its policy."
)


@dataclass(frozen=True, repr=False)
class EnvironmentAudit:
    """The audit of a task: what it declares, what was measured, and the verdict.

    Shown, it is a table; `as_json()` is the same as plain data, and `plot(path)` draws where the
    symmetry is broken.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> found = audit_environment(MirrorPendulum(), samples=100, longest=50)
    >>> found.stabilizer, found.names
    (['e', 'mirror_x'], ['angle', 'velocity', 'action[0]'])
    >>> found  # doctest: +ELLIPSIS
    D1: 100 pairs of steps from 20 episodes, deterministic
    Verdict: exact. Every element holds at every sample.
    ...
    """

    group: FiniteGroup
    verdict: Verdict
    reason: str
    elements: list[ElementAudit]
    mistakes: list[Mistake]
    starts: list[dict[str, Any]]
    stochastic: bool
    samples: int
    episodes: int
    epsilon: float
    coordinates: Coordinates
    action_names: list[str]
    x: np.ndarray
    """Coordinates and actions of the samples."""
    following: np.ndarray
    """Coordinates after each step."""
    observations: np.ndarray | None
    """What was seen after each step, if it was to be kept."""
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the columns of `x`."""
        return [*self.coordinates.names, *self.action_names]

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "group": str(self.group),
            "elements": [element.as_json() for element in self.elements],
            "samples": self.samples,
            "episodes": self.episodes,
            "epsilon": self.epsilon,
            "stabilizer": self.stabilizer,
            "stabilizer_is_group": self._held.is_group,
            "smallest_epsilon": self.smallest_epsilon,
            "dynamics": "stochastic" if self.stochastic else "deterministic",
            "declaration": {
                "wrong": [mistake.as_json() for mistake in self.mistakes],
                "asymmetric_starts": self.starts,
            },
            "recommendation": self.recommendation._asdict(),
            "notes": self.notes,
        }

    def plot(self, path: str | Path, *, title: str = "") -> None:
        """Write a heat map of the mismatch to a .png, .pdf or .svg file."""
        from nearsym.audits.plots import plot_audit

        plot_audit(self, Path(path), title)

    def __repr__(self) -> str:
        return audit_table(self.as_json())

    @property
    def stabilizer(self) -> list[str]:
        """The elements that are not strongly broken at ε."""
        return list(self._held.elements)

    @property
    def smallest_epsilon(self) -> float:
        """The smallest ε at which no element is strongly broken: the stabilizer is all of G."""
        return self._held.smallest_epsilon

    @property
    def recommendation(self) -> Recommendation:
        """The model that fits what was found."""
        return recommended(self.verdict, [e.strength for e in self.elements])

    @property
    def broken_in_places(self) -> bool:
        """Whether what is declared is right, and fails in some states only."""
        shares = [element.strength.broken_share for element in self.elements]
        return self.verdict != "wrong" and any(0 < share < EVERYWHERE for share in shares)

    @property
    def _held(self) -> Stabilizer:
        return elements_up_to(self.epsilon, self.group, [e.strength for e in self.elements])


def audit_environment(
    env: gym.Env,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    epsilon: float | None = None,
    policies: Sequence[PolicyMaker] = RANDOM_POLICIES,
    per_episode: int = PER_EPISODE,
    longest: int | None = None,
    keep_observations: bool = False,
    find_wrong: bool = True,
    progress: bool | Progress = False,
) -> EnvironmentAudit:
    """Check what an environment declares, then measure it at states that policies reach.

    The environment, or a wrapper around it, needs `symmetry`, `get_state`, `set_state` and
    `transform`. Episodes are cut after `longest` steps (1000 where the environment knows no end),
    and `epsilon` is `verdict.usual_epsilon` unless it is given. `find_wrong=False` leaves out the
    search for other declarations, where this one was found by such a search.
    The same seed gives the same audit.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> found = audit_environment(MirrorPendulum(wind=0.2), samples=100, longest=50)
    >>> print(found.verdict, found.reason)
    approximate Broken mildly or in places (up to 100% of the samples): mirror_x.
    """
    _check_options(samples, epsilon, per_episode)
    check_seed(seed)
    simulator = Simulator(env, seed, longest)
    starts = list(resets(simulator, STARTS, seed))
    observations = [np.asarray(reset(simulator.env, seed=seed + i)[0]) for i in range(5)]
    check_spaces(simulator.symmetry, simulator.env, observations)
    check_transform(simulator, starts[:5])
    pairs = sample_pairs(
        simulator,
        policies,
        samples=samples,
        per_episode=min(per_episode, max(1, samples // 20)),
        seed=seed,
        keep_observations=keep_observations,
        progress=as_progress(progress),
    )
    check_transform(simulator, [state for state, _ in pairs.probes[:5]])
    found = _report(simulator, pairs, starts, epsilon, seed, find_wrong)
    if set(policies) <= set(RANDOM_POLICIES) and found.broken_in_places:
        found.notes.append(SEEN_AT_RANDOM)
    return found


def _report(
    simulator: Simulator,
    pairs: Pairs,
    starts: list[Any],
    epsilon: float | None,
    seed: int,
    find_wrong: bool,
) -> EnvironmentAudit:
    group, coordinates = simulator.group, simulator.coordinates
    orbit = np.array(
        [[coordinates.of(simulator.moved(g, s)) for g in range(group.order)] for s in starts]
    )
    # The spread is taken over whole orbits, so that the scaled distance is the same for all g.
    seen = [pairs.following, pairs.moved, pairs.actual, pairs.x, orbit]
    scale = coordinates.spread(np.concatenate([a.reshape(-1, a.shape[-1]) for a in seen]))
    rng = np.random.default_rng((seed, 3))
    action_names = [f"action[{i}]" for i in range(pairs.actions.shape[1])]
    elements = [
        measure_element(g, simulator, pairs, scale, action_names, rng)
        for g in range(1, group.order)
    ]
    strengths = [e.strength for e in elements]
    holds = np.array([1 - s.moved_wrongly for s in strengths])
    mistakes, notes = find_mistakes(simulator, pairs, scale, holds) if find_wrong else ([], [])
    notes += undeclared_angles(coordinates, pairs)
    epsilon = usual_epsilon(group, strengths) if epsilon is None else epsilon
    verdict, reason = decide(group, strengths, mistakes, epsilon)
    uneven = [
        {**found, "element": group.elements[int(found["element"])]}
        for found in asymmetric_starts(coordinates, orbit)
    ]
    return EnvironmentAudit(
        group=group,
        verdict=verdict,
        reason=reason,
        elements=elements,
        mistakes=mistakes,
        starts=uneven,
        stochastic=pairs.stochastic,
        samples=pairs.samples,
        episodes=pairs.samples // pairs.per_episode,
        epsilon=epsilon,
        coordinates=coordinates,
        action_names=action_names,
        x=np.concatenate([pairs.x, pairs.actions], axis=1),
        following=pairs.following[:, 0],
        observations=pairs.observations,
        notes=notes,
    )


def _check_options(samples: int, epsilon: float | None, per_episode: int) -> None:
    check_samples(samples)
    if epsilon is not None and not 0 < epsilon < np.inf:
        raise UsageError(f"`epsilon` is a positive number of mean steps, got {epsilon}.")
    if per_episode < 1:
        raise UsageError(f"`per_episode` must be at least 1, got {per_episode}.")
