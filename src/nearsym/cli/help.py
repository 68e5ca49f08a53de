"""Help pages: plain text of at most 80 columns, on a terminal as in a pipe.

tyro's own pages are drawn in boxes, run the example lines of a docstring together and show `None`
wherever an option may be left out.
"""

import inspect
import shutil
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import Any

from nearsym.cli.options import Option, groups_of, options_of

JSON_HELP = "one JSON object on standard output"
_LARGEST_INDENT = 24


def overview(program: str, description: str, commands: Mapping[str, Callable[..., Any]]) -> str:
    """What the program is, and its commands in one line each."""
    rows = [(name, summary(command)) for name, command in commands.items()]
    options = [
        ("-h, --help", f"show this page; {program} COMMAND --help shows a command's"),
        ("--version", "show the version"),
        (
            "--print-completion bash|zsh|fish",
            f"print a script: source <({program} --print-completion bash)",
        ),
    ]
    return "\n\n".join(
        [
            f"usage: {program} COMMAND [OPTIONS]",
            _wrapped(description),
            _section("commands", rows),
            _section("options", options),
        ]
    )


def page(program: str, command: type, default: Any = None) -> str:
    """The help of a command: usage, docstring, arguments, options, and a section for each
    dataclass inside it."""
    options = list(options_of(command, default).values())
    arguments = [option for option in options if option.positional]
    plain = [o for o in options if not o.positional and "." not in o.name]
    common = [("--json", JSON_HELP), ("-h, --help", "show this page")]
    sections = [
        " ".join([f"usage: {program} [OPTIONS]", *map(_usage, arguments)]),
        _wrapped(_docstring(command)),
        _section("arguments", [_row(option) for option in arguments]) if arguments else "",
        _section("options", [*map(_row, plain), *common]),
    ]
    for group, owner in groups_of(command, default).items():
        rows = [_row(option) for option in options if option.name.rpartition(".")[0] == group]
        about = " ".join(_docstring(owner).split("\n\n")[0].split())
        sections.append(_section(group, rows, about))
    return "\n\n".join(section for section in sections if section)


def summary(command: Callable[..., Any]) -> str:
    """The first line of a command's docstring."""
    return _docstring(command).split("\n")[0]


def _usage(option: Option) -> str:
    flag = f"{option.flag} [{option.flag} ...]" if option.several else option.flag
    return flag if option.default is MISSING else f"[{flag}]"


def _row(option: Option) -> tuple[str, str]:
    if option.positional:
        return option.flag, option.help
    text = option.help
    if "(default" not in text:
        default = _default(option)
        text = f"{text.rstrip('.')} {default}" if default else text
    return f"{option.flag} {option.metavar}".strip(), text


def _default(option: Option) -> str:
    if option.default is MISSING:
        return "(required)"
    if option.default is None or option.default is False:
        return ""
    if option.default is True:
        return f"(default: on; off with {option.off_flag})"
    several = isinstance(option.default, tuple)
    text = " ".join(map(str, option.default)) if several else str(option.default)
    return f"(default: {text})"


def _section(title: str, rows: list[tuple[str, str]], about: str = "") -> str:
    lines = [f"{title}:"]
    if about:
        lines.append(textwrap.indent(textwrap.fill(about, _width() - 2), "  "))
    indent = min(_LARGEST_INDENT, 4 + max(len(name) for name, _ in rows))
    for name, text in rows:
        wrapped = textwrap.wrap(text, _width() - indent, break_on_hyphens=False) or [""]
        head = f"  {name:{indent - 4}}  "
        first = wrapped.pop(0) if len(head) == indent else ""
        lines += [(head + first).rstrip(), *(" " * indent + line for line in wrapped)]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    """A text whose lines stay lines: examples are to be copied."""
    lines = text.split("\n")
    return "\n".join(textwrap.fill(line, _width(), subsequent_indent="  ") for line in lines)


def _docstring(thing: Callable[..., Any]) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _width() -> int:
    return max(60, min(80, shutil.get_terminal_size().columns))
