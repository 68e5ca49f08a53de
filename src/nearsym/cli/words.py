"""The words of a command line: which option each belongs to, and whether it may.

tyro explains a mistake in a box and leaves the process; so words are checked here, against the
fields that it fills in, before it sees them.
"""

import difflib
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field

from nearsym.cli.flags import find
from nearsym.cli.options import Option, Options, flags_of
from nearsym.errors import UsageError, did_you_mean, unknown_name

FEW = 12
"""Up to so many options, an unknown one is answered with all of them."""


@dataclass
class Sorted:
    """Words, each in its place."""

    options: list[str] = field(default_factory=list)
    """Flags as they are spelled in the help, with their values: `--coats=3`, or in words of their
    own if there are several."""
    arguments: list[str] = field(default_factory=list)
    """Values of the positional arguments."""
    rest: list[str] = field(default_factory=list)
    """What belongs to no option, in its order."""


def sort_words(argv: Sequence[str], options: Options, others: Options | None = None) -> Sorted:
    """The words that `options` explain, checked, and the rest.

    How many words an unknown option takes is looked up in `others`, or in the option whose name
    is nearest; where nothing is near, it takes one.
    """
    found, words = Sorted(), list(argv)
    flags = flags_of(options)
    everything = flags | flags_of(others or {})
    positional = [option for option in options.values() if option.positional]
    while words:
        word = _without_subject(words.pop(0), positional)
        if word == "--":  # no options from here on
            for argument in words:
                _place(argument, found, positional)
            break
        flag, has_value, value = word.partition("=")
        flag = flag.replace("_", "-")
        if not _is_flag(word):
            _place(word, found, positional)
        elif flag in flags:
            option = flags[flag]
            values = [value] if has_value else _take(words, len(option.kinds))
            found.options += _spelled(flag, checked(option, values))
        else:
            count = 0 if has_value else _words_after(flag, everything)
            found.rest += [word, *_take(words, count)]
    return found


def _without_subject(word: str, positional: list[Option]) -> str:
    """`--size` for `--task.size`, where TASK is an argument: its options need not name it."""
    for option in positional:
        if word.startswith(f"--{option.name}."):
            return f"--{word.removeprefix(f'--{option.name}.')}"
    return word


def _place(word: str, found: Sorted, positional: list[Option]) -> None:
    """Give a word to the next positional argument, if there is one more or the last takes all."""
    position = len(found.arguments)
    if positional and positional[-1].several:
        position = min(position, len(positional) - 1)
    if position < len(positional):
        found.arguments += checked(positional[position], [word])
    else:
        found.rest.append(word)


def checked(option: Option, values: list[str]) -> list[str]:
    """The values that an option was given, if it can take them."""
    if not option.kinds and values:
        raise UsageError(f"{option.flag} takes no value, got {values[0]!r}.")
    if len(values) < len(option.kinds):
        raise UsageError(_too_few(option, len(values)))
    if option.optional and _is_none(values[0], option.kinds[0]):
        return ["None"]
    for kind, value in zip(option.kinds, values, strict=True):
        if option.choices and value not in option.choices:
            raise unknown_name(f"value of {option.flag}", value, option.choices)
        try:
            kind(value)
        except ValueError:
            raise UsageError(f"{option.flag} needs {_called(kind)}, got {value!r}.") from None
    return values


def missing_option(found: Sorted, options: Options) -> Option | None:
    """The first option that must be given and was not."""
    positional = [option.flag for option in options.values() if option.positional]
    given = {word.partition("=")[0] for word in found.options}
    given |= set(positional[: len(found.arguments)])
    needed = [option for option in options.values() if option.default is MISSING]
    return next((option for option in needed if not {option.flag, option.off_flag} & given), None)


def unknown_option(
    name: str, word: str, options: Options, *, common: Sequence[str], see: str
) -> UsageError:
    """The error for an option that a command does not have; `see` ends it where options are many
    and are not listed."""
    flag = word.partition("=")[0]
    flags = [*(o.flag for o in options.values() if not o.positional), *common]
    if len(flags) <= FEW:
        return unknown_name(f"option of {name}", flag, flags)
    dotted = find(flag.removeprefix("--").replace("-", "_"), options)
    if dotted is not None and not dotted.positional:
        hint = f" Did you mean {dotted.flag!r}?"
    else:
        hint = did_you_mean(flag, [*flags, *flags_of(options)])
    return UsageError(f"Unknown option of {name} {flag!r}.{hint}{see}")


def _is_flag(word: str) -> bool:
    """Whether a word is an option rather than a value: -5 and -inf are values."""
    if not word.startswith("-") or word == "-":
        return False
    try:
        float(word)
    except ValueError:
        return True
    return False


def _is_none(value: str, kind: type) -> bool:
    """None as tyro reads it; where a number is expected, `none` can mean nothing else."""
    return value == "None" or (kind in (int, float) and value == "none")


def _spelled(flag: str, values: list[str]) -> list[str]:
    return [f"{flag}={values[0]}"] if len(values) == 1 else [flag, *values]


def _take(words: list[str], count: int) -> list[str]:
    """Up to `count` values off the front of the words."""
    taken: list[str] = []
    while words and len(taken) < count and not _is_flag(words[0]):
        taken.append(words.pop(0))
    return taken


def _words_after(flag: str, known: dict[str, Option]) -> int:
    nearest = [flag] if flag in known else difflib.get_close_matches(flag, known, n=1, cutoff=0.8)
    return len(known[nearest[0]].kinds) if nearest else 1


def _too_few(option: Option, count: int) -> str:
    if len(option.kinds) > 1:
        return f"{option.flag} needs {len(option.kinds)} values, got {count}."
    if option.choices:
        return f"{option.flag} needs a value: {', '.join(option.choices)}."
    return f"{option.flag} needs {_called(option.kinds[0])}, and nothing follows it."


def _called(kind: type) -> str:
    return {int: "a whole number", float: "a number"}.get(kind, "a value")
