"""The one exception for what a person can put right, the hint for a mistyped name, the check of a
number's range, and texts of strangers for a terminal."""

import difflib
import unicodedata
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


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
        super().__init__(
            f'{feature} needs an extra: pip install "nearsym[{extra}]" '
            f'(in a checkout: pip install ".[{extra}]").'
        )


def unknown_name(kind: str, name: object, choices: Iterable[str]) -> UsageError:
    """An error for a name that does not exist, with the nearest one that does.

    >>> str(unknown_name("task", "cartpol", ["acrobot", "cartpole"]))
    "Unknown task 'cartpol'. Did you mean 'cartpole'? Choose from: acrobot, cartpole."
    """
    names = sorted(choices)
    hint = did_you_mean(name, names)
    return UsageError(f"Unknown {kind} {shown(name)}.{hint} Choose from: {', '.join(names)}.")


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """The hint for a mistyped name, with a space before it; empty where no name is near.

    >>> did_you_mean("cartpol", ["acrobot", "cartpole"])
    " Did you mean 'cartpole'?"
    """
    nearest = difflib.get_close_matches(str(name)[:100], sorted(choices), n=1, cutoff=0.5)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


def check_range(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no number from `low` to `high`.

    >>> check_range("frames", -3, 1, 10**12)
    Traceback (most recent call last):
        ...
    nearsym.errors.UsageError: `frames` must be at least 1, got -3.
    """
    number: Any = value  # Real has no < for type checkers
    if not isinstance(value, Real) or number != number:
        wanted = f"a number from {_number(low)} to {_number(high)}"
    elif number < low:
        wanted = f"at least {_number(low)}"
    elif number > high:
        wanted = f"at most {_number(high)}"
    else:
        return
    raise UsageError(f"`{name}` must be {wanted}, got {shown(value)}.")


def check_whole(name: str, value: Any, low: int, high: int) -> None:
    """Refuse what is no whole number from `low` to `high`.

    >>> check_whole("seed", 0.5, 0, 10)
    Traceback (most recent call last):
        ...
    nearsym.errors.UsageError: `seed` must be a whole number, got 0.5.
    """
    check_range(name, value, low, high)
    if not isinstance(value, Integral):
        raise UsageError(f"`{name}` must be a whole number, got {shown(value)}.")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def shown(value: object, longest: int = 60) -> str:
    """A value for an error: not longer than a line, whatever somebody sent.

    >>> shown(10**5000), shown("x" * 1000, longest=10)
    ('a number of more than 4300 digits', "'xxxxxxxx…")
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not write such integers
        return "a number of more than 4300 digits"
    except RecursionError:
        return "something nested too deeply"
    return shortened(text, longest)


def shortened(text: str, longest: int) -> str:
    """A text of at most so many characters, with dots where it was cut.

    >>> shortened("acrobot-swingup", 8)
    'acrobot…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def printable(text: str) -> str:
    r"""A text that a terminal shows and does not obey: whatever steers one (escape sequences, marks
    that turn the direction of writing, halves of characters) as Python writes it. Lines stay lines.

    >>> print(printable("\x1b[2Jgone, 5 ± ½"))
    \x1b[2Jgone, 5 ± ½
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else repr(c)[1:-1] for c in text)


def _is_harmless(character: str) -> bool:
    """Whether it is a sign, a space of any width, or the end of a line."""
    plain = character.isprintable() or character in "\n\t"
    return plain or unicodedata.category(character) == "Zs"
