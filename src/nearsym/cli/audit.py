"""`nearsym audit`."""

import sys
from contextlib import closing
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
    """a symmetry-breaking variant of a task of nearsym, NAME or NAME=STRENGTH"""
    obs: Literal["state", "pixels"] | None = None
    """what a control task shows (default: state; with --policy, what it was trained on)"""
    samples: int | None = None
    """pairs of steps to compare (default: 2000, for runs 500)"""
    seed: int = 0
    """the same seed gives the same audit"""
    epsilon: float | None = None
    """mismatch, in mean steps, above which an element counts as strongly broken (default: 0.5, or
    0.25 where a subgroup is exact and the rest fails everywhere)"""
    policy: str | None = None
    """a run folder: its policy acts in half of the episodes, and steps are the agent's"""
    checkpoint: Literal["best", "last"] = "best"
    """which weights of a run"""
    plot: str | None = None
    """write a heat map of the mismatch to this file (.png, .pdf, .svg)"""
    trust_task: bool = False
    """import the module:factory that a run folder names"""


def run(args: Audit) -> dict[str, Any]:
    """The audit of a task or of a run, as one JSON object."""
    return _audit_run(args) if Path(args.target, "config.json").exists() else _audit_task(args)


def exit_code(result: dict[str, Any]) -> int:
    """2 where the environment cannot set its state, so that no verdict could be given."""
    return 2 if result["verdict"] is None else 0


def show(result: dict[str, Any]) -> None:
    """The result for people."""
    from nearsym.audits.table import audit_table

    print(audit_table(result))


def _audit_task(args: Audit) -> dict[str, Any]:
    from nearsym.audits import audit
    from nearsym.runs.run import Run
    from nearsym.tasks.registry import find_task

    options = {"variant": args.variant, "obs": args.obs}
    given = {name: value for name, value in options.items() if value is not None}
    task = find_task(args.target, **given)
    if args.policy is None:
        env, policy, repeat = task.make_for_audit(), None, 1
    else:
        run = Run(args.policy, trust_task=args.trust_task)
        env, policy = _as_played(args, task, run)
        repeat = run.task.frames_per_step
    with closing(env):
        _check_plot(args, env)
        found = audit(env, policy=policy, **_options(args))
    head = {"task": args.target, "variant": _variant_of(env), "seed": args.seed}
    return _finished(args, found, _variant_of(env), head | {"action_repeat": repeat})


def _as_played(args: Audit, task: Any, run: Any) -> tuple[Any, Any]:
    """The task as the agent of a run steps through it, and its policy."""
    from nearsym.tasks.registry import options_of

    if run.task.name != task.name:
        raise UsageError(
            f"`policy` {args.policy} was trained on {run.task.name}, and the audit is of "
            f"{task.name}."
        )
    if args.obs is not None and args.obs != run.task.obs:
        raise UsageError(f"`policy` {args.policy} reads {run.task.obs}, not `obs` {args.obs}.")
    other = run.task.variant != args.variant and "variant" in options_of(type(run.task))
    played = replace(run.task, variant=args.variant) if other else run.task
    env = played.make("test")
    agent = run.load_agent(args.checkpoint, env)
    return env, lambda obs: agent.policy(obs[None])[0]


def _audit_run(args: Audit) -> dict[str, Any]:
    from nearsym.runs.run import Run

    for name in ("variant", "policy", "obs"):
        if getattr(args, name) is not None:
            raise UsageError(f"`{name}` belongs to the audit of a task; {args.target} is a run.")
    run = Run(args.target, trust_task=args.trust_task)
    if args.plot is not None:
        with closing(run.task.make("test")) as env:
            _check_plot(args, env)
    found = run.audit(checkpoint=args.checkpoint, **_options(args))
    head = {"run": args.target, "task": run.task.name, "variant": run.task.variant}
    head |= {"model": run.config.network.model}
    steps = {"seed": args.seed, "action_repeat": run.task.frames_per_step}
    return _finished(args, found, run.task.variant, head | steps)


def _options(args: Audit) -> dict[str, Any]:
    """What an audit is asked in Python."""
    asked: dict[str, Any] = {"seed": args.seed, "epsilon": args.epsilon, "progress": True}
    return asked if args.samples is None else asked | {"samples": args.samples}


def _check_plot(args: Audit, env: Any) -> None:
    """Refuse what could not be drawn or written, before anything is measured."""
    from nearsym.audits.any_environment import with_methods
    from nearsym.audits.offers import declared_symmetry, missing_methods
    from nearsym.audits.plots import check_plot
    from nearsym.audits.simulator import listed

    if args.plot is None:
        return
    declared_symmetry(env)  # a missing one comes first
    missing = missing_methods(with_methods(env))
    if missing:
        lacking = listed(missing, "or")
        raise UsageError(f"The environment has no {lacking}: there is nothing for `plot` to draw.")
    check_plot(Path(args.plot))


def _finished(args: Audit, found: Any, variant: str | None, head: dict[str, Any]) -> dict[str, Any]:
    """The picture, if asked for, and the result; why there is no verdict goes to standard error."""
    if found.verdict is None:
        print(f"nearsym: {found.reason}", file=sys.stderr)
    if args.plot is not None:
        found.plot(args.plot, title=args.target if variant is None else f"{args.target} {variant}")
    return head | found.as_json()


def _variant_of(env: Any) -> str | None:
    variant = getattr(env.unwrapped, "variant", None)
    return None if variant is None else str(variant)
