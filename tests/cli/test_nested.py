"""Dotted options of nested dataclasses, classes that are decided late, words left for others."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from nearsym.cli.options import Positional
from nearsym.cli.parse import parse, parse_known
from nearsym.errors import UsageError


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


def test_instances_say_too_how_many_words_an_option_takes():
    wild = Decorate(tool=Brush())
    found = parse_known(First, ["--tool.washable", "hall"], others=[Decorate, wild])
    assert found == (First(room="hall"), ["--tool.washable"])
