"""`nearsym plot`."""

from dataclasses import dataclass
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Draw a run: its learning curve, or what its relaxed weights learned.

    nearsym plot runs/reacher-seed0 --out curve.png
    nearsym plot runs/reacher-seed0 runs/reacher-seed1 --what relaxed --out weights.png
    """

    run: Positional[tuple[str, ...]]
    """a run folder; for relaxed weights also several, of one model"""
    out: str
    """write to this file (.png, .pdf, .svg)"""
    what: Literal["curve", "relaxed"] = "curve"
    """the returns of the evaluations, or w(g) for each layer and each element g"""
    when: Literal["training", "end"] | None = None
    """relaxed weights over training, or at its end as in the paper's Figure 5 (default:
    training)"""
    trust_task: bool = False
    """import the module:factory that the run folder names"""


def run(args: Plot) -> dict[str, Any]:
    """`{"file", "what", "runs"}`."""
    from nearsym.runs.relaxed_figure import plot_relaxed
    from nearsym.runs.run import Run

    opened = [Run(folder, trust_task=args.trust_task) for folder in args.run]
    if args.what == "relaxed":
        plot_relaxed(opened, args.out, when="training" if args.when is None else args.when)
    elif len(opened) > 1:
        raise UsageError(f"`what='curve'` draws one run, got {len(opened)}.")
    elif args.when is not None:
        raise UsageError("`when` is about relaxed weights: use it with `what='relaxed'`.")
    else:
        opened[0].plot(args.out)
    return {"file": args.out, "what": args.what, "runs": list(args.run)}


def show(result: dict[str, Any]) -> None:
    """Where the picture is."""
    print(f"Look at {result['file']}")
