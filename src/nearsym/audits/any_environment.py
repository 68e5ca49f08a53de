"""The audit of any Gymnasium environment: from pairs of steps where it allows them, else from
rollouts."""

from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.audits.environment import SAMPLES, EnvironmentAudit, audit_environment
from nearsym.audits.inferred import with_transform
from nearsym.audits.offers import check_environment, declared_symmetry, missing_methods
from nearsym.audits.policies import RANDOM_POLICIES, Policy, acting_in, draw_action, uniform
from nearsym.audits.progress import Progress
from nearsym.audits.rollouts import RolloutAudit, audit_rollouts
from nearsym.groups.declared import Declared
from nearsym.groups.symmetry import Symmetry
from nearsym.physics.anywhere import with_states
from nearsym.protocols import Transforming, layer_of, reset, step


def audit(
    env: gym.Env,
    *,
    symmetry: Symmetry | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    epsilon: float | None = None,
    policy: Policy | None = None,
    keep_observations: bool = False,
    progress: bool | Progress = False,
) -> EnvironmentAudit | RolloutAudit:
    """How far an environment is from symmetric, and where.

    The symmetry is the one given, or the one that the environment or a wrapper declares in an
    attribute `symmetry`. With `get_state`, `set_state` and `transform` (see `nearsym.protocols`) a
    step from s is compared with one from g·s, and there is a verdict; without them the nearest
    steps of rollouts are compared, and there is none. Environments on MuJoCo get them from their
    model; for one that keeps all of its state in an array `state` a `transform` is enough.

    `samples` are compared, at states that random policies reach. `policy`, one observation to one
    action, both as `env` has them, acts in half of the episodes. An element counts as strongly
    broken from `epsilon` mean steps on. `keep_observations` keeps what was seen at the samples.
    `progress=True` shows a bar, and a function is called with the episodes. The same seed gives the
    same audit.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> found = audit(MirrorPendulum(wind=0.2), samples=100)
    >>> found.verdict
    'approximate'
    >>> pendulum = gym.make("Pendulum-v1")
    >>> audit(pendulum, symmetry=MirrorPendulum.symmetry, samples=100).missing
    ['get_state', 'set_state', 'transform']
    """
    check_environment(env)
    env = env if symmetry is None else Declared(env, symmetry)
    declared_symmetry(env)
    outermost = env
    env = with_methods(env)
    own = [] if policy is None else [acting_in(outermost, policy)]
    if missing_methods(env):
        return audit_rollouts(
            env, samples=samples, seed=seed, policies=[uniform, *own], progress=progress
        )
    return audit_environment(
        env,
        samples=samples,
        seed=seed,
        epsilon=epsilon,
        policies=[*RANDOM_POLICIES, *(own * len(RANDOM_POLICIES))],
        keep_observations=keep_observations,
        progress=progress,
    )


def with_methods(env: gym.Env) -> gym.Env:
    """The environment with `transform`, `get_state` and `set_state`, where they can be had: from a
    MuJoCo model; and with a `transform`, as `discover` writes one, from an array `state`."""
    env = with_transform(env)
    own = [name for name in ("get_state", "set_state") if name not in missing_methods(env)]
    moves = layer_of(env, Transforming)
    if own or moves is None:
        return env
    states = with_states(env)
    return states if states is not env and _all_there_is(states, moves) else env


def _all_there_is(env: Any, moves: Transforming) -> bool:
    """Whether a step depends on nothing but the state that the environment gives, which `transform`
    moves: after two resets the same state and action lead to the same."""
    reset(env, seed=0)
    state, seen = env.get_state(), []
    action = draw_action(env.action_space, np.random.default_rng(0))
    try:
        moves.transform(0, state)
    except KeyError:  # it knows other arrays
        return False
    for seed in (0, 1):
        reset(env, seed=seed)
        env.set_state(state)
        env.unwrapped.np_random = np.random.default_rng(0)
        obs, reward, *_ = step(env, action)
        seen.append(np.append(np.asarray(obs, dtype=float).ravel(), float(reward)))
    return np.allclose(seen[0], seen[1])
