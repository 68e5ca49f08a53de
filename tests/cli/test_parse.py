"""From words to dataclasses: what is understood, and what is said of mistakes."""

import sys
from dataclasses import dataclass
from typing import Literal

import pytest
import tyro

from nearsym.cli.options import Positional
from nearsym.cli.parse import parse, parse_known
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
    base_coat: str | None = None
    """what hangs there"""
    dry_run: bool = False
    """only say so"""


@dataclass(frozen=True, kw_only=True)
class Rest:
    """Do nothing."""

    minutes: Positional[int | None] = None
    """how long"""


@dataclass(frozen=True, kw_only=True)
class Mix:
    """Mix colours."""

    pot: Positional[str]
    """where"""
    colours: Positional[tuple[int, ...]]
    """one or more"""
    well: bool = False
    """stir"""


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
        (["paint", "x", "--coats", "two"], "--coats needs a whole number, got 'two'."),
        (["paint", "x", "--coats", "1e5"], "--coats needs a whole number, got '1e5'."),
        (["paint", "x", "--gloss", "much"], "--gloss needs a number, got 'much'."),
        (["rest", "long"], "MINUTES needs a whole number, got 'long'."),
        (
            ["paint", "x", "y"],
            "paint does not know what to do with 'y'. See tool paint --help.",
        ),
        (["paint"], "WALL is missing: which wall. See tool paint --help."),
        (["paint", "x", "--coats"], "--coats needs a whole number, and nothing follows it."),
        (["paint", "--coats", "--dry-run", "x"], "--coats needs a whole number, and nothing"),
        (["paint", "x", "--colour"], "--colour needs a value: red, green."),
        (["paint", "x", "--dry-run=yes"], "--dry-run takes no value, got 'yes'."),
        (["paint", "x", "-c", "3"], "Unknown option of paint '-c'."),
        (["--print-completion"], "--print-completion needs one shell: bash, zsh, fish."),
        (["--print-completion", "bsh"], "Unknown shell 'bsh'. Did you mean 'bash'?"),
    ],
)
def test_mistakes_in_one_sentence(argv, text, capsys):
    with pytest.raises(UsageError) as caught:
        read(*argv)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capsys.readouterr() == ("", "")


def test_positional_arguments_are_not_offered_as_options():
    with pytest.raises(UsageError) as caught:
        read("paint", "x", "--wal", "y")
    assert "--wall" not in str(caught.value)


def test_words_that_begin_with_a_dash():
    assert read("paint", "x", "--coats", "-2")[1].coats == -2
    assert read("paint", "x", "--gloss", "-1e-3")[1].gloss == -0.001
    assert read("paint", "--dry-run", "--", "--x")[1] == Paint(wall="--x", dry_run=True)
    assert read("paint", "-")[1].wall == "-"
    assert read("paint", "--base_coat=-a_b=c", "x")[1].base_coat == "-a_b=c"
    assert read("paint", "--base-coat=", "x")[1].base_coat == ""


def test_the_last_of_two_counts_and_a_switch_can_be_turned_off():
    words = ["--coats", "2", "--coats=3", "--dry-run", "--no-dry-run"]
    assert read("paint", "x", *words)[1] == Paint(wall="x", coats=3)


def test_a_default_instance_may_leave_out_what_must_be_given():
    commands = {"paint": lambda argv: (Paint, Paint(wall=tyro.MISSING, coats=4))}
    assert parse("tool", "", commands, ["paint", "x"]).command == Paint(wall="x", coats=4)
    with pytest.raises(UsageError, match="WALL is missing"):
        parse("tool", "", commands, ["paint"])


def test_errors_of_the_function_name_flags():
    def choose(argv):
        """Paint."""
        if argv:
            raise UsageError("`base_coat` needs `colour='red'`, not `tool`.")
        return Paint, None

    with pytest.raises(UsageError) as caught:
        parse("tool", "", {"paint": choose}, ["paint", "x"])
    assert str(caught.value) == "--base-coat needs --colour red, not tool."


def test_parse_known_needs_what_must_be_given():
    with pytest.raises(UsageError, match="WALL is missing: which wall"):
        parse_known(Paint, ["--x"])


def test_a_warning_of_a_dataclass_is_not_lost(capsys):
    @dataclass(frozen=True, kw_only=True)
    class Loud:
        """Speak."""

        def __post_init__(self):
            print("careful", file=sys.stderr)

    parse("tool", "", {"loud": Loud}, ["loud"])
    assert "careful" in capsys.readouterr().err


def test_what_only_tyro_refuses_is_a_sentence_too(monkeypatch, capsys):
    """Words are checked before tyro sees them; should a check be missing, there is no box."""
    monkeypatch.setattr("nearsym.cli.words.checked", lambda option, values: values)
    with pytest.raises(UsageError) as caught:
        read("paint", "x", "--coats", "two")
    assert "invalid literal for int() with base 10: 'two'" in str(caught.value)
    monkeypatch.setattr("nearsym.cli.parse.missing_option", lambda found, options: None)
    with pytest.raises(UsageError) as caught:
        read("paint")
    assert "wall" in str(caught.value).lower()
    assert not set("╭│─\n") & set(str(caught.value))
    assert capsys.readouterr() == ("", "")


def test_the_error_that_a_dataclass_raised_counts_not_what_led_to_it():
    @dataclass(frozen=True, kw_only=True)
    class Strict:
        """Check."""

        month: str = "1"

        def __post_init__(self):
            try:
                int(self.month)
            except ValueError as error:
                raise UsageError("`month` is a number.") from error

    with pytest.raises(UsageError) as caught:
        parse("tool", "", {"strict": Strict}, ["strict", "--month", "May"])
    assert str(caught.value) == "--month is a number."


def test_programming_errors_in_a_dataclass_keep_their_traceback():
    @dataclass(frozen=True, kw_only=True)
    class Broken:
        """Fail."""

        def __post_init__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        parse("tool", "", {"broken": Broken}, ["broken"])


@pytest.mark.parametrize(
    ("words", "colours"),
    [
        (["tin", "1"], (1,)),
        (["tin", "1", "--well", "2", "3"], (1, 2, 3)),
        (["tin", "--", "-4"], (-4,)),
    ],
)
def test_the_last_argument_may_take_several_words(words, colours):
    found = parse("tool", "A tool.", {"mix": Mix}, ["mix", *words]).command
    assert found == Mix(pot="tin", colours=colours, well="--well" in words)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["tin"], "COLOURS is missing: one or more."),
        ([], "POT is missing: where."),
        (["tin", "1", "blue"], "COLOURS needs a whole number, got 'blue'."),
    ],
)
def test_several_words_are_checked_one_by_one(words, text):
    with pytest.raises(UsageError, match=text):
        parse("tool", "A tool.", {"mix": Mix}, ["mix", *words])


def test_the_help_of_several_words(capsys):
    with pytest.raises(SystemExit):
        parse("tool", "A tool.", {"mix": Mix}, ["mix", "--help"])
    assert "usage: tool mix [OPTIONS] POT COLOURS [COLOURS ...]" in capsys.readouterr().out
