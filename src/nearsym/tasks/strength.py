"""Variants as people write them: NAME or NAME=STRENGTH, and zero is the original task."""

import math
from collections.abc import Mapping

from nearsym.errors import UsageError, shown, unknown_name

ORIGINAL = "original"
Strengths = Mapping[str, tuple[float, float, float]]
"""Lowest, highest and default strength by the name of a variant."""


def read_variant(text: str | None, task: str, strengths: Strengths) -> tuple[str, float]:
    """Name and strength; None is the original.

    >>> read_variant("wind", "craft", {"wind": (0.0, 1.0, 0.3)})
    ('wind', 0.3)
    """
    if not isinstance(text, str | None):
        raise UsageError(f"`variant` is a text, NAME or NAME=STRENGTH, got {shown(text)}.")
    name, equals, number = (ORIGINAL if text is None else text).partition("=")
    if name not in (ORIGINAL, *strengths):
        raise unknown_name(f"variant of {task}", name, (ORIGINAL, *strengths))
    if name == ORIGINAL:
        if equals:
            raise UsageError(f"The original task has no strength: write 'original', not {text!r}.")
        return ORIGINAL, 0.0
    return name, _strength(name, number, *strengths[name]) if equals else strengths[name][2]


def _strength(name: str, number: str, low: float, high: float, default: float) -> float:
    try:
        strength = float(number)
    except ValueError:
        strength = math.nan
    if low <= strength <= high:
        return strength
    hint = f"The nearest is {name}={min(max(strength, low), high):g}."
    if math.isnan(strength):
        hint = f"Write, for example, {name}={default:g}."
    raise UsageError(
        f"The strength of {name} is a number from {low:g} to {high:g}, got {number!r}. {hint}"
    )
