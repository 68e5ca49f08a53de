"""FinRL's accounting against recorded numbers.

`finrl.json` was recorded with the statements of FinRL's StockTradingEnv (commit 00f3596, without
its turbulence threshold) on random walks and random actions; in three of the four cases cash runs
out. FinRL 0.3.7's own class, run beside this one on these cases and on twenty others, gives the
same shares, and values to 4e-16.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.ledger import fill_greedily, fill_orders
from nearsym.tasks.trading.resample import random_walk_prices
from nearsym.tasks.trading.split import Split

CASES = json.loads((Path(__file__).parent / "finrl.json").read_text())


def played(case, accounting):
    """Values, cash, shares and fees so far of the recorded actions."""
    table = random_walk_prices(stocks=case["stocks"], days=220, seed=case["seed"])
    split = Split.parse(f"{table.dates[110]},{table.dates[120]}")
    rules = {name: case[name] for name in ("max_shares", "cash", "cost")}
    env = TradingEnv(table, split, "test", accounting=accounting, indicators=(), **rules)
    env.reset(seed=0)
    rng = np.random.default_rng(case["seed"])
    infos = [env.step(action)[4] for action in rng.uniform(-1, 1, (79, case["stocks"]))]
    costs = np.cumsum([info["costs"] for info in infos])
    return (*([info[name] for info in infos] for name in ("value", "cash", "shares")), costs)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"cash {case['cash']:g}")
def test_every_day_equals_finrl(case):
    value, cash, shares, costs = played(case, "finrl")
    np.testing.assert_array_equal(shares, case["shares"])
    np.testing.assert_allclose(value, case["value"], rtol=1e-12, atol=0)
    scale = 1e-12 * case["cash"]
    np.testing.assert_allclose(cash, case["left"], rtol=0, atol=scale)
    np.testing.assert_allclose(costs, case["costs"], rtol=1e-12, atol=scale)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"cash {case['cash']:g}")
def test_the_fair_accounting_differs(case):
    _, _, shares, _ = played(case, "fair")
    assert (np.array(shares) != case["shares"]).any()


def test_while_cash_suffices_both_fill_alike():
    rng = np.random.default_rng(0)
    shares, prices = rng.integers(0, 50, 8).astype(float), rng.uniform(1, 300, 8)
    orders = rng.integers(-100, 101, 8).astype(float)
    fair, greedy = (
        fill(1e7, shares, orders, prices, 0.001) for fill in (fill_orders, fill_greedily)
    )
    np.testing.assert_array_equal(fair.shares, greedy.shares)
    assert greedy.cash == pytest.approx(fair.cash, rel=1e-14)
    assert greedy.costs == pytest.approx(fair.costs, rel=1e-14)


def test_the_largest_order_is_served_first():
    filled = fill_greedily(1_000.0, np.zeros(2), np.array([9.0, 10.0]), np.array([10.0, 60.0]), 0.0)
    assert filled.shares.tolist() == [9, 10]
    short = fill_greedily(630.0, np.zeros(2), np.array([9.0, 10.0]), np.array([10.0, 60.0]), 0.0)
    assert short.shares.tolist() == [3, 10]


def test_an_unknown_accounting():
    with pytest.raises(UsageError, match="Did you mean 'finrl'"):
        played(CASES[0], "finlr")
