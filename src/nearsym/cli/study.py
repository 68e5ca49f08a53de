"""`nearsym study`."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nearsym.cli import claims
from nearsym.cli.flags import as_flags
from nearsym.cli.options import Positional, options_of
from nearsym.errors import MissingExtraError, RunError, UsageError, check_range

MOST_GPUS = 1024
"""Of one run."""
MOST_LINES = 60
"""Of a table that is printed; longer ones are in their files."""
FILES = "files"
"""The folder of a study that has its tables and figures."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Run a grid of runs: a table or figure of the paper, or a study of yours.

    nearsym study curves --scale laptop --workers 2
    nearsym study my_study.toml --dry-run

    Built in: curves, final, noise, noise-trained, weights, rpp-tau, tasks,
    trading, planted, parameters, wall-clock, regret, stay-put. claims judges
    results that there are already.

    It may be stopped at any time; the same command continues. Studies in one
    folder share their runs. At the end it prints its tables and verdicts on
    claims, and writes tables (.md, .tex) and figures (.svg) to its folder.
    """

    study: Positional[str]
    """a built-in study, or a file: .toml, or .py with --trust-task"""
    scale: Literal["smoke", "laptop", "paper"] = "laptop"
    """seconds; hours on one machine; the paper's sizes. For a file: the preset of grids that name
    none"""
    workers: int | None = None
    """runs at a time (default: one for each core, or as many as the cluster has room for)"""
    cluster: str | None = None
    """make the runs on a Ray cluster: auto, or its address"""
    gpus: float = 0.0
    """with --cluster: the share of a GPU that each run gets"""
    device: str | None = None
    """cpu or cuda, for all runs (default: cpu)"""
    seeds: int | None = None
    """so many seeds in every grid (default: the study's)"""
    only: str | None = None
    """a part of the study: values of some axes, as in "task=cartpole-swingup model=none,exact\""""
    out: str = "studies"
    """folder of all studies; with --cluster, on storage that all machines see"""
    known: str | None = None
    """results that there are already, a .jsonl file or a folder of them: such runs are not made"""
    dry_run: bool = False
    """list the runs, what there is already, and what the rest will take; run nothing"""
    trust_task: bool = False
    """import a study's Python file, or the module:factory that a file names"""


def command(words: Sequence[str]) -> tuple[type, Any]:
    """Run a grid of runs: a table or figure of the paper, or a study of yours."""
    return (claims.Claims if words and words[0] == "claims" else Study), None


def run(args: Any) -> dict[str, Any]:
    """`{"study", "scale", "runs": {"total", "done", "failed"}, "tables", "claims", …}`."""
    if not isinstance(args, Study):
        return claims.run(args)
    study = _chosen(args)
    return _preview(args, study) if args.dry_run else _run(args, study)


def _chosen(args: Study) -> Any:
    from nearsym.studies.builtin import STUDIES, builtin_study
    from nearsym.studies.execute import check_workers
    from nearsym.studies.files import read_study
    from nearsym.studies.findings import check_names

    check_range("gpus", args.gpus, 0, MOST_GPUS)
    check_workers(args.workers)
    if args.gpus and args.cluster is None:
        raise UsageError("`gpus` needs `cluster`: on one machine the runs share what there is.")
    if args.study.endswith((".toml", ".py")):
        study = read_study(args.study, scale=args.scale, trust_task=args.trust_task)
    elif args.study in STUDIES or not args.trust_task:
        study = builtin_study(args.study, args.scale)
    else:
        raise UsageError(f"A study of yours is a .toml or a .py file, got {args.study!r}.")
    check_names(study)
    study = study if args.device is None else study.with_axis("device", args.device)
    study = study if args.seeds is None else study.with_seeds(args.seeds)
    return study if args.only is None else _part(study, args.only)


def _part(study: Any, only: str) -> Any:
    """What `only` says; its words are AXIS=VALUE,VALUE,…"""
    wanted: dict[str, list[str]] = {}
    for word in only.split():
        axis, _, values = word.partition("=")
        if not axis or not all(values.split(",")) or axis in wanted:
            wanted = {}
            break
        wanted[axis] = values.split(",")
    if not wanted:
        raise UsageError(
            f"`only` takes words AXIS=VALUE,VALUE without other spaces, each axis once, as in "
            f"'task=cartpole-swingup model=none,exact'; got {only!r}."
        )
    return study.only(wanted)


def _run(args: Study, study: Any) -> dict[str, Any]:
    from nearsym.cli.process import stop_on_signals
    from nearsym.studies.execute import run_study

    with stop_on_signals() as stop_requested:
        found = run_study(
            study,
            out=args.out,
            workers=args.workers,
            cluster=args.cluster,
            gpus=args.gpus,
            known=_known(args),
            progress=True,
            stop_requested=stop_requested,
        )
    counts = {"total": found.total, "done": len(found.results), "failed": len(found.failures)}
    failures = [{"run": name, "reason": reason} for name, reason in found.failures.items()]
    result = {"study": study.name, "scale": study.scale, "runs": counts, "failures": failures}
    result |= {"core_hours": found.core_hours, "halted": found.halted, "out": str(found.folder)}
    return result | _findings(found)


def _known(args: Study) -> list[Any]:
    from nearsym.studies.report.page import read_all

    return [] if args.known is None else read_all([args.known])


def _findings(found: Any) -> dict[str, Any]:
    """Tables, claims, and the files that have them."""
    from nearsym.studies.findings import findings
    from nearsym.studies.sweeps import with_audits

    shown = "sweeps" in found.study.tables
    results = with_audits(found.results, progress=True) if shown else found.results
    said = findings(found.study, results)
    return said.as_json() | {"files": [str(path) for path in _written(found, said)]}


def _written(found: Any, said: Any) -> list[Any]:
    """The files; where they cannot be written, what was found is still told."""
    from nearsym.studies.figures import write_figures
    from nearsym.studies.files_for_papers import write_tables
    from nearsym.studies.tables.verdicts import verdicts
    from nearsym.training.untrusted import refuse_linked_folder

    tables = [*said.tables, *([verdicts(said.judged)] if said.judged else [])]
    folder, written = found.folder / FILES, []
    try:
        refuse_linked_folder(folder)
        written += write_tables(tables, folder)
        written += write_figures(found.results, folder, found.study.figures or None)
    except (UsageError, RunError, MissingExtraError) as error:
        print(f"nearsym: Not all tables and figures were written: {error}", file=sys.stderr)
    return written


def _preview(args: Study, study: Any) -> dict[str, Any]:
    from pathlib import Path

    from nearsym.studies.plan import plan
    from nearsym.studies.preview import preview

    expected = preview(study, out=args.out, known=_known(args), device_here=args.cluster is None)
    done = sum(one.state == "done" for one in expected)
    counts = {"total": len(expected), "done": done, "failed": 0}
    left = sum(one.seconds for one in expected) / 3600
    result = {"study": study.name, "scale": study.scale, "runs": counts, "core_hours_left": left}
    out = str(Path(args.out).absolute() / study.folder_name)
    result |= {"expected": [one._asdict() for one in expected], "out": out}
    return result | {"only_built": 0 if study.trains else len(plan(study))}


def exit_code(result: dict[str, Any]) -> int:
    """1 where runs are missing."""
    if "runs" not in result or "expected" in result:
        return 0
    return int(result["runs"]["done"] < result["runs"]["total"])


def show(result: dict[str, Any]) -> None:
    """The result for people."""
    if "runs" not in result:
        claims.show(result)
    elif "expected" in result:
        _show_preview(result)
    else:
        _show(result)


def _show(result: dict[str, Any]) -> None:
    for name, lines in result["lines"].items():
        shown = lines if len(lines) <= MOST_LINES else [f"({len(lines)} lines: see its file)"]
        print(name, *shown, "", sep="\n")
    claims.show_each(result["claims"])
    runs = result["runs"]
    print(
        f"{result['study']} ({result['scale']}): {runs['done']} of {runs['total']} runs done, "
        f"{result['core_hours']:.1f} core-hours of training."
    )
    options = options_of(Study)
    for failure in result["failures"]:
        print(f"failed  {failure['run']}: {as_flags(failure['reason'], options)}")
    if result["halted"]:
        reason = as_flags(result["halted"], options)
        print(f"No more runs were begun: {reason} Then the same command continues.")
    if result["files"]:
        print(f"{len(result['files'])} tables and figures were written to {result['out']}/{FILES}")
    if runs["done"]:
        print(f"As one page: nearsym report {shlex.quote(result['out'])} --out report.html")


def _show_preview(result: dict[str, Any]) -> None:
    from nearsym.studies.rates import spoken

    for one in result["expected"]:
        took = "" if not one["seconds"] else f", {spoken(one['seconds'])}"
        guess = "" if one["measured"] or not one["seconds"] else " (a recorded rate)"
        begun = f" at frame {one['stands_at']:,}" if one["state"] == "begun" else ""
        print(f"{one['state']:7}  {one['name']}: {one['frames']:,} frames{begun}{took}{guess}")
    runs = result["runs"]
    left = spoken(3600 * result["core_hours_left"])
    said = (
        f"{runs['done']} of {runs['total']} runs are done; the rest takes about {left} on one core"
    )
    if result["only_built"]:
        said = f"{result['only_built']} agents are built to count their parameters, none is trained"
    print(f"{result['study']} ({result['scale']}): {said}. Nothing was run.")
