"""Dataclasses as command-line options."""

from dataclasses import dataclass
from typing import Literal

import pytest

from nearsym.cli.options import Positional, parse
from nearsym.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Paint:
    """Paint a wall, 100 % covered.

    tool paint kitchen
    """

    wall: Positional[str]
    """which wall"""
    colour: Literal["red", "green"] = "red"
    """what it becomes, 50 % brighter"""
    coats: int = 1
    """how often"""
    gloss: float | None = None
    """how shiny"""
    dry_run: bool = False
    """only say so"""


@dataclass(frozen=True, kw_only=True)
class Rest:
    """Do nothing."""

    minutes: Positional[int | None] = None
    """how long"""


COMMANDS = {"paint": Paint, "rest": Rest}


def read(*argv):
    return parse("tool", "A tool.", COMMANDS, argv)


def test_defaults():
    assert read("paint", "hall") == ("paint", Paint(wall="hall"), False)
    assert read("rest") == ("rest", Rest(), False)


def test_every_kind_of_option():
    words = ["--colour", "green", "--coats=3", "--gloss", "0.5", "--dry-run", "--json", "hall"]
    expected = Paint(wall="hall", colour="green", coats=3, gloss=0.5, dry_run=True)
    assert read("paint", *words) == ("paint", expected, True)
    assert read("rest", "5")[1] == Rest(minutes=5)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["paitn"], "Unknown command 'paitn'. Did you mean 'paint'? Choose from: paint, rest."),
        (["--loud"], "Unknown command '--loud'"),
        (["paint", "x", "--color", "red"], "Unknown option of paint '--color'. Did you mean"),
        (["paint", "x", "--colo", "red"], "Did you mean '--colour'?"),  # nothing is guessed
        (
            ["paint", "x", "--colour", "gren"],
            "Unknown value of --colour 'gren'. Did you mean 'green'",
        ),
        (["paint", "x", "--coats", "two"], "Argument --coats: invalid int value: 'two'. See"),
        (["paint", "x", "y"], "paint does not know what to do with 'y'"),
        (["paint"], "The following arguments are required: WALL. See tool paint --help."),
        (["paint", "x", "--coats"], "Argument --coats: expected one argument"),
    ],
)
def test_mistakes_in_one_sentence(argv, text):
    with pytest.raises(UsageError) as caught:
        read(*argv)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_positional_arguments_are_not_offered_as_options():
    with pytest.raises(UsageError) as caught:
        read("paint", "x", "--wal", "y")
    assert "--wall" not in str(caught.value)


def test_help_of_the_tool(capsys):
    with pytest.raises(SystemExit) as caught:
        read("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "A tool." in text
    assert "Paint a wall, 100 % covered." in text
    assert "Do nothing." in text


def test_help_of_a_command(capsys):
    with pytest.raises(SystemExit):
        read("paint", "--help")
    text = capsys.readouterr().out
    assert "tool paint kitchen" in text
    assert "--colour red|green" in text
    assert "what it becomes, 50 % brighter (default: red)" in " ".join(text.split())
    assert "--dry-run" in text
    assert "one JSON object" in text


def test_no_arguments_show_the_help_and_fail(capsys):
    with pytest.raises(SystemExit) as caught:
        read()
    assert caught.value.code == 2
    assert "usage: tool" in capsys.readouterr().out
