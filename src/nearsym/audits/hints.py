"""What an audit may point out besides its verdict."""

import numpy as np

from nearsym.audits.coordinates import Coordinates
from nearsym.audits.pairs import Pairs

TURN = 2 * np.pi


def undeclared_angles(coordinates: Coordinates, pairs: Pairs) -> list[str]:
    """A note on coordinates that differ by whole turns between g·s' and the step from g·s."""
    gap = np.abs(pairs.moved - pairs.actual).reshape(-1, len(coordinates.names))
    whole = np.round(gap / TURN)
    turned = ((whole > 0) & (np.abs(gap - TURN * whole) < 1e-4 * whole)).any(axis=0)
    names = [coordinates.names[i] for i in np.flatnonzero(turned & ~coordinates.angle)]
    if not names:
        return []
    said = ", ".join(names)
    return [
        f"{said} came out whole turns (2π) apart: if these are angles, name them in `angles`, "
        "beside a method coordinates(state)."
    ]
