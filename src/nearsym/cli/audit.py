"""`nearsym audit`."""

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.errors import UsageError

RUN_SAMPLES = 500


@dataclass(frozen=True, kw_only=True)
class Audit:
    """How symmetric a task or a trained agent is, and where it is not.

    nearsym audit cartpole-swingup --variant gravity --plot where.png
    nearsym audit my_module:make_env
    nearsym audit runs/cartpole-swingup-seed0
    """

    target: Positional[str]
    """a task, module:factory, a Gymnasium id, or a run folder"""
    variant: str | None = None
    """a symmetry-breaking variant of a control task, NAME or NAME=STRENGTH"""
    obs: Literal["state", "pixels"] = "state"
    """what a control task shows"""
    samples: int | None = None
    """pairs of steps to compare (default: 2000, for runs 500)"""
    seed: int = 0
    """the same seed gives the same audit"""
    epsilon: float = 0.5
    """mismatch, in mean steps, from which on an element counts as strongly broken"""
    policy: str | None = None
    """a run folder: its policy acts in half of the episodes"""
    checkpoint: Literal["best", "last"] = "best"
    """which weights of a run"""
    plot: str | None = None
    """write a heat map of the mismatch to this file (.png, .pdf, .svg)"""


def run(args: Audit) -> dict[str, Any]:
    """The audit of a task or of a run, as one JSON object."""
    from nearsym.envs.domains import DOMAINS

    is_run = Path(args.target).is_dir() and args.target not in DOMAINS
    return _audit_run(args) if is_run else _audit_task(args)


def exit_code(result: dict[str, Any]) -> int:
    """2 where the environment cannot set its state, so that no verdict could be given."""
    return 2 if result["verdict"] is None else 0


def show(result: dict[str, Any]) -> None:
    """The result for people."""
    from nearsym.cli.audit_table import audit_table

    print(audit_table(result))


def _audit_task(args: Audit) -> dict[str, Any]:
    from nearsym.diagnostics.environment import SAMPLES
    from nearsym.diagnostics.policies import RANDOM_POLICIES
    from nearsym.diagnostics.rollouts import audit_rollouts
    from nearsym.diagnostics.simulator import declared_symmetry, missing_methods

    samples = SAMPLES if args.samples is None else args.samples
    env, trained = _environment(args)
    head = {"task": args.target, "variant": _variant_of(env), "seed": args.seed}
    try:
        declared_symmetry(env)
        if missing_methods(env):
            found = audit_rollouts(env, samples=samples, seed=args.seed, progress=_bar)
            print(f"nearsym: {found.reason}", file=sys.stderr)
            return head | found.as_json()
        policies = [*RANDOM_POLICIES, *([trained] * len(RANDOM_POLICIES) if trained else [])]
        result = _environment_audit(args, env, samples, policies=policies)
    finally:
        env.close()
    return head | result.as_json()


def _environment_audit(args: Audit, env: Any, samples: int, **options: Any) -> Any:
    from nearsym.diagnostics.environment import audit_environment
    from nearsym.diagnostics.plots import check_plot, plot_audit

    if args.plot is not None:
        check_plot(Path(args.plot))
    result = audit_environment(
        env, samples=samples, seed=args.seed, epsilon=args.epsilon, progress=_bar, **options
    )
    if args.plot is not None:
        variant = _variant_of(env)
        title = args.target if variant is None else f"{args.target} {variant}"
        plot_audit(result, Path(args.plot), title)
    return result


def _environment(args: Audit) -> tuple[Any, Any]:
    """The environment to audit, and a maker of the trained policy's actions or None."""
    from nearsym.envs.domains import DOMAINS
    from nearsym.envs.registry import make

    if args.policy is not None:
        return _with_policy(args)
    if args.target.removeprefix("nearsym/").removesuffix("-v0") in DOMAINS:
        # One environment step, not the agent's two: regions are tested at every environment step.
        return make(args.target, variant=args.variant, obs=args.obs, action_repeat=1), None
    return make(args.target, variant=args.variant), None


def _with_policy(args: Audit) -> tuple[Any, Any]:
    from nearsym.experiments.build import build_env
    from nearsym.experiments.run import load_agent, read_config

    folder = Path(str(args.policy))
    task = read_config(folder).task
    if task.name != args.target:
        raise UsageError(
            f"--policy {folder} was trained on {task.name}, and the audit is of {args.target}."
        )
    env = build_env(replace(task, variant=args.variant))
    _, agent, _ = load_agent(folder, checkpoint=args.checkpoint, env=env)
    return env, _maker(agent)


def _maker(agent: Any) -> Any:
    """A trained agent as a policy for every episode.

    An agent acts in [−1, 1] and reads float32 vectors (`experiments.build`); an audit steps the
    environment itself, which may do neither.
    """
    import numpy as np

    from nearsym.diagnostics.policies import from_unit

    def make(env: Any, rng: Any) -> Any:
        def act(obs: np.ndarray) -> np.ndarray:
            seen = obs if obs.dtype == np.uint8 else obs.astype(np.float32)
            return from_unit(env.action_space, agent.policy(seen[None])[0])

        return act

    return make


def _audit_run(args: Audit) -> dict[str, Any]:
    from nearsym.diagnostics.agent import audit_agent, bound_beside_gap, lipschitz_seen
    from nearsym.diagnostics.policies import RANDOM_POLICIES
    from nearsym.experiments.run import load_agent

    for name in ("variant", "policy"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} belongs to the audit of a task; {args.target} is a run.")
    samples = RUN_SAMPLES if args.samples is None else args.samples
    config, agent, env = load_agent(Path(args.target), checkpoint=args.checkpoint)
    try:
        policies = [*RANDOM_POLICIES, *([_maker(agent)] * len(RANDOM_POLICIES))]
        world = _environment_audit(args, env, samples, policies=policies, keep_observations=True)
        symmetry = env.unwrapped.symmetry  # type: ignore[attr-defined]
    finally:
        env.close()
    found = audit_agent(
        agent.networks, world.observations, symmetry, episodes=world.episodes, seed=args.seed
    )
    slope = lipschitz_seen(found.values, world.following, world.coordinates)
    worst_r = max(element.eps_r.largest for element in world.elements)
    worst_p = max(element.eps_p.largest for element in world.elements)
    bound = bound_beside_gap(
        worst_r, worst_p, slope, config.training.discount, found.q_gap["largest"]
    )
    merged = [
        {**mine, **theirs}
        for mine, theirs in zip(world.as_json()["elements"], found.elements, strict=True)
    ]
    head = {"run": args.target, "task": config.task.name, "variant": config.task.variant}
    head |= {"model": config.network.model}
    result = {**head, "seed": args.seed, **world.as_json(), **found.as_json()}
    return {**result, "elements": merged, "alpha": bound}


def _variant_of(env: Any) -> str | None:
    variant = getattr(env.unwrapped, "variant", None)
    return None if variant is None else str(variant)


def _bar(episodes: Any) -> Any:
    from tqdm import tqdm

    return partial(tqdm, desc="episodes", leave=False)(episodes)
