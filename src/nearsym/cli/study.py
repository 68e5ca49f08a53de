"""`nearsym study`."""

from collections.abc import Sequence
from typing import Any

from nearsym.cli import claims


def command(words: Sequence[str]) -> tuple[type, Any]:
    """Judge the paper's claims by results."""
    return claims.Claims, None


run, show = claims.run, claims.show
