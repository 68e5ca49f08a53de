"""`nearsym bench`."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.errors import UsageError
from nearsym.runs.limits import check_threads

BENCHMARKS = {
    "layers": ("layers", "steerable"),
    "update": ("state", "laptop", "update", "replay", "checks"),
    "env": ("craft", "env"),
    "trading": ("trading",),
    "growth": ("growth",),
}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Measure speed, as ratios of things run side by side."""

    what: Positional[Literal["layers", "update", "env", "trading", "growth"]]
    """layers, update, env, trading or growth"""
    threads: int = 2
    """torch threads"""
    quick: bool = False
    """small sizes: shows that it runs, measures nothing"""
    plot: str | None = None
    """growth: also draw it, to this file (PNG, PDF or SVG)"""


def run(args: Bench) -> dict[str, Any]:
    """The rows of a benchmark."""
    import torch

    check_threads(args.threads)
    if args.plot is not None:
        _check_plot(args)
    torch.set_num_threads(args.threads)
    rows: list[dict[str, Any]] = []
    for name in BENCHMARKS[args.what]:
        module = import_module(f"nearsym.benchmarks.{name}")
        rows += module.rows(threads=args.threads, quick=args.quick)
    if args.plot is not None:
        import_module("nearsym.benchmarks.growth").draw(rows, args.plot)
    return {"rows": rows}


def _check_plot(args: Bench) -> None:
    """Before minutes are spent."""
    from nearsym.audits.plots import check_plot

    if args.what != "growth":
        raise UsageError(f"`plot` belongs to `bench growth`, not to `bench {args.what}`.")
    check_plot(Path(str(args.plot)))


def show(result: dict[str, Any]) -> None:
    """A table for people."""
    for row in result["rows"]:
        if "ratio" in row:
            measured = f"{1e3 * row['seconds']:9.2f} ms  ratio {row['ratio']:5.2f}"
            wanted = "" if row["target"] is None else f"≤ {row['target']:.2f}"
        else:
            measured = f"{row['value']:9.4g} {row['unit']}"
            sign = "≤" if row.get("at_most") else "≥"
            wanted = "" if row["target"] is None else f"{sign} {row['target']:g}"
        mark = "" if row["target"] is None else ("ok" if row["ok"] else "MISSED")
        print(f"{row['name']:58} {measured:40} {wanted:8} {mark}")
