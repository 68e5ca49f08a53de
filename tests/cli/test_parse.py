"""From words to dataclasses: what is understood, and what is said of mistakes."""

import sys
from dataclasses import dataclass, field
from typing import Literal

import pytest

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


def test_the_last_of_two_counts_and_a_switch_can_be_turned_off():
    words = ["--coats", "2", "--coats=3", "--dry-run", "--no-dry-run"]
    assert read("paint", "x", *words)[1] == Paint(wall="x", coats=3)


@dataclass(frozen=True, kw_only=True)
class Brush:
    """What paints."""

    hair_length: int = 5
    """millimetres"""
    thickness: tuple[float, float] = (1e-6, 2.0)
    """at both ends"""
    handle: int | None = 50
    """centimetres, or none"""
    washable: bool = True
    """with water"""

    def __post_init__(self):
        if self.hair_length < 1:
            raise UsageError(f"`hair_length` must be at least 1, got {self.hair_length}.")


@dataclass(frozen=True, kw_only=True)
class Roller:
    """What rolls."""

    width: int = 20
    """centimetres"""


@dataclass(frozen=True, kw_only=True)
class Decorate:
    """Decorate a room."""

    room: Positional[str | None] = None
    """which room"""
    style: Literal["plain", "wild"] = "plain"
    """manner"""
    brush: Brush = field(default_factory=Brush)
    tool: Brush | Roller = field(default_factory=Roller)


@dataclass(frozen=True, kw_only=True)
class First:
    """The words that decide about the others."""

    room: Positional[str | None] = None
    style: Literal["plain", "wild"] = "plain"


def decorate(argv):
    """Decorate a room, with what its style needs."""
    first, _ = parse_known(First, argv, others=[Decorate])
    if first.style == "wild":
        return Decorate, Decorate(tool=Brush(hair_length=9), brush=Brush(hair_length=70))
    return Decorate, None


def decorated(*argv):
    return parse("tool", "A tool.", {"decorate": decorate}, ["decorate", *argv]).command


def test_dotted_names_reach_nested_dataclasses():
    found = decorated(
        *("--brush.hair-length", "7", "hall", "--brush.thickness", "-1", "2e3"),
        *("--brush.handle", "none", "--brush.no-washable", "--tool.width=3"),
    )
    brush = Brush(hair_length=7, thickness=(-1.0, 2000.0), handle=None, washable=False)
    assert found == Decorate(room="hall", brush=brush, tool=Roller(width=3))
    assert decorated("--brush.hair_length", "8").brush.hair_length == 8
    assert decorated("--brush.hair_length=8").brush.hair_length == 8


def test_a_function_decides_which_options_there_are_and_their_defaults():
    wild = decorated("--tool.handle", "4", "hall", "--style", "wild")
    assert wild.brush == Brush(hair_length=70)
    assert wild.tool == Brush(hair_length=9, handle=4)
    assert (wild.room, wild.style) == ("hall", "wild")
    with pytest.raises(UsageError, match=r"Unknown option of decorate '--tool\.handle'"):
        decorated("--tool.handle", "4", "hall")


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["--brush.hair-length", "0"], "--brush.hair-length must be at least 1, got 0."),
        (["--brush.thickness", "1"], "--brush.thickness needs 2 values, got 1."),
        (["--brush.thickness", "1", "b"], "--brush.thickness needs a number, got 'b'."),
        (["--tool.width", "wide"], "--tool.width needs a whole number, got 'wide'."),
        (["--tool.width", "None"], "--tool.width needs a whole number, got 'None'."),
    ],
)
def test_mistakes_in_nested_dataclasses(argv, text, capsys):
    with pytest.raises(UsageError) as caught:
        decorated("hall", *argv)
    assert str(caught.value) == text
    assert capsys.readouterr() == ("", "")


def test_many_options_are_not_listed_and_a_short_name_finds_the_dotted_one():
    @dataclass(frozen=True, kw_only=True)
    class Many:
        """Much."""

        one: Brush = field(default_factory=Brush)
        two: Decorate = field(default_factory=Decorate)
        three: Brush = field(default_factory=Brush)

    def text(*argv):
        with pytest.raises(UsageError) as caught:
            parse("tool", "", {"many": Many}, ["many", *argv])
        return str(caught.value)

    expected = "Unknown option of many '--width'. Did you mean '--two.tool.width'?"
    assert text("--width", "3") == f"{expected} See tool many --help."
    assert "Did you mean '--one.hair-length'?" in text("--one.hair-lenght", "3")
    assert "Did you mean '--one.no-washable'?" in text("--one.no-washabl")


@pytest.mark.parametrize(
    "argv",
    [
        ["hall", "--brush.hair-length", "9", "--brush.no-washable"],
        ["--brush.hair-length", "9", "hall", "--brush.no-washable"],
        ["--brush.no-washable", "hall", "--brush.hair-length", "9"],
        ["--brush.thickness", "1", "2", "--brush.washable", "--style=plain", "hall"],
        ["--brush.hair_length=9", "hall"],
        ["--brush.no-washible", "hall"],  # mistyped: as many words as the nearest takes
        ["--unheard-of", "9", "hall"],
        ["--unheard-of", "--brush.hair-length", "9", "hall"],
    ],
    ids=" ".join,
)
def test_the_argument_is_found_among_options_that_belong_to_others(argv):
    first, rest = parse_known(First, argv, others=[Decorate])
    assert first == First(room="hall")
    assert rest == [word for word in argv if word not in ("hall", "--style=plain")]


def test_known_words_are_checked_and_the_rest_is_returned_in_its_order():
    words = ["a", "--x=1", "b", "--style", "wild", "c", "--y"]
    assert parse_known(First, words) == (
        First(room="a", style="wild"),
        ["--x=1", "b", "c", "--y"],
    )
    with pytest.raises(UsageError, match="Did you mean 'wild'"):
        parse_known(First, ["--style", "wilt"])
    assert parse_known(First, ["--x", "1"], First(room="c"))[0] == First(room="c")
    with pytest.raises(UsageError, match="WALL is missing: which wall"):
        parse_known(Paint, ["--x"])


def test_instances_say_too_how_many_words_an_option_takes():
    wild = Decorate(tool=Brush())
    found = parse_known(First, ["--tool.washable", "hall"], others=[Decorate, wild])
    assert found == (First(room="hall"), ["--tool.washable"])


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


def test_programming_errors_in_a_dataclass_keep_their_traceback():
    @dataclass(frozen=True, kw_only=True)
    class Broken:
        """Fail."""

        def __post_init__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        parse("tool", "", {"broken": Broken}, ["broken"])
