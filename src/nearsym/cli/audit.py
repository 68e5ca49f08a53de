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
    obs: Literal["state", "pixels"] | None = None
    """what a control task shows (default: state; with --policy, what it was trained on)"""
    samples: int | None = None
    """pairs of steps to compare (default: 2000, for runs 500)"""
    seed: int = 0
    """the same seed gives the same audit"""
    epsilon: float = 0.5
    """mismatch, in mean steps, from which on an element counts as strongly broken"""
    policy: str | None = None
    """a run folder: its policy acts in half of the episodes, and steps are the agent's"""
    checkpoint: Literal["best", "last"] = "best"
    """which weights of a run"""
    plot: str | None = None
    """write a heat map of the mismatch to this file (.png, .pdf, .svg)"""


def run(args: Audit) -> dict[str, Any]:
    """The audit of a task or of a run, as one JSON object."""
    from nearsym.tasks.control.domains import DOMAINS

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
    from nearsym.audits.environment import SAMPLES
    from nearsym.audits.policies import RANDOM_POLICIES, uniform
    from nearsym.audits.simulator import declared_symmetry, missing_methods

    samples = SAMPLES if args.samples is None else args.samples
    env, trained, repeat = _environment(args)
    head = {"task": args.target, "variant": _variant_of(env), "seed": args.seed}
    head |= {"action_repeat": repeat}
    try:
        declared_symmetry(env)
        if missing_methods(env):
            policies = [uniform, *([trained] if trained else [])]
            return head | _rollout_audit(args, env, samples, policies).as_json()
        policies = [*RANDOM_POLICIES, *([trained] * len(RANDOM_POLICIES) if trained else [])]
        return head | _environment_audit(args, env, samples, policies=policies).as_json()
    finally:
        env.close()


def _rollout_audit(args: Audit, env: Any, samples: int, policies: list[Any]) -> Any:
    """What can be said where states cannot be set; the reason goes to standard error too."""
    from nearsym.audits.rollouts import audit_rollouts
    from nearsym.audits.simulator import missing_methods

    if args.plot is not None:
        lacking = " and no ".join(missing_methods(env))
        raise UsageError(f"The environment has no {lacking}: there is nothing for --plot to draw.")
    found = audit_rollouts(env, samples=samples, seed=args.seed, policies=policies, progress=_bar)
    print(f"nearsym: {found.reason}", file=sys.stderr)
    return found


def _environment_audit(args: Audit, env: Any, samples: int, **options: Any) -> Any:
    from nearsym.audits.environment import audit_environment
    from nearsym.audits.plots import check_plot, plot_audit

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


def _environment(args: Audit) -> tuple[Any, Any, int]:
    """The environment to audit, a maker of the trained policy's actions or None, and how many
    environment steps one of its steps is."""
    from nearsym.runs.build import has_pixels
    from nearsym.tasks.registry import make, plain_name

    target = plain_name(args.target)
    if not has_pixels(target):
        for name in ("obs", "variant"):
            if getattr(args, name) is not None:
                make(target).close()  # a mistyped task comes first
                raise UsageError(f"--{name} belongs to the control tasks, and {target} is none.")
    if args.policy is not None:
        return _with_policy(args, target)
    if not has_pixels(target):
        return make(target), None, 1
    # One environment step, not the agent's two: regions are tested at every environment step.
    obs = args.obs or "state"
    return make(target, variant=args.variant, obs=obs, action_repeat=1), None, 1


def _with_policy(args: Audit, target: str) -> tuple[Any, Any, int]:
    """The task as the agent of a run steps through it: its observations, its action repeat."""
    from nearsym.runs.build import build_env
    from nearsym.runs.run import load_agent, read_config

    folder = Path(str(args.policy))
    task = read_config(folder).task
    if task.name != target:
        raise UsageError(
            f"--policy {folder} was trained on {task.name}, and the audit is of {target}."
        )
    if args.obs is not None and args.obs != task.obs:
        raise UsageError(f"--policy {folder} reads {task.obs}, not --obs {args.obs}.")
    env = build_env(replace(task, variant=args.variant))
    _, agent, _ = load_agent(folder, checkpoint=args.checkpoint, env=env)
    return env, _maker(agent), _repeat_of(task)


def _repeat_of(task: Any) -> int:
    """Environment steps in one step of a run's agent; other tasks than control know one only."""
    from nearsym.runs.build import has_pixels

    return task.action_repeat if has_pixels(task.name) else 1


def _maker(agent: Any) -> Any:
    """A trained agent as a policy for every episode.

    An agent acts in [−1, 1] and reads float32 vectors (`experiments.build`); an audit steps the
    environment itself, which may do neither.
    """
    from nearsym.audits.policies import from_unit

    def make(env: Any, rng: Any) -> Any:
        def act(obs: Any) -> Any:
            return from_unit(env.action_space, agent.policy(_as_read(obs)[None])[0])

        return act

    return make


def _as_read(obs: Any) -> Any:
    """Observations in the type that agents read."""
    return obs if obs.dtype == "uint8" else obs.astype("float32")


def _audit_run(args: Audit) -> dict[str, Any]:
    from nearsym.audits.agent import audit_agent
    from nearsym.audits.policies import RANDOM_POLICIES, uniform
    from nearsym.audits.simulator import declared_symmetry, missing_methods
    from nearsym.runs.run import load_agent

    for name in ("variant", "policy", "obs"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} belongs to the audit of a task; {args.target} is a run.")
    samples = RUN_SAMPLES if args.samples is None else args.samples
    config, agent, env = load_agent(Path(args.target), checkpoint=args.checkpoint)
    try:
        symmetry = declared_symmetry(env)
        world: Any
        if missing_methods(env):
            world = _rollout_audit(args, env, samples, [uniform, _maker(agent)])
        else:
            policies = [*RANDOM_POLICIES, *([_maker(agent)] * len(RANDOM_POLICIES))]
            world = _environment_audit(
                args, env, samples, policies=policies, keep_observations=True
            )
    finally:
        env.close()
    found = audit_agent(
        agent.networks,
        _as_read(world.observations),
        symmetry,
        episodes=world.episodes,
        seed=args.seed,
    )
    merged = [
        {**mine, **theirs}
        for mine, theirs in zip(world.as_json()["elements"], found.elements, strict=True)
    ]
    head = {"run": args.target, "task": config.task.name, "variant": config.task.variant}
    head |= {"model": config.network.model}
    steps = {"seed": args.seed, "action_repeat": _repeat_of(config.task)}
    result = {**head, **steps, **world.as_json(), **found.as_json()}
    bound = _bound(world, found, config.training.discount)
    return {**result, "elements": merged, "alpha": bound}


def _bound(world: Any, found: Any, discount: float) -> dict[str, Any] | None:
    """Theorem 1 with what was measured; None where no paired steps were."""
    from nearsym.audits.agent import bound_beside_gap, lipschitz_seen
    from nearsym.audits.environment import EnvironmentAudit

    if not isinstance(world, EnvironmentAudit):
        return None
    slope = lipschitz_seen(found.values, world.following, world.coordinates)
    worst_r = max(element.eps_r.largest for element in world.elements)
    worst_p = max(element.eps_p.largest for element in world.elements)
    return bound_beside_gap(worst_r, worst_p, slope, discount, found.q_gap["largest"])


def _variant_of(env: Any) -> str | None:
    variant = getattr(env.unwrapped, "variant", None)
    return None if variant is None else str(variant)


def _bar(episodes: Any) -> Any:
    from tqdm import tqdm

    return partial(tqdm, desc="episodes", leave=False)(episodes)
