"""Planted markets: the signal is there, only where it was planted, and the oracle knows it."""

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.oracle import oracle_track, oracle_weights
from nearsym.tasks.trading.planted import (
    DEVIATION,
    SPLIT,
    parse_planted,
    planted_market,
)
from nearsym.tasks.trading.prices import load_prices
from nearsym.tasks.trading.split import Split
from nearsym.tasks.trading.task import TradingTask

SIGNALS = {"momentum": (0.3, 0.2, 0.1), "stretched": (3.0, 2.0, 1.0)}
FREE = {"cost": 0.0, "max_shares": 10**9, "orders": "weights", "features": "returns"}


def returns_of(market):
    return np.diff(np.log(market.table.close), axis=0)


def test_prices_come_by_name_like_any_others():
    table = load_prices("planted:momentum=0.3")
    assert len(table.tickers) == 5
    assert table.sha256 == parse_planted("planted:momentum=0.3").table.sha256
    assert table.sha256 != load_prices("planted:momentum=0.3,seed=1").sha256
    assert table.sha256 != load_prices("planted:momentum=0.2").sha256
    assert load_prices("planted:stretched=1").source == "planted:stretched=1"


@pytest.mark.parametrize("signal", SIGNALS)
def test_what_is_expected_is_what_happens_and_the_rest_is_noise(signal):
    market = planted_market(signal, SIGNALS[signal][0])
    rest = returns_of(market) - market.expected[:-1]
    if signal == "momentum":  # of a pattern the past does not tell everything
        assert rest.std() == pytest.approx(DEVIATION, rel=0.02)
    assert abs(rest.mean()) < 4 * DEVIATION / np.sqrt(rest.size)
    slope = (returns_of(market) * market.expected[:-1]).sum() / (market.expected[:-1] ** 2).sum()
    assert slope == pytest.approx(1.0, abs=0.05)
    lagged = np.corrcoef(rest[1:].ravel(), rest[:-1].ravel())[0, 1]
    assert abs(lagged) < 4 / np.sqrt(rest.size)


@pytest.mark.parametrize("signal", SIGNALS)
def test_without_strength_there_is_nothing(signal):
    market = planted_market(signal, 0.0)
    assert not market.expected.any()
    recent = returns_of(market)
    assert abs(np.corrcoef(recent[1:].ravel(), recent[:-1].ravel())[0, 1]) < 4 / np.sqrt(
        recent.size
    )


def test_momentum_is_known_from_the_window_that_an_agent_sees():
    """The last five returns say all of it."""
    market = planted_market("momentum", 0.3)
    recent = returns_of(market) + DEVIATION**2 / 2
    five = sum(recent[4 - j : len(recent) - j] for j in range(5))
    np.testing.assert_allclose(market.expected[5:-1], 0.3 / np.sqrt(5) * five[:-1], atol=1e-12)


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_oracle_earns_more_the_stronger_the_signal(signal):
    grown = []
    for strength in (*SIGNALS[signal], 0.0):
        task = TradingTask(data=f"planted:{signal}={strength:g}", **FREE, split=SPLIT)
        track = oracle_track(task.make("validation"))
        grown.append(np.log(track.value[-1] / track.value[0]))
    assert grown == sorted(grown, reverse=True)
    assert grown[0] > 1
    assert grown[-1] == 0


def test_the_oracle_is_worth_what_its_rule_is_worth_by_hand():
    """Without costs and with fractional shares: Σ log(1 + Σ w·(p'/p − 1))."""
    market = planted_market("momentum", 0.3)
    env = TradingEnv(market.table, Split.parse(SPLIT), "validation", **FREE, cash=1e8)
    days = slice(env.days.start, env.days.stop - 1)
    moves = market.table.close[1:] / market.table.close[:-1] - 1
    growth = np.log1p((oracle_weights(market.expected[days]) * moves[days]).sum(axis=1)).sum()
    track = oracle_track(env)
    assert np.log(track.value[-1] / 1e8) == pytest.approx(growth, rel=1e-3)


def test_the_oracle_stands_among_the_baselines_of_planted_markets_only():
    task = TradingTask(data="planted:momentum=0.3", split=SPLIT)
    assert task.variant == "momentum=0.3"
    assert TradingTask().variant is None
    cut = TradingTask(data="planted:momentum=0.3", tickers="P3,P1", start="2018-01-01", split=SPLIT)
    assert np.isfinite(oracle_track(cut.make("test")).value).all()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("planted:momentm=0.1", "Unknown planted signal 'momentm'. Did you mean 'momentum'"),
        ("planted:momentum=0.9", "strength of momentum lies between 0 and 0.4, got 0.9"),
        ("planted:momentum=nan", "lies between 0 and 0.4, got nan"),
        ("planted:momentum", "is named like 'planted:momentum=0.3'"),
        ("planted:momentum=0.1,seed=x", "is named like"),
    ],
)
def test_markets_that_do_not_exist(name, text):
    with pytest.raises(UsageError, match=text):
        load_prices(name)
