"""Observations, rewards, orders and starts beside the paper's."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.runs.configure import configure
from nearsym.runs.presets import preset_config
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.features import market_features, volatility
from nearsym.tasks.trading.orders import Position, weight_orders
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.resample import random_walk_prices
from nearsym.tasks.trading.rewards import market_returns
from nearsym.tasks.trading.split import Split
from nearsym.tasks.trading.task import TradingTask

SPLIT = Split.parse("2001-09-03,2001-12-03")
UNIT = st.floats(-1, 1, width=32)


@pytest.fixture(scope="module")
def table():
    return random_walk_prices(stocks=3, days=320, seed=1)


def trading(table, part="test", **options):
    return TradingEnv(table, SPLIT, part, **options)


def play(env, seed=0, steps=30):
    obs, info = env.reset(seed=seed)
    seen, rewards, infos = [obs], [], [info]
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        obs, reward, _, _, info = env.step(rng.uniform(-1, 1, env.action_space.shape))
        seen, rewards, infos = [*seen, obs], [*rewards, reward], [*infos, info]
    return np.array(seen), np.array(rewards), infos


def times(table, factor, **changes):
    close = {name: getattr(table, name) * factor for name in ("close", "open", "high", "low")}
    return PriceTable(table.dates, table.tickers, **close, **changes)


PAPER, STEADY = ("levels", "shares", "gain", "cash", None), ("returns", "weights", "excess")


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("paper", PAPER), ("smoke", PAPER), ("laptop", (*STEADY, "random", 250))],
)
def test_the_presets_have_the_papers_settings_or_those_that_do_not_drift(preset, expected):
    task = preset_config(preset, TradingTask(), "sac", "none").task
    found = task.features, task.orders, task.reward, task.start_portfolio, task.episode_days
    assert found == expected


def test_a_given_option_counts_more_than_the_preset():
    task = configure("trading", preset="laptop", features="levels", episode_days=9).task
    assert (task.features, task.orders, task.episode_days) == ("levels", "weights", 9)


def test_foresight_has_its_own_settings_in_every_preset():
    for preset in ("paper", "laptop"):
        task = preset_config(preset, TradingTask(foresight=True), "sac", "none").task
        assert (task.features, task.orders, task.episode_days) == ("levels", "shares", 5)


def test_returns_do_not_know_the_level_of_a_price(table):
    options = {"features": "returns", "max_shares": 1}
    seen = trading(table, **options).reset(seed=0)[0]
    np.testing.assert_allclose(
        seen, trading(times(table, 37.0), **options).reset(seed=0)[0], atol=1e-4
    )
    assert any("return/" in name for name in trading(table, **options).features)
    assert not any("price/" in name for name in trading(table, **options).features)


def test_returns_stay_in_range_where_levels_leave_it():
    """A market that grows by a tenth of a per cent a day, and twice as wildly after training."""
    rng = np.random.default_rng(0)
    steps = rng.normal(0.001, 0.01, (2000, 4))
    steps[1200:] *= 2
    dates = np.busday_offset("2001-01-01", np.arange(2000))
    table = PriceTable(dates, tuple("ABCD"), 50 * np.exp(np.cumsum(steps, axis=0)))
    split = Split.parse(f"{dates[1200]},{dates[1600]}")

    def beyond(kind, days):
        found = market_features(table, split, kind=kind)
        own = [i for i, name in enumerate(found.names) if name.split("/")[0] in ("price", "return")]
        return (np.abs(found.values[days][:, own]) > 2).mean()

    assert beyond("levels", slice(1600, 2000)) > 0.9
    assert beyond("returns", slice(1600, 2000)) < 0.1
    assert beyond("returns", slice(100, 1200)) < 0.1


def test_volatility_is_of_the_past_and_never_zero(table):
    found = volatility(table.close)
    close = table.close.copy()
    close[201:] *= np.linspace(1, 3, 119)[:, None]
    np.testing.assert_array_equal(found[:201], volatility(close)[:201])
    assert (volatility(close)[201:] != found[201:]).any()
    assert volatility(np.full((50, 1), 7.0)) == pytest.approx(1e-4)
    daily = np.random.default_rng(0).normal(0, 0.02, (3000, 1))
    assert volatility(np.exp(np.cumsum(daily, axis=0)))[100:].mean() == pytest.approx(
        0.02, rel=0.05
    )


@pytest.mark.parametrize("part", ["validation", "test"])
def test_no_observation_of_returns_moves_with_the_future(table, part):
    env = trading(table, part, features="returns", reward="excess", orders="weights")
    day = env.days.start + 10
    factor = np.where(np.arange(320) > day, 1.3, 1.0)[:, None]
    seen, rewards, _ = play(env, steps=12)
    other = TradingEnv(
        times(table, factor), SPLIT, part, features="returns", reward="excess", orders="weights"
    )
    again, changed, _ = play(other, steps=12)
    np.testing.assert_array_equal(seen[:11], again[:11])
    np.testing.assert_array_equal(rewards[:10], changed[:10])
    assert (seen[11] != again[11]).any()


def test_rewards_by_their_formulas(table):
    value = [info["value"] for info in play(trading(table))[2]]
    growth = 100 * np.diff(np.log(value))
    for kind, expected in (
        ("gain", 100 * np.diff(value) / 1e6),
        ("log_return", growth),
        ("excess", growth - 100 * market_returns(table)[trading(table).days][1:31]),
    ):
        rewards = play(trading(table, reward=kind))[1]
        np.testing.assert_allclose(rewards, expected, atol=1e-9)
        np.testing.assert_allclose(
            play(trading(table, reward=kind, reward_scale=3.0))[1], 3 * expected, atol=1e-9
        )


def test_whoever_stays_out_of_a_rising_market_has_an_excess_below_zero():
    dates = np.busday_offset("2001-01-01", np.arange(320))
    rising = PriceTable(dates, ("A", "B"), 10 * 1.01 ** np.arange(320)[:, None] * np.ones(2))
    env = TradingEnv(rising, SPLIT, "test", reward="excess", indicators=())
    env.reset(seed=0)
    assert env.step(np.zeros(2))[1] == pytest.approx(-100 * np.log(1.01))


@given(st.lists(UNIT, min_size=3, max_size=3), st.integers(0, 99))
def test_orders_lead_to_the_wanted_weights(action, seed):
    table = random_walk_prices(stocks=3, days=320, seed=seed)
    env = trading(table, orders="weights", max_shares=10**6, cost=0.0)
    env.reset(seed=seed)
    day = env.days.start
    shares = env.step(np.array(action))[4]["shares"]
    wanted = (np.array(action, dtype=np.float64) + 1) / 2
    wanted /= max(1.0, wanted.sum())
    price = table.close[day]
    assert (np.abs(shares * price / 1e6 - wanted) <= 1.5 * price / 1e6).all()
    sold = env.step(np.full(3, -1.0))[4]
    assert not sold["shares"].any()


def test_no_order_is_larger_than_allowed():
    position = Position(np.array([5.0, 900.0]), np.array([10.0, 10.0]), 1e5, 0.0)
    orders = weight_orders(np.array([1.0, -1.0]), position, 100)
    assert orders.tolist() == [100, -100]


def test_random_portfolios_start_with_the_cash_of_a_start(table):
    env = trading(table, "train", start_portfolio="random")
    infos = [env.reset(seed=seed)[1] for seed in range(30)]
    assert all(info["value"] == pytest.approx(1e6) for info in infos)
    exposure = [1 - info["cash"] / info["value"] for info in infos]
    assert min(exposure) < 0.3
    assert max(exposure) > 0.7
    again = env.reset(seed=3)[1]
    np.testing.assert_array_equal(again["shares"], infos[3]["shares"])


def test_only_training_starts_at_random():
    task = TradingTask(start_portfolio="random", episode_days=30)
    train, test = task.make("train"), task.make("test")
    assert (train.start_portfolio, train.random_start) == ("random", True)
    assert (test.start_portfolio, test.random_start, test.episode_days) == ("cash", False, None)


def test_every_setting_of_the_task_reaches_its_environment():
    changed = {"features": "returns", "orders": "weights", "reward": "excess"}
    env = TradingTask(**changed).make()
    assert env.spec.kwargs.items() >= changed.items()
    known = {field.name for field in fields(TradingTask)}
    assert known >= {*changed, "start_portfolio", "accounting"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"features": "level"}, "Unknown `features` 'level'. Did you mean 'levels'"),
        ({"orders": "weight"}, "Did you mean 'weights'"),
        ({"reward": "gains"}, "Did you mean 'gain'"),
        ({"start_portfolio": "rand"}, "Did you mean 'random'"),
    ],
)
def test_bad_words(table, options, text):
    with pytest.raises(UsageError, match=text):
        trading(table, **options)
