"""Names of Python parameters as the flags that people type."""

import ast
import re
import shlex
from typing import Any

from nearsym.cli.options import Option, Options

_CODE = re.compile(r"`([^`\n]+)`")
_RESUME = re.compile(r"nearsym\.Run\((?P<path>['\"].+['\"])\)\.resume\(\)")
_NAME = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(?:=(?P<value>.+))?")


def as_flags(text: str, options: Options) -> str:
    """A text in which backticked parameters of a command are its flags.

    `frames` becomes --frames, `checkpoint='last'` --checkpoint last, `sample=True` --sample, and
    `nearsym.Run('x').resume()` the command that does the same. The last part of a dotted name is
    enough if one option only ends in it. Other code loses its backticks and nothing else.
    """
    return _CODE.sub(lambda code: _translate(code[1], options), text)


def find(name: str, options: Options) -> Option | None:
    """The option of that name, or the only one whose dotted name ends in it."""
    if name in options:
        return options[name]
    found = [option for full, option in options.items() if full.endswith(f".{name}")]
    return found[0] if len(found) == 1 else None


def _translate(code: str, options: Options) -> str:
    resumed = _RESUME.fullmatch(code)
    if resumed is not None:
        return f"nearsym train --resume {shlex.quote(ast.literal_eval(resumed['path']))}"
    parts = _NAME.fullmatch(code)
    option = find(parts["name"], options) if parts else None
    if parts is None or option is None:
        return code
    if parts["value"] is None:
        return option.flag
    try:
        value = ast.literal_eval(parts["value"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # an expression: it stays
        return code
    return code if option.positional or value is None else _with_value(option, value)


def _with_value(option: Option, value: Any) -> str:
    if value is True:
        return option.flag
    if value is False:
        return option.off_flag
    words = value if isinstance(value, tuple | list) else (value,)
    return " ".join([option.flag, *(shlex.quote(str(word)) for word in words)])
