"""What a command changes in its process. The library changes nothing there by itself."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from nearsym.errors import printable


def set_up() -> None:
    """What every command needs before it begins."""
    warnings.showwarning = _show_warning
    sys.path.append(os.getcwd())  # so that `module:factory` finds a module that lies here


def set_up_torch(threads: int) -> None:
    """So many threads, and an allocator that keeps freed memory."""
    import torch

    from nearsym.training.allocator import keep_freed_memory

    torch.set_num_threads(threads)
    keep_freed_memory()


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a request, which the training loop answers with a checkpoint.

    Gives a function that says whether a stop was requested. Outside the main thread, where Python
    lets nobody handle signals, it never is.
    """
    requested: list[int] = []

    def request(number: int, frame: object) -> None:
        if requested:  # a second Ctrl-C means now
            raise KeyboardInterrupt
        requested.append(number)

    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    previous = {number: signal.signal(number, request) for number in numbers}
    try:
        yield lambda: bool(requested)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def discard_output() -> None:
    """Standard output goes nowhere: its reader has gone, as in `nearsym … | head`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Remarks to the user as one plain line; those of libraries to programmers as ever."""
    if issubclass(category, UserWarning) and category.__module__.startswith("nearsym."):
        text = f"nearsym: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    print(printable(text), end="", file=sys.stderr if file is None else file)
