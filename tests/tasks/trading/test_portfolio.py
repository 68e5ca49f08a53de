"""Figures of a portfolio by hand, the baselines against their definitions, the table."""

import numpy as np
import pytest
from scipy.optimize import minimize

from nearsym.errors import UsageError
from nearsym.tasks.trading.baselines import (
    baseline_tracks,
    hold,
    index_track,
    inverse_volatility,
    maximum_sharpe,
    minimum_variance,
    training_returns,
)
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.portfolio import (
    Track,
    markdown_table,
    metrics,
    summary_row,
)
from nearsym.tasks.trading.prices import PriceTable, load_prices
from nearsym.tasks.trading.resample import random_walk_prices
from nearsym.tasks.trading.split import PAPER_SPLIT, Split

SPLIT = Split.parse("2003-01-01,2003-06-01")


@pytest.fixture(scope="module")
def table():
    return random_walk_prices(stocks=5, days=800, seed=3)


def track(values, costs=(), turnover=()):
    n = len(values)
    fill = lambda given: np.array([*given, *[0.0] * (n - len(given))])  # noqa: E731
    return Track("hand", ("2001-01-02",) * n, np.array(values), fill(costs), fill(turnover))


def test_figures_by_hand():
    found = metrics(track([100.0, 110.0, 99.0, 108.9], costs=[0, 1, 2], turnover=[0, 0.5, 0.25]))
    returns = np.array([0.1, -0.1, 0.1])
    annual = 1.089 ** (252 / 3) - 1
    volatility = np.sqrt(252) * np.sqrt(((returns - returns.mean()) ** 2).sum() / 2)
    assert found.final_value == 108.9
    assert found.annual_return == pytest.approx(annual)
    assert found.sharpe_mean_over_std == pytest.approx(252 * returns.mean() / volatility)
    assert found.sharpe_return_over_volatility == pytest.approx(annual / volatility)
    assert found.max_drawdown == pytest.approx(0.1)
    assert found.turnover == pytest.approx(0.75 * 252 / 3)
    assert found.costs == 3


def test_the_annual_return_has_the_papers_convention():
    """876 daily returns from 1.000 to 1.412 mm are the 10.4 % of the paper's uniform holding."""
    value = np.geomspace(1.0, 1.412, 877)
    assert metrics(track(value)).annual_return == pytest.approx(0.104, abs=5e-4)
    assert metrics(track(np.geomspace(1.0, 1.293, 877))).annual_return == pytest.approx(0.077, 5e-3)


def test_money_that_never_moves_has_no_sharpe_ratio_and_no_drawdown():
    found = metrics(track([5.0, 5.0, 5.0]))
    assert found.sharpe_mean_over_std == found.sharpe_return_over_volatility == 0
    assert found.max_drawdown == found.annual_return == 0


def test_too_short_a_record_is_refused():
    with pytest.raises(UsageError, match="at least 2 daily returns, got 1"):
        metrics(track([1.0, 2.0]))


def test_rows_become_a_table():
    runs = [metrics(track([1e6, 1.1e6, final])) for final in (1.2e6, 1.3e6)]
    row = summary_row("approx T", runs)
    assert row["runs"] == 2
    assert row["final_value"]["mean"] == pytest.approx(1.25e6)
    assert len(row["final_value"]["ci95"]) == 2
    text = markdown_table([row, summary_row("uniform", runs[:1])])
    assert "| approx T | 1.250 ± 0.635 |" in text
    assert "| uniform | 1.200 |" in text
    assert "Sharpe, mean/std" in text
    assert "Sharpe, return/volatility" in text
    assert summary_row("uniform", runs[:1])["costs"]["ci95"] is None


def test_holding_whole_shares_pays_the_fee_and_keeps_the_rest(table):
    days = slice(100, 200)
    prices = table.close[100]
    found = hold(table, days, np.full(5, 0.2), name="uniform", cash=10_000.0, cost=0.01)
    shares = np.floor(2_000 / (1.01 * prices))
    rest = 10_000 - 1.01 * (shares @ prices)
    assert 0 <= rest < 1.01 * prices.sum()
    assert found.value[0] == 10_000
    np.testing.assert_allclose(found.value[1:], rest + table.close[101:200] @ shares)
    assert found.costs.sum() == pytest.approx(0.01 * (shares @ prices))
    assert found.turnover.sum() == pytest.approx(shares @ prices / 10_000)


def test_holding_fractions_for_nothing_is_the_mean_of_the_growths(table):
    days = slice(100, 200)
    found = hold(table, days, np.full(5, 0.2), name="free", cost=0.0, whole_shares=False)
    growth = table.close[199] / table.close[100]
    assert found.value[-1] == pytest.approx(1e6 * growth.mean())


def test_holding_can_start_at_the_next_open(table):
    found = hold(table, slice(0, 9), np.eye(5)[0], name="one", cost=0.0, fill="next_open")
    shares = np.floor(1e6 / table.open[1, 0])
    assert found.value[1] == pytest.approx(1e6 + shares * (table.close[1, 0] - table.open[1, 0]))


def test_weights_must_be_a_portfolio(table):
    with pytest.raises(UsageError, match=r"needs as many weights ≥ 0 with sum ≤ 1"):
        hold(table, slice(0, 9), np.full(5, 0.3), name="too much")


def test_holding_obeys_the_accounts_of_the_environment(table):
    """Bought by the environment within its limits, a holding has the same daily values."""
    env = TradingEnv(table, SPLIT, "test", max_shares=5_000)
    _, info = env.reset(seed=0)
    shares = np.floor(2e5 / (1.001 * table.close[env.days.start]))
    infos, action, done = [info], shares / 5_000, False
    while not done:
        *_, done, info = env.step(action)
        infos.append(info)
        action = np.zeros(5)
    own = Track.from_infos("env", infos)
    expected = hold(table, env.days, np.full(5, 0.2), name="uniform")
    np.testing.assert_allclose(own.value, expected.value, rtol=1e-12)
    np.testing.assert_allclose(own.costs, expected.costs, rtol=1e-12)
    np.testing.assert_allclose(own.turnover, expected.turnover, rtol=1e-12)
    assert own.dates == expected.dates


def test_fitted_weights_solve_their_problems(table):
    returns = training_returns(table, SPLIT) + np.linspace(0, 1e-3, 5)
    mean, covariance = returns.mean(axis=0), np.cov(returns.T)
    inverse = 1 / returns.std(axis=0, ddof=1)
    np.testing.assert_allclose(inverse_volatility(returns), inverse / inverse.sum(), rtol=1e-6)

    def best(loss):
        options = {"bounds": [(0, 1)] * 5, "tol": 1e-14}
        budget = {"type": "eq", "fun": lambda w: w.sum() - 1}
        return minimize(loss, np.full(5, 0.2), constraints=budget, **options).x

    variance = best(lambda w: 1e4 * (w @ covariance @ w))
    np.testing.assert_allclose(minimum_variance(returns), variance, atol=2e-3)
    sharpe = best(lambda w: -(w @ mean) / np.sqrt(w @ covariance @ w))
    np.testing.assert_allclose(maximum_sharpe(returns), sharpe, atol=5e-3)


def test_weights_come_from_the_training_period_alone(table):
    last = SPLIT.days(table, "train").stop
    close = table.close.copy()
    close[last:] *= np.linspace(0.5, 2.0, len(close) - last)[:, None] ** np.arange(1, 6)
    changed = PriceTable(table.dates, table.tickers, close)
    np.testing.assert_array_equal(training_returns(table, SPLIT), training_returns(changed, SPLIT))


def test_the_equal_weight_index_stands_in_for_a_missing_index(table):
    found = index_track(table, slice(0, 30))
    returns = table.close[1:30] / table.close[:29] - 1
    assert found.name == "equal-weight index"
    assert found.value[-1] == pytest.approx(1e6 * np.prod(1 + returns.mean(axis=1)))


def test_no_gain_in_training_leaves_out_maximum_sharpe(table):
    falling = table.close * np.exp(-0.01 * np.arange(len(table.dates)))[:, None]
    sad = PriceTable(table.dates, table.tickers, falling)
    names = [t.name for t in baseline_tracks(sad, SPLIT, SPLIT.days(sad, "test"))]
    assert names == ["uniform", "inverse volatility", "minimum variance", "equal-weight index"]


def test_baselines_on_the_embedded_test_period():
    table = load_prices()
    tracks = baseline_tracks(table, PAPER_SPLIT, PAPER_SPLIT.days(table, "test"))
    found = {t.name: metrics(t) for t in tracks}
    assert list(found) == [
        "uniform",
        "inverse volatility",
        "minimum variance",
        "maximum Sharpe",
        "index ^GSPC",
    ]
    first, last = table.close[PAPER_SPLIT.days(table, "test")][[0, -1]]
    free = 1e6 * (last / first).mean()
    assert found["uniform"].final_value == pytest.approx(free, rel=3e-3)
    assert found["uniform"].final_value < free  # the fee was paid
    level = table.index[PAPER_SPLIT.days(table, "test")]
    assert found["index ^GSPC"].final_value == pytest.approx(1e6 * level[-1] / level[0])
    assert all(0 < f.costs <= 1_000 for name, f in found.items() if "index" not in name)
