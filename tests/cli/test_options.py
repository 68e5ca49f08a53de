"""What is known about the fields of a dataclass as options."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
import tyro

from nearsym.cli.options import Positional, flags_of, groups_of, options_of


@dataclass(frozen=True, kw_only=True)
class Small:
    """Small things."""

    tiny_part: int = 1
    """a part"""
    on: bool = True


@dataclass(frozen=True, kw_only=True)
class Large:
    """Large things."""

    what: Positional[str]
    where: Path = Path()
    size: Literal["s", "l"] | None = None
    range: tuple[int, float] = (1, 2.0)
    small: Small = field(default_factory=Small)
    computed: int = field(default=3, init=False)


def test_flags_in_the_order_of_the_fields():
    options = options_of(Large)
    flags = ["WHAT", "--where", "--size", "--range", "--small.tiny-part", "--small.on"]
    assert [option.flag for option in options.values()] == flags
    assert set(flags_of(options)) == {*flags[1:], "--small.no-on"}
    assert options["size"].choices == ("s", "l")
    assert options["range"].kinds == (int, float)
    assert [o.metavar for o in options.values()] == ["TEXT", "PATH", "s|l", "N X", "N", ""]
    assert options["small.tiny_part"].help == "a part"
    assert groups_of(Large) == {"small": Small}


def test_an_instance_gives_the_defaults():
    given = Large(what=tyro.MISSING, small=Small(tiny_part=7))
    options = options_of(Large, given)
    assert options["small.tiny_part"].default == 7
    assert options["what"].default is options_of(Large)["what"].default


def test_what_cannot_be_an_option_is_named():
    @dataclass
    class Odd:
        names: dict[str, int] = field(default_factory=dict)

    @dataclass
    class Unsure:
        either: int | str = 3

    @dataclass
    class Many:
        words: tuple[str, ...] = ()  # only an argument without dashes ends where an option begins

    @dataclass
    class Undecided:
        part: Small | Large

    for odd, name in ((Odd, "Odd.names"), (Unsure, "Unsure.either"), (Many, "Many.words")):
        with pytest.raises(TypeError, match=f"{name}: .* cannot be an option"):
            options_of(odd)
    with pytest.raises(TypeError, match="needs a default"):
        options_of(Undecided)
