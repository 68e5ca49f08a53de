"""Completion scripts for shells, which tyro writes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, make_dataclass
from typing import Annotated, Any, Union

import tyro

from nearsym.cli.help import JSON_HELP, summary
from nearsym.errors import UsageError, unknown_name

SHELLS = ("bash", "zsh", "fish")


def print_completion(
    program: str, commands: Mapping[str, tuple[type, Any]], argv: Sequence[str]
) -> None:
    """Print the script with which a shell completes commands, options and choices; then leave.

    Each command is a dataclass and an instance with its defaults, or None.
    """
    if len(argv) != 1:
        raise UsageError(f"--print-completion needs one shell: {', '.join(SHELLS)}.")
    if argv[0] not in SHELLS:
        raise unknown_name("shell", argv[0], SHELLS)
    parts = tuple(_subcommand(name, *command) for name, command in commands.items())
    one_of: Any = Union[parts]  # noqa: UP007 (there are as many as there are commands)
    tyro.cli(one_of, prog=program, args=["--tyro-write-completion", argv[0], "-"])


def _subcommand(name: str, command: type, default: Any) -> Any:
    """A command with the switch that every command has."""
    switch = Annotated[bool, tyro.conf.arg(help=JSON_HELP), tyro.conf.FlagCreatePairsOff]
    whole: Any = make_dataclass(
        name, [("json", switch, False)], bases=(command,), frozen=True, kw_only=True
    )
    start = tyro.MISSING_NONPROP
    if default is not None:
        start = whole(**{field.name: getattr(default, field.name) for field in fields(command)})
    about = tyro.conf.subcommand(name, default=start, description=summary(command))
    return Annotated[whole, about, tyro.conf.AvoidSubcommands]
