"""`nearsym bench`."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from nearsym.cli.options import Positional
from nearsym.runs.limits import check_threads

BENCHMARKS = {
    "layers": ("layers", "steerable"),
    "update": ("state", "update", "replay"),
    "env": ("craft", "env"),
    "trading": ("trading",),
}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Measure speed, as ratios of things run side by side."""

    what: Positional[Literal["layers", "update", "env", "trading"]]
    """layers, update, env or trading"""
    threads: int = 2
    """torch threads"""
    quick: bool = False
    """small sizes: shows that it runs, measures nothing"""


def run(args: Bench) -> dict[str, Any]:
    """The rows of a benchmark."""
    import torch

    check_threads(args.threads)
    torch.set_num_threads(args.threads)
    rows: list[dict[str, Any]] = []
    for name in BENCHMARKS[args.what]:
        module = import_module(f"nearsym.benchmarks.{name}")
        rows += module.rows(threads=args.threads, quick=args.quick)
    return {"rows": rows}


def show(result: dict[str, Any]) -> None:
    """A table for people."""
    for row in result["rows"]:
        if "ratio" in row:
            measured = f"{1e3 * row['seconds']:9.2f} ms  ratio {row['ratio']:5.2f}"
            wanted = "" if row["target"] is None else f"≤ {row['target']:.2f}"
        else:
            measured = f"{row['value']:9.4g} {row['unit']}"
            wanted = "" if row["target"] is None else f"≥ {row['target']:g}"
        mark = "" if row["target"] is None else ("ok" if row["ok"] else "MISSED")
        print(f"{row['name']:58} {measured:40} {wanted:8} {mark}")
