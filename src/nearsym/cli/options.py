"""The options that a dataclass stands for.

A command is a frozen dataclass: its docstring is the help, its fields are the options, the string
under a field is that option's help. A field annotated `Positional[...]` is an argument without
dashes. The fields of a dataclass inside it are options with dotted names: `training.batch_size`
is `--training.batch-size`.

`tyro` fills the dataclass in (`cli/parse.py`). What is known about its options stands here, for
the help, for errors that name the option and the nearest one, and for `cli/flags.py`.
"""

import ast
import dataclasses
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional as Positional

_METAVARS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}


@dataclass(frozen=True, kw_only=True)
class Option:
    """One field of a command, or of a dataclass inside it."""

    name: str
    """The field, with those it lies in: `training.batch_size`."""
    kinds: tuple[type, ...]
    """The type of each word that it takes; none for a switch."""
    choices: tuple[str, ...] = ()
    """The only values it may take, if there are such."""
    optional: bool = False
    """Whether it may be None."""
    positional: bool = False
    several: bool = False
    """Whether it takes one word or more: only the last argument without dashes may."""
    default: Any = MISSING
    help: str = ""
    """The string under the field, or what its metadata says under "help"."""
    owner: type
    """The dataclass that has the field."""

    @property
    def flag(self) -> str:
        """`--training.batch-size`, or WALL for an argument without dashes; `--from` for `from_`,
        whose own name Python keeps for itself."""
        if self.positional:
            return self.name.upper()
        return "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def off_flag(self) -> str:
        """What turns a switch off: `--algorithm.no-learn-temperature`."""
        group, dot, field = self.flag.removeprefix("--").rpartition(".")
        return f"--{group}{dot}no-{field}"

    @property
    def metavar(self) -> str:
        """What stands for its value in the help: `N`, `red|green`, `X X`."""
        words = [_METAVARS[kind] for kind in self.kinds]
        text = "|".join(self.choices) if self.choices else " ".join(words)
        return f"{text}|none" if self.optional and self.default is not None else text


Options = dict[str, Option]
"""Options by name, in the order of the fields."""


def options_of(command: type, default: Any = None) -> Options:
    """Every option of a command; `default` is an instance whose values replace the fields'.

    >>> @dataclass(frozen=True)
    ... class Inner:
    ...     learning_rate: float = 1e-3
    >>> @dataclass(frozen=True)
    ... class Outer:
    ...     task: Positional[str]
    ...     algorithm: Inner = Inner()
    >>> [option.flag for option in options_of(Outer).values()]
    ['TASK', '--algorithm.learning-rate']
    """
    return {option.name: option for option in _walk(command, default, "")}


def flags_of(options: Options) -> dict[str, Option]:
    """What may be typed for the options that have dashes, and which option each means."""
    named = [option for option in options.values() if not option.positional]
    switches = [option for option in named if not option.kinds]
    return {option.flag: option for option in named} | {o.off_flag: o for o in switches}


def groups_of(command: type, default: Any = None) -> dict[str, type]:
    """The dataclasses inside a command, by their names."""
    owners = {o.name.rpartition(".")[0]: o.owner for o in options_of(command, default).values()}
    return {group: owner for group, owner in owners.items() if group}


def _walk(command: type, instance: Any, prefix: str) -> Iterator[Option]:
    hints = typing.get_type_hints(command, include_extras=True)
    for field in dataclasses.fields(command):
        if not field.init:
            continue
        default = _default(field) if instance is None else getattr(instance, field.name)
        default = MISSING if default is tyro.MISSING else default
        name, hint = prefix + field.name, hints[field.name]
        inner = _dataclass_in(hint, default)
        if inner is None:
            yield replace(_option(name, hint, default, command), help=_help(command, field))
        else:
            yield from _walk(inner, None if default is MISSING else default, f"{name}.")


def _default(field: dataclasses.Field) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _dataclass_in(hint: Any, default: Any) -> type | None:
    """The dataclass of a field that holds one: among several, the default's."""
    found = [part for part in _alternatives(hint) if dataclasses.is_dataclass(part)]
    if type(default) in found:
        return type(default)
    if len(found) > 1:
        raise TypeError(f"{hint} needs a default: its class decides which options there are.")
    return typing.cast(type, found[0]) if found else None


def _option(name: str, hint: Any, default: Any, owner: type) -> Option:
    positional = typing.get_origin(hint) is Annotated and _is_positional(hint)
    alternatives = _alternatives(hint)
    kinds = [part for part in alternatives if part is not type(None)]
    if len(kinds) != 1:
        raise TypeError(f"{owner.__name__}.{name}: {hint} cannot be an option.")
    several = positional and typing.get_args(kinds[0])[1:] == (...,)
    words, choices = _words(typing.get_args(kinds[0])[0] if several else kinds[0])
    if not all(word in _METAVARS for word in words) or (not words and len(alternatives) > 1):
        raise TypeError(f"{owner.__name__}.{name}: {hint} cannot be an option.")
    return Option(
        name=name,
        kinds=words,
        choices=choices,
        optional=len(alternatives) > 1,
        positional=positional,
        several=several,
        default=default,
        owner=owner,
    )


def _is_positional(hint: Any) -> bool:
    (marker,) = Positional[int].__metadata__  # type: ignore[attr-defined]
    return marker in hint.__metadata__


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The parts of `X | None`, or what the hint is alone."""
    if typing.get_origin(hint) is Annotated:
        hint = hint.__origin__
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return typing.get_args(hint)
    return (hint,)


def _words(kind: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The types of the words that a value of some type is written in, and its choices."""
    if kind is bool:
        return (), ()
    if typing.get_origin(kind) is Literal:
        return (str,), tuple(str(choice) for choice in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return typing.get_args(kind), ()
    return (kind,), ()


def _help(command: type, field: dataclasses.Field) -> str:
    """What a field is for; a class made at run time, which has no source, says it in metadata."""
    if "help" in field.metadata:
        return field.metadata["help"]
    owners = [c for c in command.__mro__ if field.name in inspect.get_annotations(c)]
    return field_help(owners[-1] if owners else command).get(field.name, "")


@cache
def field_help(command: type) -> dict[str, str]:
    """The string under each field of a dataclass, by the field's name."""
    try:
        source = inspect.getsource(command)
    except (OSError, TypeError):  # made at run time
        return {}
    (body,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for line, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(following, ast.Expr):
            name, text = line.target, following.value
            if isinstance(name, ast.Name) and isinstance(text, ast.Constant):
                found[name.id] = " ".join(str(text.value).split())
    return found
