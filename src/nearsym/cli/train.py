"""`nearsym train`."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Any, Literal

from nearsym.cli.flags import as_flags
from nearsym.cli.options import Positional, field_help, options_of
from nearsym.cli.parse import parse_known
from nearsym.errors import UsageError, printable

SECTIONS = ("algorithm", "network", "training")
SHORT = {
    "frames": "training",
    "eval_every": "training",
    "eval_episodes": "training",
    "replay": "training",
    "layers": "network",
    "filters": "network",
    "relax": "network",
}
"""Settings that have a short name too, and the section that each is in."""
OF_RUNS = ("task", "model", "agent", "preset", "seed", "threads", "precision", "device", "compile")
"""Options outside the sections, of every task."""
NO_TASK = "Name a task to train on (see nearsym tasks), or a run with --resume."


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an agent, or continue a run that was stopped.

    nearsym train cartpole-swingup --variant repeat_action --model approx
    nearsym train cartpole-swingup --obs state --training.batch-size 64
    nearsym train --resume runs/cartpole-swingup-seed0

    The options of a task, and every setting with the value that it has by default:
    nearsym train TASK --help
    """

    task: Positional[str | None] = None
    """a task (see `nearsym tasks`), a Gymnasium id, or module:factory"""
    model: Literal["none", "exact", "approx", "rpp", "sit", "augment", "mirror"] | None = None
    """how the networks use the symmetry (default: approx where the task declares one)"""
    agent: Literal["drqv2", "sac"] | None = None
    """the algorithm (default: drqv2 for images, sac otherwise)"""
    preset: Literal["paper", "laptop", "smoke"] = "laptop"
    """where every setting that is not given comes from"""
    frames: int | None = None
    """length of the run, in environment steps"""
    seed: int = 0
    """determines everything that is random"""
    out: str | None = None
    """run folder (default: runs/TASK-…)"""
    resume: str | None = None
    """continue the run in this folder; only --frames and --trust-task may be given too"""
    trust_task: bool = False
    """with --resume or --config: import the module:factory that is named there"""
    config: str | None = None
    """take settings from this JSON file, such as another run's config.json; options win"""
    layers: Literal["group", "steerable"] | None = None
    """convolutions of the pixel encoder (default: group)"""
    filters: int | None = None
    """L, the filters that relaxed weights combine (default: 1)"""
    relax: Literal["input", "output"] | None = None
    """relaxed weights on the input element (default; the paper) or the output element"""
    eval_every: int | None = None
    """frames between evaluations"""
    eval_episodes: int | None = None
    """episodes in an evaluation"""
    replay: Literal["memory", "disk"] | None = None
    """where the replay lives (default: memory)"""
    threads: int = 1
    """torch threads"""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """auto: bf16 in the encoder where the hardware has it; fp32 for the preset paper"""
    device: str = "cpu"
    """cpu or cuda"""
    compile: bool = False
    """compile the pixel encoder with torch.compile"""


def command(words: Sequence[str]) -> tuple[type, Any]:
    """Train an agent, or continue a run that was stopped.

    With a task its options and all settings belong to the command, with this task's defaults.
    """
    args, rest = parse_known(Train, words, others=_other_options(words))
    if args.resume is not None or (args.task is None and args.config is None):
        return Train, Train()
    try:
        return _for_task(args, rest)
    except UsageError as error:  # which options there are is not known yet: those of any task
        known = options_of(Train)
        for options in _other_options(["-"]):
            known = known | options_of(options)
        raise UsageError(as_flags(str(error), known)) from None


def run(args: Train) -> dict[str, Any]:
    """Train to the end; returns the run's summary."""
    from nearsym.cli.process import set_up_torch, stop_on_signals
    from nearsym.runs.folder import read_summary
    from nearsym.runs.run import Run
    from nearsym.runs.start import start_run
    from nearsym.training.callbacks import ProgressBar
    from nearsym.training.loop import Interrupted

    if args.resume is None:
        folder, config = _new_run(args)
    else:
        _refuse_beside_resume(args)
        run = Run(args.resume, trust_task=args.trust_task)
        folder, config = run.path, run.config
    set_up_torch(config.threads)
    callbacks = (_announcement(config, folder), ProgressBar())
    try:
        with stop_on_signals() as stop_requested:
            events: dict[str, Any] = {"callbacks": callbacks, "stop_requested": stop_requested}
            if args.resume is None:
                return start_run(config, folder, **events).summary
            before = read_summary(folder)
            after = run.resume(args.frames, **events).summary
            if before is not None and before["frames"] == after["frames"]:
                text = f"{folder} was finished already. --frames N trains it further."
                print(printable(f"nearsym: {text}"), file=sys.stderr)
            return after
    except Interrupted as stop:
        trust = " --trust-task" if ":" in config.task.name else ""
        again = f"nearsym train --resume {shlex.quote(str(folder))}{trust}"
        raise Interrupted(f"{stop} Continue with: {again}") from None


def show(result: dict[str, Any]) -> None:
    """The summary for people."""
    run = shlex.quote(result["run"])
    trust = " --trust-task" if ":" in result["task"] else ""
    print(
        f"Done: {result['frames']} frames in {result['seconds']:.0f} s. "
        f"Best return {result['best_return']:.1f}, last {result['final_return']:.1f}.\n"
        f"Look at it:  nearsym eval {run}{trust}   or   tensorboard --logdir {run}/tb"
    )


def _other_options(words: Sequence[str]) -> list[type]:
    """Where the options that only some tasks have come from. They say which words are values, which
    matters where the task does not stand first; importing them takes a second."""
    if not words or not words[0].startswith("-"):
        return []
    from nearsym.networks.config import NetworkConfig
    from nearsym.runs.config import ALGORITHMS
    from nearsym.tasks.registry import find_task, list_tasks
    from nearsym.training.config import TrainingConfig

    tasks = {task.kind: task for task in map(find_task, (t["name"] for t in list_tasks()))}
    fixed = [("network", NetworkConfig), ("training", TrainingConfig)]
    return [
        *(make_dataclass("Options", _task_fields(task), kw_only=True) for task in tasks.values()),
        *(make_dataclass("Settings", [("algorithm", a), *fixed]) for a in ALGORITHMS.values()),
    ]


def _for_task(args: Train, rest: Sequence[str]) -> tuple[type, Any]:
    """The command with the options of a task and all settings, and their defaults."""
    from nearsym.runs.configure import configure
    from nearsym.tasks import registry

    asked = _asked(args)
    task = registry.find_task(asked.pop("task"), **asked.pop("options"))
    options = make_dataclass("Options", _unset(_task_fields(task)), frozen=True, kw_only=True)
    given, left = parse_known(options, rest, options())
    registry.refuse_foreign(task.name, [_parameter(word) for word in left if word[:2] == "--"])
    chosen = {k: v for k, v in vars(given).items() if v is not None and v is not False}
    config = configure(task, **asked, **chosen)
    sections = [(s, type(getattr(config, s)), _field(getattr(config, s))) for s in SECTIONS]
    whole = make_dataclass(
        "Train",
        [*_task_fields(config.task), *sections],
        bases=(Train,),
        namespace={"__doc__": Train.__doc__, "base": config},
        frozen=True,
        kw_only=True,
    )
    return whole, whole(task=args.task)


def _task_fields(task: Any) -> list[tuple[str, Any, Any]]:
    """The options of a task with their present values, as fields of a command."""
    from nearsym.tasks import registry

    if task.kind == "custom":  # what it has is given in Python
        return []
    kind: Any = type(task)
    helps = field_help(kind)
    hints = {f.name: f.type for f in fields(task)}
    return [
        (name, hints[name], _field(getattr(task, name), helps.get(name, "")))
        for name in registry.options_of(type(task))
    ]


def _unset(named: list[tuple[str, Any, Any]]) -> list[tuple[str, Any, Any]]:
    """The same fields without values, to see which are given: one may be given its default."""
    return [
        (name, hint, _field(False)) if hint is bool else (name, hint | None, _field(None))
        for name, hint, _ in named
    ]


def _parameter(flag: str) -> str:
    return flag.removeprefix("--").partition("=")[0].replace("-", "_")


def _field(value: Any, text: str = "") -> Any:
    return field(default_factory=lambda: value, metadata={"help": text})


def _asked(args: Train) -> dict[str, Any]:
    """What the options of every task ask of `configure`, on top of what a file asks."""
    from nearsym.cli.config_file import asked_by_file

    asked = asked_by_file(args.config, task=args.task, model=args.model, trust_task=args.trust_task)
    for name in OF_RUNS:
        value = getattr(args, name)
        if value != getattr(Train(), name) or name not in asked:
            asked[name] = value
    for name, section in SHORT.items():
        if getattr(args, name) is not None:
            asked[section] = asked.get(section, {}) | {name: getattr(args, name)}
    if asked["task"] is None:
        raise UsageError(NO_TASK)
    return asked


def _new_run(args: Any) -> tuple[Path, Any]:
    """The folder and the configuration of a new run."""
    from nearsym.runs.config import with_settings
    from nearsym.runs.configure import check_network
    from nearsym.runs.folder import default_folder

    if not hasattr(args, "base"):
        raise UsageError(NO_TASK)
    config = args.base
    for section in SECTIONS:
        before, after = vars(getattr(config, section)), vars(getattr(args, section))
        given = {name: value for name, value in after.items() if value != before[name]}
        config = with_settings(config, section, given)
        if section == "network":
            check_network(config, given, config.task.traits())
    return default_folder(config) if args.out is None else Path(args.out), config


def _announcement(config: Any, folder: Path) -> Any:
    """Says on standard error what begins, or goes on."""
    from nearsym.runs.folder import read_parameters
    from nearsym.training.callbacks import Callback, Progress

    class Announcement(Callback):
        def on_start(self, progress: Progress) -> None:
            verb = f"Continuing at frame {progress.frames}" if progress.frames else "Training"
            variant = f" ({config.task.variant})" if config.task.variant else ""
            counts = ", ".join(f"{k} {v:,}" for k, v in read_parameters(folder).items())
            said = (
                f"{verb}: {config.task.name}{variant}, {config.agent}, {config.network.model}; "
                f"parameters: {counts}; "
                f"{config.precision}, {config.threads} thread(s)"
                f"{', compiled' if config.compile else ''}; {folder}"
            )
            print(printable(said), file=sys.stderr)

    return Announcement()


def _refuse_beside_resume(args: Train) -> None:
    allowed = ("resume", "frames", "trust_task", "threads")
    extra = [f.name for f in fields(Train) if getattr(args, f.name) != getattr(Train(), f.name)]
    extra = [name for name in extra if name not in allowed]
    if extra:
        raise UsageError(
            f"--resume takes everything from the run's config.json; leave out `{extra[0]}`. "
            "Only --frames may change."
        )
