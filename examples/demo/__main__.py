"""Three ways to treat a symmetry that is only partly true, side by side in a few minutes.

The world is a craft whose thrusters were mounted at an angle of 75°: turned by a quarter it is the
same world, mirrored it is another. An agent that knows no symmetry, one that obeys all of D4 and
one that only starts out obeying it learn to fly to a target, each with several seeds. The demo
audits the world, trains over the cores there are, prints a table and draws `demo.png`. It shows its
numbers as they come.

    python examples/demo [--frames N] [--seeds N] [--workers N] [--out FOLDER]

It trains anew each time and replaces what an earlier demo has left in the folder.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from pathlib import Path

from picture import draw
from report import audit_text, next_text, scores, table

import nearsym
from nearsym.training.runlock import RunLock
from training import MODELS, VARIANT, clear, jobs_for, train_all

PAIRS = 600
"""Pairs of steps that the audit compares: two seconds."""
FEWEST = 600
"""Frames of a run: the first 500 only fill the replay."""


def main() -> int:
    options = parse()
    sys.stdout.reconfigure(line_buffering=True)  # a log shows what is being waited for
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        with RunLock(options.out):
            demo(options)
    except KeyboardInterrupt:
        print("\nStopped, and no process is left running. The next demo starts anew.")
        return 130
    except (nearsym.UsageError, nearsym.RunError, BrokenExecutor, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.split("\n")[0])
    frames, positive = from_on(FEWEST), from_on(1)
    parser.add_argument("--frames", type=frames, default=4000, help="length of each run (4000)")
    parser.add_argument("--seeds", type=positive, default=3, help="runs of each model (3)")
    parser.add_argument("--workers", type=positive, default=cores(), help="runs at a time (cores)")
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), help="folder (runs/demo)")
    return parser.parse_args()


def from_on(smallest: int) -> Callable[[str], int]:
    """Reads whole numbers that are not smaller."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"a whole number from {smallest} on, got {text!r}")
        return int(text)

    return read


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def demo(options: argparse.Namespace) -> None:
    started, out = time.monotonic(), options.out
    audit = nearsym.audit(nearsym.make("craft", variant=VARIANT), samples=PAIRS)
    print(audit_text(audit))
    if clear(out):
        print(f"\nThe earlier demo in {out} is replaced.")
    jobs = jobs_for(out, frames=options.frames, seeds=options.seeds)
    workers = min(options.workers, len(jobs))
    print(
        f"\nTraining {len(jobs)} runs ({', '.join(MODELS)}; {options.seeds} of each), "
        f"{options.frames:,} frames a run, {workers} at a time:"
    )
    runs = train_all(jobs, workers)
    found = scores(runs)
    print(table(found))
    content = {"variant": VARIANT, "frames": options.frames, "audit": audit.as_json()}
    content["scores"] = {model: score.as_json() for model, score in found.items()}
    (out / "demo.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    draw(runs, audit, found, out / "demo.png")
    print(f"\nDone in {time.monotonic() - started:.0f} s. Look at {out / 'demo.png'}")
    print(next_text(out))


if __name__ == "__main__":
    sys.exit(main())
