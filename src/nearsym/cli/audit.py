"""`nearsym audit`."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.errors import UsageError


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
    from nearsym.audits.table import audit_table

    print(audit_table(result))


def _audit_task(args: Audit) -> dict[str, Any]:
    from nearsym.audits import audit

    env, policy, repeat = _environment(args)
    try:
        _check_plot(args, env)
        found = audit(env, policy=policy, **_options(args))
    finally:
        env.close()
    head = {"task": args.target, "variant": _variant_of(env), "seed": args.seed}
    return _finished(args, env, found, head | {"action_repeat": repeat})


def _audit_run(args: Audit) -> dict[str, Any]:
    from nearsym.audits import audit_agent_in
    from nearsym.runs.run import load_agent

    for name in ("variant", "policy", "obs"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} belongs to the audit of a task; {args.target} is a run.")
    config, agent, env = load_agent(Path(args.target), checkpoint=args.checkpoint)
    discount = config.training.discount
    try:
        _check_plot(args, env)
        found = audit_agent_in(
            env, agent.networks, _one_by_one(agent), discount=discount, **_options(args)
        )
    finally:
        env.close()
    head = {"run": args.target, "task": config.task.name, "variant": config.task.variant}
    head |= {"model": config.network.model}
    steps = {"seed": args.seed, "action_repeat": _repeat_of(config.task)}
    return _finished(args, env, found, head | steps)


def _options(args: Audit) -> dict[str, Any]:
    """What an audit is asked in Python."""
    asked: dict[str, Any] = {"seed": args.seed, "epsilon": args.epsilon, "progress": True}
    return asked if args.samples is None else asked | {"samples": args.samples}


def _check_plot(args: Audit, env: Any) -> None:
    """Refuse what could not be drawn or written, before anything is measured."""
    from nearsym.audits.offers import declared_symmetry, missing_methods
    from nearsym.audits.plots import check_plot

    if args.plot is None:
        return
    declared_symmetry(env)  # a missing one comes first
    missing = missing_methods(env)
    if missing:
        lacking = " and no ".join(missing)
        raise UsageError(f"The environment has no {lacking}: there is nothing for --plot to draw.")
    check_plot(Path(args.plot))


def _finished(args: Audit, env: Any, found: Any, head: dict[str, Any]) -> dict[str, Any]:
    """The picture, if asked for, and the result; why there is no verdict goes to standard error."""
    if found.verdict is None:
        print(f"nearsym: {found.reason}", file=sys.stderr)
    if args.plot is not None:
        variant = _variant_of(env)
        found.plot(args.plot, title=args.target if variant is None else f"{args.target} {variant}")
    return head | found.as_json()


def _environment(args: Audit) -> tuple[Any, Any, int]:
    """The environment to audit, the trained policy or None, and how many environment steps one of
    its steps is."""
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
    return env, _one_by_one(agent), _repeat_of(task)


def _repeat_of(task: Any) -> int:
    """Environment steps in one step of a run's agent; other tasks than control know one only."""
    from nearsym.runs.build import has_pixels

    return task.action_repeat if has_pixels(task.name) else 1


def _one_by_one(agent: Any) -> Any:
    """A trained agent as a policy for single observations."""
    return lambda obs: agent.policy(obs[None])[0]


def _variant_of(env: Any) -> str | None:
    variant = getattr(env.unwrapped, "variant", None)
    return None if variant is None else str(variant)
