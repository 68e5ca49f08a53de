"""`nearsym train`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.errors import UsageError

Preset = Literal["paper", "laptop", "smoke"]
TRADING_OPTIONS = ("symmetry", "data", "split", "fill", "late", "splits", "max_shares", "foresight")


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an agent, or go on with a run that was stopped.

    nearsym train cartpole-swingup --variant repeat_action --model approx
    nearsym train --resume runs/cartpole-swingup-seed0
    """

    task: Positional[str | None] = None
    """a task (see `nearsym tasks`), a Gymnasium id, or module:factory"""
    variant: str | None = None
    """symmetry-breaking variant, NAME or NAME=STRENGTH"""
    obs: Literal["pixels", "state"] | None = None
    """what the agent sees (default: pixels for drqv2, state for sac)"""
    model: Literal["none", "exact", "approx", "rpp", "sit"] | None = None
    """how the networks use the symmetry (default: approx where the task declares one)"""
    agent: Literal["drqv2", "sac"] | None = None
    """the algorithm (default: drqv2 for pixels, sac otherwise)"""
    layers: Literal["group", "steerable"] = "group"
    """convolutions of the pixel encoder"""
    filters: int | None = None
    """L, the filters that relaxed weights combine (default: 1)"""
    relax: Literal["input", "output"] | None = None
    """relaxed weights on the input element (the paper) or the output element"""
    size: int | None = None
    """side of the images in pixels"""
    noise: float | None = None
    """standard deviation of noise on the images, which lie in [0, 1]"""
    background: bool = False
    """keep dm_control's floor and sky"""
    symmetry: Literal["T", "ST"] | None = None
    """trading: equivariance to translation (default), or to scale and translation in time"""
    data: str | None = None
    """trading: a CSV or Parquet file of prices"""
    split: str | None = None
    """trading: dates that separate training, validation and test"""
    fill: Literal["close", "next_open"] | None = None
    """trading: fill orders at the close that is shown, or at the next open"""
    late: Literal["refuse", "drop"] | None = None
    """trading: what to do with tickers that start late (default: refuse)"""
    splits: Literal["refuse", "accept"] | None = None
    """trading: what to do with jumps that look like unadjusted splits (default: refuse)"""
    max_shares: int | None = None
    """trading: the largest order, in shares of a ticker a day (default: 100)"""
    foresight: bool = False
    """trading: show tomorrow's returns too, a check that the agent uses what it is told"""
    preset: Preset = "laptop"
    """settings"""
    frames: int | None = None
    """length of the run, in environment steps"""
    seed: int = 0
    """binds everything that is random"""
    threads: int = 1
    """torch threads"""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """auto: bf16 in the encoder where the hardware has it"""
    device: str = "cpu"
    """cpu or cuda"""
    replay: Literal["memory", "disk"] | None = None
    """where the replay lives (default: memory)"""
    eval_every: int | None = None
    """frames between evaluations"""
    eval_episodes: int | None = None
    """episodes in an evaluation"""
    out: str | None = None
    """run folder (default: runs/TASK-…)"""
    resume: str | None = None
    """go on with this run folder; takes only --frames beside it"""


def run(args: Train) -> dict[str, Any]:
    """Train to the end; returns the run's summary."""
    from nearsym.runs.run import resume, start
    from nearsym.tasks.registry import plain_name

    if args.resume is not None:
        extra = [name for name in _given(args) if name not in ("resume", "frames")]
        if extra:
            flag = extra[0].replace("_", "-")
            raise UsageError(
                f"--resume takes everything from the run's config.json; leave out {flag!r}. "
                "Only --frames may change."
            )
        return resume(Path(args.resume), frames=args.frames)
    if args.task is None:
        raise UsageError("Name a task to train on (see nearsym tasks), or a run with --resume.")
    args = replace(args, task=plain_name(args.task))
    return start(configure(args), _folder(args))


def show(result: dict[str, Any]) -> None:
    """The summary for people."""
    print(
        f"Done: {result['frames']} frames in {result['seconds']:.0f} s. "
        f"Best return {result['best_return']:.1f}, last {result['final_return']:.1f}.\n"
        f"Look at it:  nearsym eval {result['run']}   or   tensorboard --logdir {result['run']}/tb"
    )


def configure(args: Train) -> Any:
    """The full configuration that the options mean."""
    from nearsym.runs.build import default_model
    from nearsym.runs.config import TaskConfig
    from nearsym.runs.presets import preset_config

    agent, obs = _agent_and_obs(args)
    given = {name: getattr(args, name) for name in TRADING_OPTIONS}
    trading = {k: v for k, v in given.items() if v is not None and v is not False}  # 0 is given
    if args.task != "trading" and trading:
        flag = next(iter(trading)).replace("_", "-")
        raise UsageError(f"--{flag} belongs to the task trading, not to {args.task}.")
    if args.data is not None and args.data != "embedded":  # a run can be resumed from elsewhere
        trading["data"] = str(Path(args.data).absolute())
    task = TaskConfig(
        name=args.task or "",
        variant=args.variant,
        obs=obs,
        background=args.background,
        noise=args.noise if args.noise is not None else 0.0,
        **trading,
    )
    model = args.model or default_model(task)
    _refuse_pixel_options(args, obs, model)
    config = preset_config(args.preset, task, agent, model)
    if args.size is not None:
        config = replace(config, task=replace(config.task, size=args.size))
    network = {"layers": args.layers} | _present(filters=args.filters, relax=args.relax)
    if model != "approx" and (args.filters is not None or args.relax is not None):
        raise UsageError(f"--filters and --relax belong to the model approx, not to {model}.")
    training = _present(
        frames=args.frames,
        replay=args.replay,
        eval_every=args.eval_every,
        eval_episodes=args.eval_episodes,
    )
    return replace(
        config,
        network=replace(config.network, **network),
        training=replace(config.training, **training),
        seed=args.seed,
        threads=args.threads,
        precision=_precision(args),
        device=args.device,
    )


def _agent_and_obs(args: Train) -> tuple[str, str | None]:
    """Each decides the other's default: DrQ-v2 and pixels, SAC and vectors."""
    from nearsym.runs.build import has_pixels, shows_images
    from nearsym.tasks.registry import TRADING

    pixels = has_pixels(args.task or "")
    if not pixels:
        _refuse_control_options(args)
    obs = args.obs
    if pixels and obs is None:
        obs = "state" if args.agent == "sac" else "pixels"
    agent = args.agent
    if agent is None:
        own = not pixels and args.task != TRADING
        agent = "drqv2" if obs == "pixels" or (own and shows_images(args.task or "")) else "sac"
    if agent == "sac" and obs == "pixels":
        raise UsageError("SAC reads vectors: use --obs state, or --agent drqv2 for pixels.")
    return agent, obs


def _refuse_control_options(args: Train) -> None:
    from nearsym.runs.build import build_env
    from nearsym.runs.config import TaskConfig

    for name in ("obs", "variant", "size", "noise", "background"):
        if getattr(args, name) not in (None, False):
            build_env(TaskConfig(name=args.task or "")).close()  # a mistyped task comes first
            raise UsageError(f"--{name} belongs to the control tasks, not to {args.task}.")


def _precision(args: Train) -> str:
    """bfloat16 would round a day's move of a price away, so `auto` is for other tasks."""
    from nearsym.runs.build import resolve_precision

    if args.task == "trading" and args.precision == "auto":
        return "fp32"
    return resolve_precision(args.precision, args.device)


def _refuse_pixel_options(args: Train, obs: str | None, model: str) -> None:
    """What would otherwise be ignored without a word."""
    for name in ("size", "background", "noise"):
        if obs == "state" and getattr(args, name) not in (None, False):
            raise UsageError(f"--{name} is about images: use it with --obs pixels.")
    if args.layers == "steerable" and model in ("none", "sit"):
        raise UsageError(f"--layers steerable needs a group; the model {model} has none.")
    if args.layers == "steerable" and args.relax is not None:
        raise UsageError("--relax is about group layers; steerable ones are relaxed in one way.")
    if args.task == "trading" and (args.layers == "steerable" or args.relax is not None):
        raise UsageError("--layers and --relax are about groups of images; trading has none.")


def _folder(args: Train) -> Path:
    if args.out is not None:
        return Path(args.out)
    parts = [args.task, args.variant, args.obs, args.agent, args.model, args.symmetry, args.relax]
    parts += [name for name in ("background", "foresight") if getattr(args, name)]
    parts += [x for x in (args.layers, args.preset) if x not in ("group", "laptop")]
    numbers = {"filters": args.filters, "size": args.size, "noise": args.noise}
    numbers |= {"shares": args.max_shares}
    parts += [f"{name}{value:g}" for name, value in numbers.items() if value is not None]
    name = "-".join(str(part).replace("/", "_").replace(":", "_") for part in parts if part)
    return Path("runs") / f"{name}-seed{args.seed}"


def _given(args: Train) -> list[str]:
    return [name for name in vars(args) if getattr(args, name) != getattr(Train(), name)]


def _present(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
