"""`nearsym eval`."""

from dataclasses import dataclass
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Play episodes with a trained agent: mean return and its 95 % interval.

    nearsym eval runs/cartpole-swingup-seed0 --episodes 50 --noise 0.06
    """

    run: Positional[str]
    """a run folder"""
    episodes: int = 50
    """how many"""
    noise: float | None = None
    """noise on the images (default: as in training)"""
    checkpoint: Literal["best", "last"] = "best"
    """which weights"""
    sample: bool = False
    """draw actions from the policy instead of taking its mean"""
    seed: int = 1_000_000
    """episode i starts from seed + i"""
    video: str | None = None
    """write the first episode to this file (.mp4 or .gif)"""
    shuffled: int | None = None
    """trading: play this many test periods made unpredictable instead, to see whether it leaks"""
    trust_task: bool = False
    """import the module:factory that the run folder names"""


def run(args: Evaluate) -> dict[str, Any]:
    """Returns of whole episodes."""
    from nearsym.runs.run import Run

    opened = Run(args.run, trust_task=args.trust_task)
    shared: dict[str, Any] = {"checkpoint": args.checkpoint, "seed": args.seed, "progress": True}
    if args.shuffled is None:
        return opened.evaluate(
            args.episodes, noise=args.noise, sample=args.sample, video=args.video, **shared
        )
    if args.noise is not None or args.video is not None or args.sample:
        raise UsageError("`shuffled` takes only `checkpoint` and `seed` beside it.")
    return opened.evaluate_shuffled(args.shuffled, **shared)


def show(result: dict[str, Any]) -> None:
    """The result for people."""
    if "excess" in result:
        low, high = result["excess_ci95"]
        print(
            f"Excess over uniform holding, both before fees, in {result['worlds']} unpredictable "
            f"test periods: {result['excess_mean']:+.2f} % of the starting cash "
            f"(95 % interval {low:+.2f} to {high:+.2f}, Student's t)"
        )
        return
    low, high = result["return_ci95"]
    interval = (
        f"95 % interval {low:.1f} to {high:.1f}, bootstrap over {result['episodes']} episodes"
    )
    if result["episodes"] == 1:
        interval = "one episode, which gives no interval"
    print(f"{result['return_mean']:.1f}  ({interval}; noise {result['noise']:g})")
    if result["video"] is not None:
        print(f"Look at {result['video']}")
    if "metrics" in result:
        from nearsym.tasks.trading.portfolio import markdown_table

        print(f"Test part, {result['dates'][0]} to {result['dates'][-1]}:\n")
        print(markdown_table(result["metrics"]))
