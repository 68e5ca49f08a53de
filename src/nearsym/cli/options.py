"""Frozen dataclasses as command-line options, errors in one sentence.

A command is a dataclass: its docstring is the help, its fields are the options, the string under
a field is that option's help. A field annotated `Positional[...]` is an argument without dashes.
"""

import argparse
import ast
import dataclasses
import inspect
import textwrap
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from nearsym.errors import UsageError, unknown_name

_T = TypeVar("_T")
_POSITIONAL = object()
Positional = Annotated[_T, _POSITIONAL]


class _Parser(argparse.ArgumentParser):
    """Raises instead of printing a usage page and leaving."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[0].upper()}{message[1:]}. See {self.prog} --help.")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = action.option_strings[0] if action.option_strings else action.metavar
            raise unknown_name(f"value of {name}", value, action.choices)


def parse(program: str, description: str, commands: Mapping[str, type], argv: Sequence[str]) -> Any:
    """The dataclass of the command that `argv` names, filled in, and whether it wants JSON."""
    parser = _Parser(prog=program, description=description, add_help=True)
    parsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name, command in commands.items():
        help_text = inspect.cleandoc(command.__doc__ or "")
        sub = parsers.add_parser(
            name,
            help=help_text.split("\n")[0].replace("%", "%%"),
            description=help_text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
        _add_options(sub, command)
        sub.add_argument("--json", action="store_true", help="one JSON object on standard output")
    if not argv:
        parser.print_help()
        raise SystemExit(2)
    if argv[0] not in (*commands, "-h", "--help"):
        raise unknown_name("command", argv[0], commands)
    values, unknown = parser.parse_known_args(argv)
    if unknown:
        _refuse(values.command, unknown, commands[values.command])
    given = vars(values)
    name, wants_json = given.pop("command"), given.pop("json", False)
    return name, commands[name](**given), wants_json


def _add_options(parser: argparse.ArgumentParser, command: type) -> None:
    hints = typing.get_type_hints(command, include_extras=True)
    helps = _field_docstrings(command)
    for field in dataclasses.fields(command):
        positional, kind, choices = _describe(hints[field.name])
        text = helps.get(field.name, "").replace("%", "%%")
        required = field.default is dataclasses.MISSING
        if positional:
            parser.add_argument(
                field.name,
                metavar=field.name.upper(),
                nargs=None if required else "?",
                default=None if required else field.default,
                type=kind,
                choices=choices,
                help=text,
            )
        elif kind is bool:
            parser.add_argument(_flag(field.name), action="store_true", help=text)
        else:
            parser.add_argument(
                _flag(field.name),
                type=kind,
                choices=choices,
                required=required,
                metavar="|".join(choices) if choices else _metavar(kind),
                help=text
                if field.default in (None, dataclasses.MISSING)
                else f"{text} (default: {field.default})",
            )


def _describe(hint: Any) -> tuple[bool, type, tuple[str, ...] | None]:
    """Whether a field is positional, how to read its text, and the only values it may take."""
    positional = False
    if typing.get_origin(hint) is Annotated:
        positional = _POSITIONAL in hint.__metadata__
        hint = hint.__origin__
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = [part for part in typing.get_args(hint) if part is not type(None)]
    if typing.get_origin(hint) is Literal:
        return positional, str, typing.get_args(hint)
    return positional, hint, None


def _field_docstrings(command: type) -> dict[str, str]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(command))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for line, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(following, ast.Expr):
            name, text = line.target, following.value
            if isinstance(name, ast.Name) and isinstance(text, ast.Constant):
                found[name.id] = " ".join(str(text.value).split())
    return found


def _refuse(name: str, unknown: list[str], command: type) -> NoReturn:
    hints = typing.get_type_hints(command, include_extras=True)
    flags = [_flag(name) for name, hint in hints.items() if not _describe(hint)[0]]
    option = unknown[0].split("=")[0]
    if option.startswith("-"):
        raise unknown_name(f"option of {name}", option, [*flags, "--json"])
    raise UsageError(f"{name} does not know what to do with {option!r}. See nearsym {name} --help.")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _metavar(kind: type) -> str:
    return {int: "N", float: "X"}.get(kind, "TEXT")
