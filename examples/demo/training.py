"""The runs of the demo: each in a folder of its own, over processes, with one display for all."""

import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

import nearsym
from nearsym.runs.folder import read_rows

VARIANT = "tilt=75"
MODELS = ("none", "exact", "approx")
RESULTS = ("demo.json", "demo.png")
"""What lies beside the runs when all are done."""
EVALUATIONS = 16
"""Points of a learning curve."""
REFRESH = 0.3
"""Seconds between two looks at the runs."""
LINE_EVERY = 20.0
"""Seconds between two lines where there is no terminal."""

Runs = dict[str, list[nearsym.Run]]
"""The runs of each model, in the order of their seeds."""


@dataclass(frozen=True)
class Job:
    """One run: everything else is the same for all of them."""

    model: str
    seed: int
    frames: int
    folder: Path


def jobs_for(out: Path, *, frames: int, seeds: int) -> list[Job]:
    """Every model with every seed; slow models first, so that no core waits long at the end."""
    return [
        Job(model, seed, frames, out / f"{model}-seed{seed}")
        for seed in range(seeds)
        for model in reversed(MODELS)
    ]


def clear(out: Path) -> bool:
    """Delete what an earlier demo has left, and nothing else; whether there was anything."""
    runs = [
        folder
        for model in MODELS
        for folder in out.glob(f"{model}-seed[0-9]*")
        if (folder / "config.json").is_file()
    ]
    for folder in runs:
        shutil.rmtree(folder)
    results = [out / name for name in RESULTS if (out / name).is_file()]
    for path in results:
        path.unlink()
    return bool(runs or results)


def train(job: Job) -> None:
    """One run on one core; a library call prints nothing."""
    nearsym.train(
        "craft",
        variant=VARIANT,
        model=job.model,
        seed=job.seed,
        frames=job.frames,
        out=job.folder,
        threads=1,
        training={"eval_every": max(job.frames // EVALUATIONS, 250)},
    )


def train_all(jobs: Sequence[Job], workers: int) -> Runs:
    """Train in `workers` processes and show how far they are. If one fails, all end."""
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_end_with_the_demo
    )
    try:
        with _interrupts_ignored():  # children inherit it: Ctrl-C is for the parent to handle
            waiting = {pool.submit(train, job) for job in jobs}
        with Display(jobs) as display:
            while waiting:
                done, waiting = wait(waiting, timeout=REFRESH, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                display.update()
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    ordered = sorted(jobs, key=lambda job: job.seed)
    return {
        model: [nearsym.Run(job.folder) for job in ordered if job.model == model]
        for model in MODELS
    }


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_with_the_demo() -> None:
    """Even if it is killed: nobody would wait for this process any more."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Display:
    """One bar for all runs and the last return of each model, read from the logs that they write.

    On a terminal it is live, elsewhere a line now and then.
    """

    def __init__(self, jobs: Sequence[Job]):
        self._jobs = jobs
        self._total = sum(job.frames for job in jobs)
        self._live = sys.stderr.isatty()
        self._bar = tqdm(
            total=self._total,
            disable=not self._live,
            leave=False,
            bar_format="{percentage:3.0f}% |{bar:24}| {elapsed}, {remaining} left  {desc}",
        )
        self._last_line = time.monotonic()

    def update(self) -> None:
        rows = {job: read_rows(job.folder) for job in self._jobs}
        frames = sum(found[-1]["frames"] for found in rows.values() if found)
        returns = "  ".join(self._last_return(model, rows) for model in MODELS)
        self._bar.set_description_str(f"last return: {returns}", refresh=False)
        self._bar.update(frames - self._bar.n)
        self._bar.refresh()
        if not self._live and time.monotonic() - self._last_line >= LINE_EVERY:
            self._last_line = time.monotonic()
            print(f"{frames / self._total:4.0%}  last return: {returns}")

    def _last_return(self, model: str, rows: dict[Job, list[dict]]) -> str:
        """The mean over the runs that have been evaluated."""
        last = [
            [row["eval/return_mean"] for row in found if "eval/return_mean" in row][-1:]
            for job, found in rows.items()
            if job.model == model
        ]
        values = [value for found in last for value in found]
        return f"{model} {sum(values) / len(values):.0f}" if values else f"{model} –"

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
