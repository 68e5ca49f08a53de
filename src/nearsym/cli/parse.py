"""From words to the dataclass of a command, which `tyro` fills in; every mistake is a sentence."""

import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from typing import Any, NamedTuple, TypeVar

import tyro

import nearsym
from nearsym.cli.completion import print_completion
from nearsym.cli.flags import as_flags
from nearsym.cli.help import overview, page
from nearsym.cli.options import Options, options_of
from nearsym.cli.words import Sorted, missing_option, sort_words, unknown_option
from nearsym.errors import UsageError, unknown_name

_T = TypeVar("_T")
Command = type | Callable[[Sequence[str]], tuple[type, Any]]
"""A dataclass; or a function that looks at the words after the command and gives the dataclass
and an instance of it, which has the defaults. The first line of its docstring stands in the
overview. It is also called without words, for the completion script and the usual options."""
COMMON = ("--json", "--help", "-h")
_NO_BOX = str.maketrans(dict.fromkeys("╭╮╰╯│─", " "))


class Parsed(NamedTuple):
    """What was asked for."""

    name: str
    command: Any
    wants_json: bool


def parse(
    program: str, description: str, commands: Mapping[str, Command], argv: Sequence[str]
) -> Parsed:
    """The command that `argv` names, filled in. Asked for help, it prints and leaves."""
    if len(argv) > 1 and argv[0] == "help":
        argv = [*argv[1:], "--help"]
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview(program, description, commands))
        raise SystemExit(0 if argv else 2)
    if argv[0] == "--version":
        print(f"{program} {nearsym.__version__}")
        raise SystemExit(0)
    if argv[0] == "--print-completion":
        print_completion(program, {n: _chosen(c, ()) for n, c in commands.items()}, argv[1:])
        raise SystemExit(0)
    name, words = argv[0], [word for word in argv[1:] if word not in COMMON]
    if name not in commands:
        raise unknown_name("command", name, commands)
    command, default = _chosen(commands[name], words)
    if {"-h", "--help"} & set(argv):
        print(page(f"{program} {name}", command, default))
        raise SystemExit(0)
    return Parsed(name, _parse_all(f"{program} {name}", command, words, default), "--json" in argv)


def parse_known(
    command: type[_T],
    argv: Sequence[str],
    default: _T | None = None,
    *,
    others: Iterable[type | Any] = (),
) -> tuple[_T, list[str]]:
    """An instance of a dataclass from the words that it knows, and the other words.

    `others` are dataclasses, or instances, that the rest may belong to. They say how many words
    an option takes that `command` does not know, so that TASK in `--training.frames 9 TASK` and
    in `--algorithm.no-learn-temperature TASK` is the task.
    """
    beside: Options = {}
    for other in others:
        beside |= options_of(other) if isinstance(other, type) else options_of(type(other), other)
    options = options_of(command, default)
    found = sort_words(argv, options, beside)
    _refuse_missing(found, options, "")
    return _build(command, default, found, options), found.rest


def _chosen(command: Command, words: Sequence[str]) -> tuple[type, Any]:
    if isinstance(command, type):
        return command, None
    try:
        return command(words)
    except UsageError as error:
        if not words:
            raise
        usual = options_of(*command(()))
        raise UsageError(as_flags(str(error), usual)) from error


def _parse_all(program: str, command: type, words: Sequence[str], default: Any) -> Any:
    options, name = options_of(command, default), program.rpartition(" ")[2]
    found = sort_words(words, options)
    see = f" See {program} --help."
    if found.rest and found.rest[0].startswith("-"):
        raise unknown_option(name, found.rest[0], options, common=COMMON[:1], see=see)
    if found.rest:
        raise UsageError(f"{name} does not know what to do with {found.rest[0]!r}.{see}")
    _refuse_missing(found, options, see)
    return _build(command, default, found, options)


def _refuse_missing(found: Sorted, options: Options, see: str) -> None:
    missing = missing_option(found, options)
    if missing is not None:
        what = f": {missing.help.rstrip('.')}" if missing.help else ""
        raise UsageError(f"{missing.flag} is missing{what}.{see}")


def _build(command: type[_T], default: _T | None, found: Sorted, options: Options) -> _T:
    """The dataclass with words that have been checked.

    tyro turns a `ValueError` of a dataclass into a box on standard error and an exit: the error
    itself is what the exit was raised in handling.
    """
    words = [*found.options, *(["--", *found.arguments] if found.arguments else [])]
    start = tyro.MISSING_NONPROP if default is None else default
    only_options = (tyro.conf.AvoidSubcommands,)
    with redirect_stderr(io.StringIO()) as said:
        try:
            built = tyro.cli(command, args=words, default=start, config=only_options)
        except SystemExit as left:
            raise UsageError(as_flags(_reason(left, said.getvalue()), options)) from None
    sys.stderr.write(said.getvalue())  # warnings of the dataclasses
    return built


def _reason(error: BaseException, said: str) -> str:
    """The `ValueError` that led to an exit, or else what was said, without its box."""
    cause = error.__context__
    while cause is not None and not isinstance(cause, ValueError):
        cause = cause.__context__
    return " ".join(said.translate(_NO_BOX).split()) if cause is None else str(cause)
