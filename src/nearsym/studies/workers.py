"""Runs in processes of this machine, one at a time in each, on one thread.

A worker makes one run after another: importing torch anew for each would cost more than the
scheduler may. It is replaced when it has died, and after a while, so that nothing can pile up.

Driver and worker talk over a pipe. When the driver dies, however it dies, its end of the pipe
closes; the worker then saves its run and ends.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from nearsym.studies.job import Ended, Job, work
from nearsym.training.allocator import keep_freed_memory

LIFE = 900.0
"""Seconds after which a worker is replaced when it has finished its run."""
PATIENCE = 120.0
"""Seconds in which a run that is asked to stop has to save itself."""
IMPATIENCE = 5.0
"""Seconds that are left once it has been asked before."""
_STOP, _LEAVE = "stop", "leave"
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Opens no link, and waits for nobody to read from a pipe."""


class LocalWorkers:
    """Up to `count` worker processes. `log` takes what they print."""

    def __init__(self, count: int, log: Path):
        self.count = count
        self._log = log
        self._workers: list[_Worker] = []
        self._asked = False

    def size(self) -> int:
        """How many runs are made at once."""
        return self.count

    def free(self) -> int:
        """How many more runs could be started now."""
        return self.count - sum(worker.job is not None for worker in self._workers)

    def start(self, job: Job) -> None:
        """Begin to work on a run; there has to be a free worker."""
        idle = [worker for worker in self._workers if worker.job is None]
        for worker in [worker for worker in idle if worker.is_spent()]:
            self._dismiss(worker)
            idle.remove(worker)
        if not idle:
            idle = [_Worker(self._log)]
            self._workers += idle
        idle[0].begin(job)

    def _dismiss(self, worker: "_Worker") -> None:
        worker.leave()
        self._workers.remove(worker)

    def wait(self, seconds: float) -> list[tuple[Job, Ended]]:
        """What has ended, after at most so many seconds."""
        busy = [worker for worker in self._workers if worker.job is not None]
        if not busy:
            time.sleep(seconds)
            return []
        ready = wait([part for w in busy for part in (w.pipe, w.process.sentinel)], seconds)
        over = [w for w in busy if w.pipe in ready or w.process.sentinel in ready]
        return [worker.take() for worker in over]

    def ask_to_stop(self) -> None:
        """Let all runs save themselves and end."""
        self._asked = True
        for worker in self._workers:
            worker.tell(_STOP)

    def close(self) -> None:
        """End all workers; what they are working on is saved, if that does not take too long.

        Whoever asks for the second time does not want to wait: checkpoints are safe whenever a
        process ends.
        """
        deadline = time.monotonic() + (IMPATIENCE if self._asked else PATIENCE)
        for worker in self._workers:
            worker.tell(_STOP)
            worker.tell(_LEAVE)
        try:
            for worker in self._workers:
                worker.process.join(max(deadline - time.monotonic(), 0))
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.leave()
            self._workers.clear()


class _Worker:
    """A process and this end of its pipe."""

    def __init__(self, log: Path):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: Any = context.Process(target=_main, args=(theirs, log))
        with _without_interrupts():
            self.process.start()
        theirs.close()
        self.job: Job | None = None
        self._born, self._leaves = time.monotonic(), False

    def begin(self, job: Job) -> None:
        self.job = job
        self.tell(job)

    def tell(self, message: object) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(message)  # to one that has died: `take` finds out

    def take(self) -> tuple[Job, Ended]:
        """Its run, and how that has ended."""
        assert self.job is not None
        job, self.job = self.job, None
        try:
            ended = self.pipe.recv() if self.pipe.poll() else None
        except (EOFError, OSError):
            ended = None
        if ended is None:
            self.process.join()
            ended = Ended("died", _manner_of_death(self.process.exitcode))
        self._leaves = ended.kind == "stopped"
        return job, ended

    def is_spent(self) -> bool:
        """Whether another has to be started for the next run."""
        old = time.monotonic() - self._born > LIFE
        return old or self._leaves or not self.process.is_alive()

    def leave(self) -> None:
        self.tell(_LEAVE)
        self.process.join(PATIENCE)
        self.pipe.close()
        self.process.close()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C reaches a whole group of processes, and one that is just being made would end in a
    traceback. It inherits that the signal is held back; here it arrives after the block."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _manner_of_death(code: int | None) -> str:
    if code is None or code >= 0:
        return f"its process ended with exit code {code}"
    name = signal.Signals(-code).name
    guess = " (out of memory?)" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{guess}"


# ---------------------------------------------------------------------- in the worker


def _main(pipe: Connection, log: Path) -> None:
    """Work on what the driver sends, until it says so or is gone."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver to handle
    _print_to(log)
    faulthandler.enable()
    torch.set_num_threads(1)
    keep_freed_memory()
    jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
    threading.Thread(target=_listen, args=(pipe, jobs, stopped), daemon=True).start()
    while (job := jobs.get()) is not None:
        ended = work(job, stopped.is_set)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # nobody is left to hear
            pipe.send(ended)
        if stopped.is_set():
            return


def _listen(pipe: Connection, jobs: Any, stopped: threading.Event) -> None:
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):  # the driver is gone
            message = None
        if isinstance(message, Job):
            jobs.put(message)
            continue
        if message != _LEAVE:
            stopped.set()
        if message != _STOP:
            jobs.put(None)
            return


def _print_to(log: Path) -> None:
    """What libraries print goes to a file; the terminal shows the table of runs."""
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _PLAIN, 0o644)
    except OSError:  # a disk that is full or gone, which the run will say; a link, a pipe
        file = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(file, stream.fileno())
    os.close(file)
