"""Help pages: plain, complete, at most 80 columns wide."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from nearsym.cli import main
from nearsym.cli.options import Positional
from nearsym.cli.parse import parse


@dataclass(frozen=True, kw_only=True)
class Brush:
    """What paints, in a docstring that is longer than a line of eighty columns and has to be
    wrapped."""

    hair_length: int = 5
    """millimetres"""
    thickness: tuple[float, float] = (1e-6, 2.0)
    """at both ends"""
    handle: int | None = 50
    """Centimetres."""
    washable: bool = True
    """with water"""


@dataclass(frozen=True, kw_only=True)
class Paint:
    """Paint a wall, 100 % covered.

    tool paint kitchen
    tool paint hall --colour green
    """

    wall: Positional[str]
    """which wall"""
    colour: Literal["red", "green"] = "red"
    """what it becomes, 50 % brighter"""
    gloss: float | None = None
    """how shiny (default: not)"""
    dry_run: bool = False
    """only say so"""
    brush: Brush = field(default_factory=Brush)


@dataclass(frozen=True, kw_only=True)
class Rest:
    """Do nothing."""

    minutes: Positional[int | None] = None
    """how long"""


def rest(argv):
    """Rest for as long as needed."""
    return Rest, None


COMMANDS = {"paint": Paint, "rest": rest}


def shown(capsys, *argv, code=0):
    with pytest.raises(SystemExit) as caught:
        parse("tool", "A tool.", COMMANDS, argv)
    assert caught.value.code == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("argv", [["--help"], ["-h"]])
def test_help_of_the_tool(argv, capsys):
    text = shown(capsys, *argv)
    assert text.startswith("usage: tool COMMAND [OPTIONS]\n\nA tool.\n\ncommands:\n")
    assert "  paint  Paint a wall, 100 % covered.\n" in text
    assert "  rest   Rest for as long as needed.\n" in text
    assert "--print-completion bash|zsh|fish" in text


def test_no_arguments_show_the_help_and_fail(capsys):
    assert "usage: tool" in shown(capsys, code=2)


PAGE = """\
usage: tool paint [OPTIONS] WALL

Paint a wall, 100 % covered.

tool paint kitchen
tool paint hall --colour green

arguments:
  WALL  which wall

options:
  --colour red|green  what it becomes, 50 % brighter (default: red)
  --gloss X           how shiny (default: not)
  --dry-run           only say so
  --json              one JSON object on standard output
  -h, --help          show this page

brush:
  What paints, in a docstring that is longer than a line of eighty columns and
  has to be wrapped.
  --brush.hair-length N
                        millimetres (default: 5)
  --brush.thickness X X
                        at both ends (default: 1e-06 2.0)
  --brush.handle N|none
                        Centimetres (default: 50)
  --brush.washable      with water (default: on; off with --brush.no-washable)
"""


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["hall", "--colour", "red", "--help"]])
def test_help_of_a_command(argv, capsys):
    assert shown(capsys, "paint", *argv) == PAGE


def test_arguments_that_may_be_left_out(capsys):
    assert "usage: tool rest [OPTIONS] [MINUTES]" in shown(capsys, "rest", "--help")


@pytest.mark.parametrize("columns", ["60", "80", "200"])
@pytest.mark.parametrize("name", [None, *main.commands()])
def test_no_line_is_longer_than_80_columns(name, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        main.run(["--help"] if name is None else [name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= min(80, int(columns))
