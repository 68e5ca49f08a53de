"""`nearsym discover`."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearsym.cli.options import Positional
from nearsym.errors import UsageError

if TYPE_CHECKING:
    from nearsym.discovery.result import Discovery
    from nearsym.tasks.task import Task

RECORDED = (".csv", ".npz")


@dataclass(frozen=True, kw_only=True)
class Discover:
    """Find the symmetries of an environment, or guess them from recorded transitions.

    nearsym discover Walker2d-v5 --out symmetry.py
    nearsym discover my_module:make_env
    nearsym discover recorded.csv
    """

    env: Positional[str]
    """a task, a Gymnasium id, module:factory, or a .csv or .npz file of transitions"""
    variant: str | None = None
    """a variant of a task, NAME or NAME=STRENGTH"""
    samples: int = 400
    """pairs of steps of the proof"""
    seed: int = 0
    """the same seed gives the same result"""
    out: str | None = None
    """write the declaration to this Python file, with a factory make_env for audit and train"""


def run(args: Discover) -> dict[str, Any]:
    """What was found, as one JSON object."""
    if Path(args.env).suffix in RECORDED:
        return _guess(args)
    _check_out(args)
    from nearsym.discovery.search import discover
    from nearsym.tasks.registry import find_task
    from nearsym.training import atomic

    task = find_task(args.env, **({} if args.variant is None else {"variant": args.variant}))
    with closing(task.make_for_audit()) as env:
        if args.out is not None:  # now: a task that does not exist leaves no folder
            atomic.make_place(Path(args.out).parent, "out")
        found = discover(env, samples=args.samples, seed=args.seed, progress=True)
    about = {"env": args.env, "variant": args.variant, "seed": args.seed, "out": args.out}
    about["factory"] = None if args.out is None else _write(found, task, Path(args.out))
    return about | found.as_json() | {"table": repr(found)}


def _write(found: "Discovery", task: "Task", out: Path) -> str | None:
    """Write the declaration; for an environment that is not nearsym's with a factory, which is
    returned as module:factory."""
    from nearsym.discovery.declaration import with_factory
    from nearsym.tasks.custom import CustomTask
    from nearsym.training import atomic

    own = isinstance(task, CustomTask) and bool(found.elements)
    source = with_factory(found.declaration, task.name) if own else found.declaration
    atomic.replace(out, source.encode())
    return f"{out.stem}:make_env" if own else None


def show(result: dict[str, Any]) -> None:
    """The table, and the declaration where it was not written to a file."""
    print(result["table"])
    if "guesses" in result:
        return
    if result["out"] is not None:
        print(f"Wrote {result['out']}.")
        if result["factory"] is not None:
            folder = Path(result["out"]).parent  # a module is looked for where one is
            there = "" if folder == Path() else f" in {folder}"
            print(f"Next{there}: nearsym audit {result['factory']}")
            print(f"Then: nearsym train {result['factory']}")
    elif result["elements"]:
        print(f"\n{result['declaration']}")


def _guess(args: Discover) -> dict[str, Any]:
    from nearsym.discovery.recorded import guess_symmetries

    for name in ("variant", "out"):
        if getattr(args, name) is not None:
            raise UsageError(f"`{name}` belongs to environments; {args.env} is a file.")
    found = guess_symmetries(args.env)
    return {"env": args.env} | found.as_json() | {"table": repr(found)}


def _check_out(args: Discover) -> None:
    """Refuse what could not be written, before anything is measured."""
    if args.out is None:
        return
    if Path(args.out).suffix != ".py":
        raise UsageError(f"`out` is a Python file, such as symmetry.py, got {args.out}.")
    if args.env.partition(":")[0] == Path(args.out).stem:
        raise UsageError(f"`out` {args.out} would replace the module of {args.env}. Name another.")
    from nearsym.training.untrusted import refuse_special

    refuse_special(Path(args.out))
