"""What a line of results may hold: files of results come from anybody, and a report reads them."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from nearsym.errors import shown
from nearsym.studies.portfolio_check import check_portfolios

LARGEST = 1e100
"""Of any number of a result; squares and sums of such numbers are still finite."""
LONGEST = 1000
"""Characters of a name."""
DEEPEST = 50
"""Levels of lists and objects inside each other."""

Test = Callable[[Any], bool]


def is_text(value: Any) -> bool:
    r"""Whether it can be a name: not too long, and nothing in it steers what shows it.

    >>> is_text("my_robot:make"), is_text("\x1b[2J"), is_text("\u202efdp.exe"), is_text("x" * 2000)
    (True, False, False, False)
    """
    return isinstance(value, str) and len(value) <= LONGEST and value.isprintable()


def is_number(value: Any) -> bool:
    """Whether it is a finite real number.

    >>> is_number(3), is_number(True), is_number(float("nan")), is_number("3")
    (True, False, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def or_none(test: Test) -> Test:
    """The test, which None passes too."""
    return lambda value: value is None or test(value)


def list_of(test: Test) -> Test:
    """Whether something is a list of such things."""
    return lambda value: isinstance(value, list) and all(map(test, value))


def table_of(test: Test) -> Test:
    """Whether something is a dictionary of such things, by texts."""
    return lambda value: (
        isinstance(value, dict) and all(map(is_text, value)) and all(map(test, value.values()))
    )


def array_of(least: int, most: int) -> Test:
    """Whether something is lists of lists of numbers, as an array has them, so deep."""

    def test(value: Any) -> bool:
        try:
            found = np.asarray(value)
        except ValueError:  # lists of different lengths
            return False
        numeric = found.dtype.kind in "iuf" and bool(np.all(np.abs(found) <= LARGEST))
        return isinstance(value, list) and least <= found.ndim <= most and numeric

    return test


def is_shallow(value: Any) -> bool:
    """Whether lists and objects are not nested so deeply that who follows them gets lost."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [v for v in level if isinstance(v, list | dict)]
        if not inner:
            return True
        level = [v for some in inner for v in (some.values() if isinstance(some, dict) else some)]
    return False


def is_setting(value: Any) -> bool:
    """Whether every text in it can be a name, since runs are called by their settings."""
    if isinstance(value, dict):
        return all(map(is_text, value)) and all(map(is_setting, value.values()))
    if isinstance(value, list):
        return all(map(is_setting, value))
    return is_text(value) if isinstance(value, str) else True


def _are_settings(value: Any) -> bool:
    return is_shallow(value) and table_of(is_setting)(value)


def has_episodes(value: Any) -> bool:
    return list_of(is_number)(value) and len(value) > 0


def is_portfolio(value: Any) -> bool:
    """Whether it is a row of figures: a name, means, and how probable it is by chance."""
    others = ("name", "runs", "chance")
    return (
        isinstance(value, dict)
        and is_text(value.get("name"))
        and table_of(table_of(is_number))(value.get("chance", {}))
        and all(_is_figure(entry) for name, entry in value.items() if name not in others)
    )


def is_null(value: Any) -> bool:
    """Whether it is a kind of chance: its row, and the figures of every draw."""
    return (
        isinstance(value, dict)
        and is_portfolio(value.get("row"))
        and all(array_of(1, 2)(drawn) for name, drawn in value.items() if name != "row")
        and bool(value.get("final_value"))
    )


def _is_figure(value: Any) -> bool:
    """Whether it has a mean; that of a ratio may be none, where nothing varies."""
    mean = value.get("mean") if isinstance(value, dict) else None
    return is_number(mean) or (isinstance(mean, float) and math.isnan(mean))


TEXT = (is_text, f"a text of at most {LONGEST:,} characters that can be printed")
ENTRIES: dict[str, tuple[Test, str]] = {
    "key": TEXT,
    "task": TEXT,
    "variant": (or_none(is_text), f"{TEXT[1]}, or null"),
    "obs": (or_none(is_text), f"{TEXT[1]}, or null"),
    "agent": TEXT,
    "model": TEXT,
    "seed": (is_whole, "a whole number of at least 0"),
    "preset": TEXT,
    "settings": (_are_settings, "an object of names and plain values"),
    "frames": (list_of(is_whole), "a list of whole numbers"),
    "returns": (list_of(has_episodes), "a list with a list of numbers for each evaluation"),
    "relaxed": (table_of(array_of(3, 5)), "an object of numbers [evaluation][filter][element]"),
    "elements": (list_of(is_text), "a list of texts"),
    "parameters": (table_of(is_whole), "an object of whole numbers"),
    "seconds": (is_number, "a number"),
    "evaluations": (table_of(list_of(is_number)), "an object of lists of numbers"),
    "details": (table_of(is_shallow), f"an object of at most {DEEPEST} levels"),
    "versions": (table_of(is_text), "an object of texts"),
}
DETAILS: dict[str, tuple[Test, str]] = {
    "metrics": (list_of(is_portfolio), "a list of portfolios"),
    "random": (is_portfolio, "a portfolio"),
    "value": (array_of(2, 2), "numbers [episode][day]"),
    "costs": (array_of(2, 2), "numbers [episode][day]"),
    "turnover": (array_of(2, 2), "numbers [episode][day]"),
    "exposure": (array_of(2, 2), "numbers [episode][day]"),
    "weights": (array_of(2, 2), "numbers [day][ticker]"),
    "tickers": (list_of(is_text), "a list of texts"),
    "baselines": (table_of(array_of(1, 1)), "an object of numbers [day]"),
    "null": (table_of(is_null), "an object of kinds of chance"),
    "dates": (list_of(is_text), "a list of texts"),
    "excess": (array_of(1, 1), "numbers [day]"),
    "epsilon": (or_none(is_number), "a number"),
    "mean_error": (or_none(is_number), "a number"),
}
"""Those that tables and figures are made of; there may be others."""


def check_result(entries: dict[str, Any]) -> None:
    """Refuse a result with an entry of the wrong kind, by its name."""
    _check(entries, ENTRIES)
    _check(entries["details"], DETAILS)
    frames, returns = entries["frames"], entries["returns"]
    if len(frames) != len(returns):
        raise ValueError(f"it has {len(frames)} `frames` and {len(returns)} `returns`")
    if any(len(weights) != len(frames) for weights in entries["relaxed"].values()):
        raise ValueError("its `relaxed` weights are not those of its `frames`")
    if any(later <= earlier for earlier, later in pairwise(frames)) or frames == [0]:
        raise ValueError("its `frames` do not rise")
    _check_elements(entries["relaxed"] if frames else {}, len(entries["elements"]))
    check_portfolios(entries["details"])


def _check_elements(relaxed: dict[str, Any], elements: int) -> None:
    """A weight for each element, where there are elements, and at least one."""
    for layer, weights in relaxed.items():
        shape = np.shape(weights)
        if 0 in shape or (elements and shape[-1] != elements):
            raise ValueError(f"the weights of its layer {layer!r} are not of its `elements`")


def _check(entries: dict[str, Any], kinds: dict[str, tuple[Test, str]]) -> None:
    for name, (test, wanted) in kinds.items():
        if name in entries and not test(entries[name]):
            raise ValueError(f"`{name}` must be {wanted}, got {shown(entries[name])}")
