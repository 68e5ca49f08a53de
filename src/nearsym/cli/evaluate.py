"""`nearsym eval`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.errors import UsageError

OF_TRADING = (
    *("part", "tickers", "start", "end", "cost", "cash", "max_shares"),
    *("export", "format", "tear_sheet"),
)
"""Options about tasks with prices."""
PARTS = {
    "validation": "VALIDATION part, where checkpoints and settings are chosen:",
    "test": "TEST part. Do not choose anything by it, or later results will look too good:",
}
"""What is said of the days that were traded on."""
CAUTION = (
    "p: how probable it is that chance (random fixed portfolios, random orders) does at least as "
    "well. Of twenty results without skill one has p below 0.05."
)


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Play episodes with a trained agent: mean return and its 95 % interval.

    nearsym eval runs/cartpole-swingup-seed0 --episodes 50 --noise 0.06
    nearsym eval runs/reacher-seed0 runs/reacher-seed1 --protocol mean
    nearsym eval runs/trading-seed0 --part validation --tear-sheet sheet.png
    """

    run: Positional[tuple[str, ...]]
    """a run folder; with --protocol, all those of one model"""
    episodes: int = 50
    """how many, of each policy that is played"""
    protocol: Literal["mean", "best"] | None = None
    """runs of one model as one result: the mean over all of them, or the one that was best in
    training (the paper's Table 1), on other episodes"""
    noise: str | None = None
    """noise on the images: a number, or task for the paper's at this task (default: as in
    training)"""
    checkpoint: Literal["best", "last"] = "best"
    """which weights"""
    sample: bool = False
    """draw actions from the policy instead of taking its mean"""
    seed: int = 1_000_000
    """episode i starts from seed + i"""
    video: str | None = None
    """write the first episode to this file (.mp4 or .gif)"""
    part: Literal["validation", "test"] | None = None
    """trading: the part of the data to play (default: test)"""
    tickers: str | None = None
    """trading: other tickers of the data, comma-separated, as many as were trained on"""
    start: str | None = None
    """trading: the first day to trade on, within the part"""
    end: str | None = None
    """trading: the day after the last one"""
    cost: float | None = None
    """trading: fees, as a fraction of the traded money (default: as in training)"""
    cash: float | None = None
    """trading: what an episode starts with (default: as in training)"""
    max_shares: int | None = None
    """trading: the largest order, in shares (default: as in training)"""
    export: str | None = None
    """trading: write values, holdings, trades and baselines to this folder"""
    format: Literal["parquet", "csv"] = "parquet"
    """trading: of the exported files"""
    tear_sheet: str | None = None
    """trading: draw value, drawdown, exposure, costs, weights, months to this file (.png, .svg)"""
    shuffled: int | None = None
    """trading: play this many test periods made unpredictable instead, to see whether it leaks"""
    trust_task: bool = False
    """import the module:factory that the run folder names"""


def run(args: Evaluate) -> dict[str, Any]:
    """Returns of whole episodes."""
    from nearsym.runs.run import Run

    opened = [Run(folder, trust_task=args.trust_task) for folder in args.run]
    if args.protocol is not None:
        return _together(args, opened)
    if len(opened) > 1:
        raise UsageError(
            f"{len(opened)} runs need `protocol='mean'` (recommended) or `protocol='best'` (the "
            "paper's Table 1)."
        )
    shared: dict[str, Any] = {"checkpoint": args.checkpoint, "seed": args.seed, "progress": True}
    if args.shuffled is None:
        return opened[0].evaluate(
            args.episodes,
            noise=_noise(args),
            sample=args.sample,
            video=args.video,
            **{name: getattr(args, name) for name in OF_TRADING},
            **shared,
        )
    if any(_given(args, name) for name in ("noise", "video", "sample", *OF_TRADING)):
        raise UsageError("`shuffled` takes only `checkpoint` and `seed` beside it.")
    return opened[0].evaluate_shuffled(args.shuffled, **shared)


def _together(args: Evaluate, opened: Sequence[Any]) -> dict[str, Any]:
    """Several runs of one model as one result."""
    from nearsym.runs.protocol import best_of_runs, mean_over_runs

    for name in ("sample", "video", "shuffled", *OF_TRADING):
        if _given(args, name):
            raise UsageError(f"`{name}` is about one run: leave it out, or `protocol`.")
    asked: dict[str, Any] = {"episodes": args.episodes, "noise": _noise(args), "seed": args.seed}
    if args.protocol == "mean":
        found = mean_over_runs(opened, checkpoint=args.checkpoint, progress=True, **asked)
    elif args.checkpoint == "last":
        raise UsageError("`protocol='best'` plays the best checkpoint: leave out `checkpoint`.")
    else:
        found = best_of_runs(opened, progress=True, **asked)
    return found.as_json()


def _given(args: Evaluate, name: str) -> bool:
    return getattr(args, name) != next(f.default for f in fields(Evaluate) if f.name == name)


def _noise(args: Evaluate) -> float | Literal["task"] | None:
    if args.noise == "task":
        return "task"
    try:
        return None if args.noise is None else float(args.noise)
    except ValueError:
        raise UsageError(f"`noise` needs a number or 'task', got {args.noise!r}.") from None


def show(result: dict[str, Any]) -> None:
    """The result for people."""
    if "protocol" in result:
        from nearsym.runs.protocol import runs_table

        print(runs_table(result))
        return
    if "excess" in result:
        low, high = result["excess_ci95"]
        print(
            f"Excess over uniform holding, both before fees, in {result['worlds']} unpredictable "
            f"test periods: {result['excess_mean']:+.2f} % of the starting cash "
            f"(95 % interval {low:+.2f} to {high:+.2f}, Student's t)"
        )
        return
    interval = "one episode, which gives no interval"
    if result["return_ci95"] is not None:
        low, high = result["return_ci95"]
        kind = f"{result['interval']} over {result['episodes']} episodes"
        interval = f"95 % interval {low:.1f} to {high:.1f}, {kind}"
    print(f"{result['return_mean']:.1f}  ({interval}; noise {result['noise']:g})")
    if result["video"] is not None:
        print(f"Look at {result['video']}")
    if "metrics" in result:
        from nearsym.tasks.trading.portfolio import markdown_table

        print(f"{PARTS[result['part']]} {result['dates'][0]} to {result['dates'][-1]}.\n")
        null = [found["row"] for found in result["null"].values()]
        print(markdown_table([*result["metrics"], *null]))
        print(f"\n{CAUTION}")
        if result["files"]:
            print(f"\nWritten: {', '.join(result['files'])}")
