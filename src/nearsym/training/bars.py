"""Progress bars: live on a terminal and in a notebook, a line now and then in a file."""

import sys
from collections.abc import Iterable
from typing import Any, TextIO, TypeVar

_T = TypeVar("_T")
LINES_APART = 30.0  # seconds


def make_bar(*, total: int, unit: str, initial: int = 0, file: TextIO | None = None) -> Any:
    """A tqdm bar; `file` is standard error unless given.

    >>> import io
    >>> log = io.StringIO()
    >>> bar = make_bar(total=3, unit="frame", file=log)
    >>> bar.close()
    >>> "\\r" in log.getvalue(), len(log.getvalue().splitlines())
    (False, 2)
    """
    return _tqdm(file, total=total, unit=unit, initial=initial)


def over(items: Iterable[_T], what: str) -> Iterable[_T]:
    """The items one by one, with a bar that is gone at the end; in a file nothing is shown."""
    return _tqdm(None, items, desc=what, leave=False, disable=None)


def _tqdm(file: TextIO | None, *args: Any, **options: Any) -> Any:
    # Not at the top: it finds out what it runs in, and in a notebook may warn about it.
    from tqdm.auto import tqdm
    from tqdm.notebook import tqdm_notebook

    out = sys.stderr if file is None else file
    if out.isatty() or (file is None and issubclass(tqdm, tqdm_notebook)):
        return tqdm(*args, file=file, mininterval=0.2, **options)
    return tqdm(*args, file=Lines(out), mininterval=LINES_APART, **options)


class Lines:
    """A file in which every state of a bar is a line of its own: a carriage return, with which a
    bar goes back on a terminal, would make them one endless line."""

    def __init__(self, file: TextIO):
        self._file = file

    def write(self, text: str) -> None:
        """What a bar writes, as a line."""
        line = text.strip("\r\n ")
        if line:
            self._file.write(f"{line}\n")

    def flush(self) -> None:
        """As the file does."""
        self._file.flush()

    def isatty(self) -> bool:
        """No bar of it is live."""
        return False
