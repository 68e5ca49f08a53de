"""The symmetries of an environment whose state can be set, found and verified."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.audits.automorphisms import EXACTLY, ROUGHLY
from nearsym.audits.candidates import find_candidates
from nearsym.audits.environment import EnvironmentAudit, audit_environment
from nearsym.audits.inferred import visit
from nearsym.audits.moves import Entries, Move
from nearsym.audits.offers import check_environment
from nearsym.audits.progress import Progress, as_progress
from nearsym.audits.simulator import check_samples, check_seed
from nearsym.audits.world import World
from nearsym.discovery.declaration import python_source
from nearsym.discovery.elements import Element, largest_group
from nearsym.discovery.naming import named_group
from nearsym.discovery.result import Discovery, FoundElement
from nearsym.discovery.structure import suggested_moves
from nearsym.discovery.trials import NEAR, Trial, Trials
from nearsym.errors import UsageError
from nearsym.groups.declared import Declared
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation
from nearsym.groups.symmetry import Symmetry
from nearsym.physics.anywhere import with_states
from nearsym.physics.model import physics_of
from nearsym.physics.states import ModelStates
from nearsym.protocols import Resumable, State, layer_of

SAMPLES = 400
VISITED = 32
"""States on which candidates are tried before the proof."""
LONGEST = 300
"""Steps after which the proof cuts an episode."""


def discover(
    env: gym.Env,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    progress: bool | Progress = False,
) -> Discovery:
    """Find the signed permutations of observation, action and state that an environment obeys.

    Its state must be one that can be set: with `get_state` and `set_state`, on a MuJoCo model, or
    in an attribute `state`. Candidates are the moves that keep the step to first order around a
    reference state, and those that a MuJoCo model's bodies suggest; they are tried on states that
    occur, and what is left is verified by an audit with `samples` pairs of steps. Elements that
    hold only approximately, by up to half a mean step, are found with their ε. The same seed gives
    the same result.

    >>> found = discover(gym.make("Pendulum-v1"), samples=100)
    >>> found.group, found.exact
    (D1, ['mirror_x'])
    >>> found.symmetry.observation.matrices[1].diagonal()
    array([ 1., -1., -1.])
    """
    check_environment(env)
    check_samples(samples)
    check_seed(seed)
    search = _Search.of(env, seed)
    show = as_progress(progress)
    trials = search.trials(show)
    _check_identity(search, trials)
    found, audit = _verified(search, trials, samples, seed, show)
    return _result(search, trials, found, audit, samples)


@dataclass(frozen=True)
class _Found:
    """A group of elements, as something to declare."""

    group: FiniteGroup
    elements: list[Element]
    symmetry: Symmetry

    @classmethod
    def of(cls, elements: list[Element], bounded: bool) -> "_Found":
        group, ordered = named_group(elements)
        shown, actions = (
            Representation(group, np.stack([p.matrix for p in parts]), name)
            for name, parts in (
                ("observation", [e.observation for e in ordered]),
                ("action", [e.move.action for e in ordered]),
            )
        )
        return cls(group, ordered, Symmetry(shown, actions, bounded))


class _Search:
    """One environment as a world, and the moves that come into question."""

    def __init__(self, env: gym.Env, world: World, visited: list[State], seed: int):
        self.env, self.world, self.visited, self.seed = env, world, visited, seed
        exact = find_candidates(world, visited, EXACTLY)
        rough = find_candidates(world, visited, ROUGHLY)
        self.entries: Entries = exact.entries
        self.complete = exact.complete and bool(exact.moves)
        unique = {move.key: move for move in [*exact.moves, *rough.moves, *self._suggested()]}
        self.moves: list[Move] = list(unique.values())

    @classmethod
    def of(cls, env: gym.Env, seed: int) -> "_Search":
        env = with_states(env)
        if layer_of(env, Resumable) is None:
            raise UsageError(
                f"`discover` needs an environment whose state can be set; "
                f"{type(env.unwrapped).__name__} has no get_state and set_state, no MuJoCo model "
                "and no array `state`. Record transitions and use nearsym.discovery."
                "guess_symmetries instead."
            )
        for what, space in (("observations", env.observation_space), ("actions", env.action_space)):
            if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
                raise UsageError(f"`discover` needs vectors for {what}, got {space}.")
        world = World(env, env, seed=seed)
        return cls(env, world, visit(world, VISITED, seed, steps=60), seed)

    @property
    def bounded(self) -> bool:
        space: Any = self.env.action_space
        return bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())

    def _suggested(self) -> list[Move]:
        physics = physics_of(self.env)
        if physics is None:
            return []
        return suggested_moves(physics[0], self.entries, self.world.env.action_space.shape[0])

    def trials(self, show: Progress) -> list[Trial]:
        """What the visited states say about each move, the identity first, then the best ones."""
        trials = Trials(self.world, self.entries, self.visited, self.seed)
        tried = [trials.of(self.moves[i]) for i in show(range(len(self.moves)))]
        good = [trial for trial in tried if trial is not None]
        still = [t for t in good if not t.element.move.changes]
        rest = [t for t in good if t.element.move.changes]
        rest.sort(key=lambda t: (not t.exact, t.steps + t.rewards, t.element.move.changes))
        return still + rest

    def declared(self, found: _Found) -> gym.Env:
        """The environment with what was found as its declaration."""

        def transform(g: int, state: State) -> State:
            return self.entries.moved(found.elements[g].move, state)

        return Declared(self.env, found.symmetry, transform)


def _check_identity(search: _Search, trials: list[Trial]) -> None:
    """What leaves everything in place is a symmetry wherever anything can be measured."""
    if trials and not trials[0].element.move.changes:
        return
    name = type(search.env.unwrapped).__name__
    if not search.moves:
        raise UsageError(
            f"`discover` compares steps around a reference state, and {name} refuses to be put "
            "there. Declare the symmetry by hand."
        )
    raise UsageError(
        f"{name} does not repeat itself: from the same state the same action led elsewhere, or "
        "showed something else, so nothing can be compared. Its get_state has to hold all that its "
        "steps depend on."
    )


def _verified(
    search: _Search, trials: list[Trial], samples: int, seed: int, show: Progress
) -> tuple[_Found | None, EnvironmentAudit | None]:
    """The largest group that an audit's samples bear out."""
    kept = [trial.element for trial in trials if trial.exact or trial.near]
    while len(kept) > 1:
        group = largest_group(kept)
        if len(group) == 1:
            break
        found = _Found.of(group, search.bounded)
        if not _represents(found):
            kept = [element for element in kept if element.key != group[-1].key]
            continue
        env = search.declared(found)
        audit = audit_environment(
            env, samples=samples, seed=seed, longest=LONGEST, find_wrong=False, progress=show
        )
        off = [
            element.key
            for element, measured in zip(found.elements[1:], audit.elements, strict=True)
            if measured.strength.level > NEAR
        ]
        if not off:
            return found, audit
        kept = [element for element in kept if element.key not in off]
    return None, None


def _represents(found: _Found) -> bool:
    """Whether observations, each fitted on its own, multiply as the elements do."""
    matrices = np.stack([element.observation.matrix for element in found.elements])
    mul = found.group.mul
    return bool(np.allclose(np.einsum("gij,hjk->ghik", matrices, matrices), matrices[mul]))


def _result(
    search: _Search,
    trials: list[Trial],
    found: _Found | None,
    audit: EnvironmentAudit | None,
    samples: int,
) -> Discovery:
    unpaid = [t.element for t in trials if t.moves_exactly and not t.paid_exactly]
    notes = [] if search.complete else ["The search was cut short: there may be more."]
    identity = trials[0].element
    shown = _Found.of([identity], search.bounded) if found is None else found
    inside = {element.key for element in shown.elements}
    source = python_source(
        shown.group,
        shown.elements,
        search.entries,
        bounded=search.bounded,
        states=not isinstance(search.env, ModelStates),
    )
    measured = [] if audit is None else audit.elements
    return Discovery(
        shown.group,
        shown.symmetry,
        [
            FoundElement(
                m.name,
                m.strength.exact,
                m.eps_r.mean,
                m.eps_p.mean,
                m.eps_p_relative.mean,
                element,
            )
            for m, element in zip(measured, shown.elements[1:], strict=True)
        ]
        if audit is not None
        else [],
        [element for element in unpaid if element.key not in inside],
        source,
        samples if audit is not None else 0,
        audit,
        notes,
    )
