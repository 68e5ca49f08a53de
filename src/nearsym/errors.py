"""The one exception for what a person can put right, and the hint for a mistyped name."""

import difflib
from collections.abc import Iterable


class UsageError(ValueError):
    """Wrong input from outside: an option, a name, a file, a declaration.

    Its text says what was expected, what arrived and what to do. The command line prints it
    without a traceback and exits with 2; in Python it is an ordinary `ValueError`.
    """


class RunError(RuntimeError):
    """Something outside stopped a run: the disk, a number that is not finite, a signal.

    What was saved is intact. The command line prints the text without a traceback and exits
    with 1.
    """


class MissingExtraError(ImportError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str):
        super().__init__(f'{feature} needs an extra: pip install "nearsym[{extra}]".')


def unknown_name(kind: str, name: object, choices: Iterable[str]) -> UsageError:
    """An error for a name that does not exist, with the nearest one that does.

    >>> str(unknown_name("task", "cartpol", ["acrobot", "cartpole"]))
    "Unknown task 'cartpol'. Did you mean 'cartpole'? Choose from: acrobot, cartpole."
    """
    names = sorted(choices)
    hint = did_you_mean(name, names)
    return UsageError(f"Unknown {kind} {name!r}.{hint} Choose from: {', '.join(names)}.")


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """The hint for a mistyped name, with a space before it; empty where no name is near.

    >>> did_you_mean("cartpol", ["acrobot", "cartpole"])
    " Did you mean 'cartpole'?"
    """
    nearest = difflib.get_close_matches(str(name), sorted(choices), n=1, cutoff=0.5)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""
