"""From an action in [−1, 1]^N to orders for whole shares.

| `orders` | what an action says |
|---|---|
| shares (the paper) | how much to buy and sell: a·max_shares of each ticker |
| weights | what to hold: (a + 1)/2 of the value in each ticker, scaled down to 1 in sum |

Either way an order is at most `max_shares`, so that weights are approached rather than reached.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ORDERS = ("shares", "weights")


class Position(NamedTuple):
    """What orders start from."""

    shares: np.ndarray
    prices: np.ndarray
    value: float
    cost: float


def share_orders(action: np.ndarray, position: Position, max_shares: int) -> np.ndarray:
    """a·max_shares, not yet whole."""
    return action * max_shares


def weight_orders(action: np.ndarray, position: Position, max_shares: int) -> np.ndarray:
    """The way from what is held to the wanted weights, not yet whole.

        w = b / max(1, Σ b),   b = (a + 1)/2,   order = w·V / ((1 + cost)·price) − shares

    >>> position = Position(np.zeros(2), np.array([10.0, 20.0]), 1000.0, 0.0)
    >>> weight_orders(np.array([0.0, -0.5]), position, max_shares=100)
    array([50. , 12.5])
    """
    wanted = 0.5 * (action + 1.0)
    wanted = wanted / max(1.0, float(wanted.sum()))
    target = wanted * position.value / ((1 + position.cost) * position.prices)
    return np.clip(target - position.shares, -max_shares, max_shares)


MAKERS: dict[str, Callable[[np.ndarray, Position, int], np.ndarray]] = {
    "shares": share_orders,
    "weights": weight_orders,
}
