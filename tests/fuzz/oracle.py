"""What every case must leave behind: an exit code, no traceback, no endless wait, nothing touched
that is not its own."""

import hashlib
import os
import signal
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

from nearsym.errors import MissingExtraError, RunError

LIMIT = 60  # seconds; a case takes a fraction of one
GENTLE = (ValueError, TypeError, RunError, MissingExtraError)
"""What a call from Python may raise for wrong arguments; `UsageError` is a `ValueError`."""


class Hang(BaseException):
    """A case took too long. No `Exception`: nobody is to catch it on the way."""


class Failure(AssertionError):
    """A case that broke a promise."""


@contextmanager
def limited():
    """Ends what takes longer than `LIMIT`, by an exception in the middle of it."""
    seconds = LIMIT

    def end(number, frame):
        raise Hang(f"still busy after {seconds} s in {frame.f_code.co_filename}:{frame.f_lineno}")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fingerprint(*places: Path) -> dict[str, str]:
    """Everything that lies in some folders."""
    found = {}
    for place in places:
        for path in sorted(place.rglob("*")):
            if path.is_symlink():
                found[str(path)] = f"link to {os.readlink(path)}"
            elif path.is_file():
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                found[str(path)] = "folder"
    return found


def run_command(argv, capsys) -> int:
    """The exit code of a command; whatever else comes of it breaks a promise."""
    from nearsym.cli.main import run

    argv = [str(word) for word in argv]
    capsys.readouterr()
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = run(argv)
    except SystemExit as end:
        code = end.code
    except Hang as hang:
        raise Failure(f"nearsym {' '.join(argv)}: {hang}") from hang
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__)[-3:])
        text = (
            f"nearsym {' '.join(argv)[:500]}: {type(error).__name__}: {str(error)[:500]}\n{where}"
        )
        raise Failure(text) from error
    out, err = capsys.readouterr()
    if code not in (0, 1, 2):
        raise Failure(f"nearsym {' '.join(argv)} left with {code!r}")
    if "Traceback" in err or (code == 0 and not out.strip()) or (code and not (err + out).strip()):
        raise Failure(f"nearsym {' '.join(argv)} left with {code} and said {out!r} {err!r}")
    return code


def call(function, described: str) -> bool:
    """Whether a call from Python went well; an error that is not gentle breaks a promise."""
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()
    except GENTLE as error:
        if isinstance(error, UnicodeError) or not str(error):
            raise Failure(f"{described}: {error!r}") from error
        return False
    except Hang as hang:
        raise Failure(f"{described}: {hang}") from hang
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__)[-3:])
        raise Failure(
            f"{described}: {type(error).__name__}: {str(error)[:300]}\n{where}"
        ) from error
    return True
