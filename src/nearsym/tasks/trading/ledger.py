"""Filling orders: whole shares, sells before buys, cash never negative, a fee on both sides."""

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
