"""Filling orders: whole shares, sells before buys, cash never negative, a fee on both sides.

Two ways of accounting differ where cash runs short: `fair` serves all buys alike, `finrl` is that
of FinRL's trading environment.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_ROUNDING = 1.0 - 1e-12  # keeps a scaled bill below the cash that pays it


class Fill(NamedTuple):
    """What became of the orders of one day."""

    cash: float
    shares: np.ndarray
    """Holdings afterwards: whole numbers in float64, exact up to 2⁵³ and quick to multiply."""
    traded: np.ndarray
    """Shares bought (positive) and sold (negative)."""
    volume: float
    """Money that changed hands: Σ |traded|·price."""
    costs: float
    """Fees: cost · volume."""


def fill_orders(
    cash: float, shares: np.ndarray, orders: np.ndarray, prices: np.ndarray, cost: float
) -> Fill:
    """Execute whole-share orders, none of them beyond what holdings and cash allow.

        sold   = min(orders⁻, shares)                      first: never short
        cash   ← cash + (1 − cost) Σ sold·price
        bought = ⌊f · orders⁺⌋,  f = min(1, cash / ((1 + cost) Σ orders⁺·price))
        cash   ← cash − (1 + cost) Σ bought·price ≥ 0

    with x⁺ = max(x, 0) and x⁻ = max(−x, 0).
    If the buys cost more than there is, all are scaled by the same f and rounded down: no ticker
    has priority, so permuting the tickers permutes the fill. The paper's cash equation would pay
    the fee to the seller; here both sides pay it.

    >>> shares, orders = np.array([5.0, 0.0]), np.array([-9.0, 3.0])
    >>> fill_orders(1000.0, shares, orders, np.array([10.0, 100.0]), cost=0.0)[:2]
    (750.0, array([0., 3.]))
    """
    traded = np.maximum(orders, -shares)
    bought = np.maximum(traded, 0.0)
    sold = bought - traded
    proceeds = float(np.dot(sold, prices))
    cash = cash + proceeds - cost * proceeds
    spent = float(np.dot(bought, prices))
    bill = spent + cost * spent
    if bill > cash:
        bought = np.floor(bought * (cash / bill * _ROUNDING))
        spent = float(np.dot(bought, prices))
        bill = spent + cost * spent
        traded = bought - sold
    volume = proceeds + spent
    return Fill(cash - bill, shares + traded, traded, volume, cost * volume)


def fill_greedily(
    cash: float, shares: np.ndarray, orders: np.ndarray, prices: np.ndarray, cost: float
) -> Fill:
    """As `fill_orders`, but the largest buy is served first, and each takes what cash is left.

        bought = min(order, ⌊cash / ((1 + cost)·price)⌋),   one ticker after the other

    Sums are taken in the order in which FinRL takes them, so that values agree to rounding; of
    equal orders the last ticker comes first, as there.

    >>> shares, orders = np.zeros(2), np.array([3.0, 9.0])
    >>> fill_greedily(1000.0, shares, orders, np.array([10.0, 100.0]), cost=0.0)[:2]
    (70.0, array([3., 9.]))
    """
    shares, before = shares.copy(), shares
    order = np.argsort(orders.astype(np.int64))
    for i in order[: np.count_nonzero(orders < 0)]:
        sold = min(-orders[i], shares[i])
        cash += prices[i] * sold * (1 - cost)
        shares[i] -= sold
    for i in order[::-1][: np.count_nonzero(orders > 0)]:
        # Rounding may leave cash a hair below 0: then nothing can be bought.
        bought = max(0.0, min(cash // (prices[i] * (1 + cost)), orders[i]))
        cash -= prices[i] * bought * (1 + cost)
        shares[i] += bought
    traded = shares - before
    volume = float(np.dot(np.abs(traded), prices))
    return Fill(float(cash), shares, traded, volume, cost * volume)


class Accounting(NamedTuple):
    """How an action becomes shares, and how they are paid."""

    whole: Callable[[np.ndarray], np.ndarray]
    """To whole shares."""
    fill: Callable[[float, np.ndarray, np.ndarray, np.ndarray, float], Fill]


ACCOUNTINGS = {
    "fair": Accounting(np.rint, fill_orders),
    "finrl": Accounting(np.trunc, fill_greedily),
}
"""FinRL cuts an order off to whole shares, `fair` rounds it."""
