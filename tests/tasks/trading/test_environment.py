"""The trading environment: accounts, causality, state, errors, checkers."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3.common.env_checker import check_env as check_env_sb3

import nearsym
from nearsym.errors import UsageError
from nearsym.tasks import registry  # noqa: F401 (registers the ids)
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.ledger import fill_orders
from nearsym.tasks.trading.make import make_trading
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.resample import random_walk_prices, shuffled_returns
from nearsym.tasks.trading.split import Split

SPLIT = Split.parse("2001-09-03,2001-12-03")


@pytest.fixture(scope="module")
def table():
    return random_walk_prices(stocks=4, days=320, seed=1)


def trading(table, part="test", **options):
    return TradingEnv(table, SPLIT, part, **options)


def play(env, actions):
    """Observations, rewards and infos of one episode, the reset's first."""
    obs, info = env.reset(seed=0)
    seen, rewards, infos = [obs], [], [info]
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(action)
        seen.append(obs)
        rewards.append(reward)
        infos.append(info)
        assert not terminated
        if truncated:
            break
    return np.array(seen), np.array(rewards), infos


def random_actions(env, steps, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, *env.action_space.shape))


@pytest.mark.parametrize("options", [{}, {"part": "test", "window": 3, "random_start": True}])
def test_both_checkers_pass_without_a_warning(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for env in (nearsym.make("trading", **options), gym.make("nearsym/trading-v0", **options)):
            check_env(env.unwrapped)
            check_env_sb3(env)


def test_embedded_default_is_the_papers_task_on_twenty_stocks():
    env = nearsym.make("trading")
    assert env.unwrapped.window == 9
    assert env.unwrapped.left_out == ("cci_30", "dx_30")
    assert env.action_space.shape == (20,)
    assert len(env.unwrapped.features) == 1 + 20 * (2 + 6)
    assert env.observation_space.shape == (9 * 161,)
    _, info = env.reset(seed=0)
    assert info["date"] == "2001-01-02"
    assert info["value"] == 1_000_000
    assert env.unwrapped.symmetry.kind == "T"


@given(st.data())
def test_value_change_is_price_moves_less_costs(data):
    seed = data.draw(st.integers(0, 2**16))
    table = random_walk_prices(stocks=3, days=200, seed=seed)
    fill = data.draw(st.sampled_from(["close", "next_open"]))
    cost = data.draw(st.sampled_from([0.0, 0.001, 0.2]))
    cash = data.draw(st.sampled_from([50.0, 3_000.0, 1e6]))
    max_shares = data.draw(st.sampled_from([1, 7, 100, 100_000]))
    env = TradingEnv(
        table,
        Split.parse("2001-08-01,2001-09-03"),
        "test",
        fill=fill,
        cost=cost,
        cash=cash,
        max_shares=max_shares,
    )
    unit = st.floats(-1, 1, width=32)
    actions = data.draw(st.lists(st.lists(unit, min_size=3, max_size=3), min_size=1, max_size=12))
    _, rewards, infos = play(env, actions)
    day = env.days.start
    for before, after, reward in zip(infos[:-1], infos[1:], rewards, strict=True):
        old, new = before["shares"], after["shares"]
        today, tomorrow = table.close[day], table.close[day + 1]
        price = today if fill == "close" else table.open[day + 1]
        moves = old @ (price - today) + new @ (tomorrow - price)
        fee = cost * (np.abs(new - old) @ price)
        change = after["value"] - before["value"]
        rounding = 1e-12 * (cash + before["value"] + after["value"])
        assert abs(change - (moves - fee)) <= rounding
        assert abs(after["costs"] - fee) <= rounding
        assert reward == pytest.approx(100 * change / cash, abs=1e-9)
        assert after["value"] == pytest.approx(after["cash"] + new @ tomorrow)
        assert after["cash"] >= 0
        assert (new >= 0).all()
        assert new.dtype == np.int64
        assert (np.abs(new - old) <= max_shares).all()
        day += 1


def test_the_fee_is_paid_by_seller_and_buyer(table):
    env = trading(table, cost=0.01)
    _, _, infos = play(env, [[1, 0, 0, 0], [-1, 0, 0, 0]])
    first, second = table.close[env.days.start : env.days.start + 2, 0]
    assert infos[1]["cash"] == pytest.approx(1e6 - 100 * first * 1.01)
    assert infos[2]["cash"] == pytest.approx(infos[1]["cash"] + 100 * second * 0.99)
    assert infos[2]["costs"] == pytest.approx(100 * second * 0.01)


def test_sells_pay_for_buys_of_the_same_day():
    prices = np.array([10.0, 20.0])
    filled = fill_orders(0.0, np.array([10.0, 0.0]), np.array([-10.0, 5.0]), prices, cost=0.0)
    assert filled.shares.tolist() == [0, 5]
    assert filled.cash == 0


def test_no_short_selling():
    filled = fill_orders(5.0, np.array([3.0]), np.array([-100.0]), np.array([2.0]), cost=0.0)
    assert filled.shares.tolist() == [0]
    assert filled.cash == 11


@given(st.integers(0, 2**16))
def test_scarce_cash_favours_no_ticker(seed):
    rng = np.random.default_rng(seed)
    prices, shares = rng.uniform(1, 300, 6), rng.integers(0, 50, 6).astype(float)
    orders = rng.integers(-100, 101, 6).astype(float)
    order = rng.permutation(6)
    plain = fill_orders(5_000.0, shares, orders, prices, 0.001)
    moved = fill_orders(5_000.0, shares[order], orders[order], prices[order], 0.001)
    np.testing.assert_array_equal(plain.shares[order], moved.shares)
    assert plain.cash >= 0
    # Scaled alike: no buy is cut by more than one share beyond the common factor.
    wanted, got = np.maximum(orders, 0), np.maximum(plain.traded, 0)
    factors = got[wanted > 0] / wanted[wanted > 0]
    if len(factors) > 1:
        assert (factors.max() - factors.min()) <= 1 / wanted[wanted > 0].min()


def test_a_buy_beyond_the_cash_spends_nearly_all_of_it():
    prices = np.array([10.0, 30.0])
    filled = fill_orders(1_000.0, np.zeros(2), np.array([100.0, 100.0]), prices, cost=0.001)
    assert filled.traded.tolist() == [24, 24]
    assert 0 <= filled.cash < prices.sum() * 1.001


def test_next_open_fills_at_the_next_open(table):
    env = trading(table, fill="next_open")
    _, _, infos = play(env, [[1, 0, 0, 0]])
    assert infos[1]["cash"] == pytest.approx(1e6 - 100.1 * table.open[env.days.start + 1, 0])


def test_next_open_needs_opens():
    with pytest.raises(UsageError, match=r"fill='next_open' needs open prices"):
        make_trading(fill="next_open")


def test_window_is_time_major_and_shows_actual_past_holdings(table):
    env = trading(table, window=5)
    actions = random_actions(env, 30)
    seen, _, infos = play(env, actions)
    rows = seen.reshape(len(seen), 5, len(env.features))
    for t in range(4, len(rows)):  # each past day reads as it read when it was the last one
        for age in range(5):
            np.testing.assert_array_equal(rows[t, 4 - age], rows[t - age, 4])
    # Before the episode there is only the cash.
    assert rows[0, :, 0] == pytest.approx(np.log(2))
    assert (rows[0, :, 1:5] == 0).all()
    column = env.features.index("holdings/S02")
    day = env.days.start + 7
    worth = infos[7]["shares"][2] * table.close[day, 2]
    assert rows[7, 4, column] == pytest.approx(np.log1p(4 * worth / 1e6), rel=1e-5)


def test_last_step_truncates_on_the_last_day_of_the_part(table):
    env = trading(table, "validation")
    days = SPLIT.days(table, "validation")
    seen, rewards, infos = play(env, random_actions(env, 1000))
    assert len(rewards) == days.stop - days.start - 1
    assert infos[0]["date"] == str(table.dates[days.start])
    assert infos[-1]["date"] == str(table.dates[days.stop - 1])
    assert np.unique(rewards).size == len(rewards)  # in particular, the last is not repeated
    with pytest.raises(UsageError, match=r"Call reset\(\)"):
        env.step(np.zeros(4))
    assert env.observation_space.contains(seen[-1])


def test_rewards_add_up_to_the_gain_in_per_cent(table):
    env = trading(table)
    _, rewards, infos = play(env, random_actions(env, 1000))
    assert rewards.sum() == pytest.approx(100 * (infos[-1]["value"] / 1e6 - 1), abs=1e-9)


def changed_after(table, day, factor=1.7):
    """The same table with every price after a day multiplied."""
    fields = {}
    for name in ("close", "open", "high", "low"):
        fields[name] = getattr(table, name).copy()
        fields[name][day + 1 :] *= factor
    return PriceTable(table.dates, table.tickers, **fields)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_no_observation_moves_with_the_future(table, part):
    env = trading(table, part)
    actions = random_actions(env, 20)
    day = env.days.start + 10
    seen, rewards, _ = play(env, actions)
    again, other_rewards, _ = play(trading(changed_after(table, day), part), actions)
    np.testing.assert_array_equal(seen[:11], again[:11])
    np.testing.assert_array_equal(rewards[:10], other_rewards[:10])
    assert (seen[11] != again[11]).any()  # the change is there, a day later


def test_nothing_after_training_reaches_a_training_observation(table):
    env = trading(table, "train")
    actions = random_actions(env, 1000)
    other = trading(changed_after(table, env.days.stop - 1), "train")
    np.testing.assert_array_equal(play(env, actions)[0], play(other, actions)[0])


def test_market_features_have_mean_0_and_deviation_1_in_training(table):
    env = trading(table, "train", window=1)
    seen, _, _ = play(env, np.zeros((1000, 4)))
    market = seen[:, 5:]
    np.testing.assert_allclose(market.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(market.std(axis=0), 1, atol=1e-4)


def test_foresight_shows_tomorrow_and_nothing_else_does(table):
    env = trading(table, foresight=True, window=1)
    seen, _, _ = play(env, np.zeros((20, 4)))
    columns = [env.features.index(f"tomorrow/{name}") for name in table.tickers]
    assert not any("tomorrow" in name for name in trading(table).features)
    days = np.arange(env.days.start, env.days.start + len(seen))
    returns = table.close[days + 1] / table.close[days] - 1
    for column, real in zip(seen[:, columns].T, returns.T, strict=True):
        assert np.corrcoef(column, real)[0, 1] > 1 - 1e-6


def final_value(env, rule):
    obs, info = env.reset(seed=0)
    done = False
    while not done:
        obs, _, _, done, info = env.step(rule(obs))
    return info["value"]


def test_a_trader_with_foresight_leaves_holding_far_behind(table):
    env = trading(table, foresight=True, window=1, max_shares=2_000)
    columns = [env.features.index(f"tomorrow/{name}") for name in table.tickers]
    best_stock = (table.close[env.days][-1] / table.close[env.days][0]).max()
    assert final_value(env, lambda obs: np.sign(obs[columns])) > 1.1e6 * best_stock


def test_on_shuffled_returns_chasing_the_trend_gains_nothing_on_average(table):
    gains = []
    for seed in range(60):
        null = shuffled_returns(table, SPLIT, seed)
        env = trading(null, max_shares=2_000, cost=0.0, window=2, indicators=())
        prices = [env.features.index(f"price/{name}") for name in table.tickers]

        def chase(obs, prices=prices):
            yesterday, today = obs.reshape(2, -1)[:, prices]
            return np.sign(today - yesterday)

        gains.append(final_value(env, chase) / 1e6 - 1)
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert error > 0.001  # the trader did trade
    assert abs(np.mean(gains)) < 3 * error


@pytest.mark.parametrize("replacement", [True, False])
def test_shuffled_returns_have_no_mean_and_keep_the_past(table, replacement):
    days = SPLIT.days(table, "test")
    draws = [
        shuffled_returns(table, SPLIT, seed, replacement=replacement).close for seed in range(200)
    ]
    for close in draws:
        np.testing.assert_array_equal(close[: days.start + 1], table.close[: days.start + 1])
    moves = np.array([close[days.start + 1 :] / close[days.start : -1] - 1 for close in draws])
    real = table.close[days.start + 1 :] / table.close[days.start : -1] - 1
    error = real.std(axis=0) / np.sqrt(moves[:, :, 0].size)
    assert (np.abs(moves.mean(axis=(0, 1))) < 4 * error).all()
    if not replacement:
        np.testing.assert_allclose(
            np.sort(moves[0], axis=0), np.sort(real - real.mean(axis=0), axis=0), atol=1e-12
        )
    assert (draws[0] != draws[1]).any()
    np.testing.assert_array_equal(
        shuffled_returns(table, SPLIT, 3).close, shuffled_returns(table, SPLIT, 3).close
    )


def test_state_restores_bit_for_bit_also_in_another_environment(table):
    env = trading(table, random_start=True, episode_days=20)
    actions = random_actions(env, 20)
    env.reset(seed=5)
    for action in actions[:7]:
        env.step(action)
    state = {name: value.copy() for name, value in env.get_state().items()}
    rest = [env.step(action) for action in actions[7:]] + [env.reset()]
    twin = trading(table, random_start=True, episode_days=20)
    for other in (env, twin):
        other.set_state(state)
        again = [other.step(action) for action in actions[7:]] + [other.reset()]
        for a, b in zip(rest, again, strict=True):
            np.testing.assert_array_equal(a[0], b[0])
            assert a[-1]["value"] == b[-1]["value"]
            assert a[1:-1] == b[1:-1]
            assert a[-1]["date"] == b[-1]["date"]


def test_a_state_of_another_market_is_refused(table):
    env = trading(table)
    with pytest.raises(UsageError, match=r"Call reset\(\) first"):
        env.get_state()
    env.reset()
    state = env.get_state()
    with pytest.raises(
        UsageError, match=r"needs 'history' of shape \(5, 5\), got float32 \(9, 5\)"
    ):
        trading(table, window=5).set_state(state)
    with pytest.raises(UsageError, match=r"needs 'cash' of shape \(\), got nothing"):
        env.set_state({k: v for k, v in state.items() if k != "cash"})
    with pytest.raises(UsageError, match="does not fit a table of 320 days"):
        env.set_state({**state, "end": np.array(320)})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cash": np.array(np.nan)}, "'cash' that are finite and not negative, got nan"),
        ({"cash": np.array(-1.0)}, "'cash' that are finite and not negative"),
        ({"cash": np.array(1j)}, r"needs 'cash' of shape \(\), got complex128"),
        ({"cash": np.array("much")}, "needs 'cash'"),
        ({"shares": np.full(4, np.nan)}, r"needs 'shares' of shape \(4,\), got float64"),
        ({"shares": np.full(4, -3)}, "'shares' that are finite and not negative"),
        ({"history": np.full((9, 5), np.inf)}, "'history' that are finite"),
        ({"day": np.array(20.5)}, "needs 'day'"),
        ({"random": np.full(6, 2**60, np.uint64)}, "no random state"),
        ({"random": np.zeros(6)}, "needs 'random'"),
    ],
)
def test_a_bad_state_is_refused_and_changes_nothing(table, change, text):
    env = trading(table)
    env.reset(seed=0)
    env.step(np.full(4, 0.3))
    before, seen = env.get_state(), env.observe()
    with pytest.raises(UsageError, match=text):
        env.set_state({**before, **change})
    after = env.get_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert np.array_equal(env.observe(), seen)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ([0, np.nan, 0, 0], r"lie in \[−1, 1\], got nan for S01"),
        ([0, 0, 0, 1.5], r"got 1\.5 for S03"),
        ([0, 0, -np.inf, 0], r"got -inf for S02"),
        ([0, 0], r"needs shape \(4,\), one real number a ticker, got int64 \(2,\)"),
        ([0, 0, 0, 0.5j], r"one real number a ticker, got complex128 \(4,\)"),
        ([0, None, 0, 0], r"one real number a ticker, got object \(4,\)"),
        (["0", "0", "0", "0"], r"one real number a ticker, got <U1 \(4,\)"),
    ],
)
def test_a_bad_action_is_refused_and_changes_nothing(table, action, text):
    env = trading(table)
    env.reset(seed=0)
    env.step(np.ones(4))
    before = env.get_state()
    with pytest.raises(UsageError, match=text):
        env.step(np.array(action))
    for name, value in env.get_state().items():
        np.testing.assert_array_equal(value, before[name])


def test_random_starts_follow_the_seed(table):
    env = trading(table, "train", random_start=True, episode_days=10)
    starts = [env.reset(seed=seed)[1]["date"] for seed in (0, 1, 2, 0)]
    assert starts[0] == starts[3]
    assert len(set(starts)) > 1
    _, _, infos = play(env, np.zeros((50, 4)))
    assert len(infos) == 11


def test_the_default_start_is_the_first_day_of_the_part(table):
    env = trading(table)
    assert {env.reset(seed=seed)[1]["date"] for seed in range(3)} == {"2001-12-03"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"fill": "open"}, "Did you mean 'next_open'"),
        ({"symmetry": "TS"}, "Unknown symmetry of time 'TS'"),
        ({"cost": 1.0}, r"`cost` must be in \[0, 1\).*got 1"),
        ({"window": 0}, "`window` must be at least 1, got 0"),
        ({"cash": 0}, "`cash` must be positive, got 0"),
        ({"max_shares": 0}, "`max_shares` must be at least 1"),
        ({"max_shares": 10**20}, r"`max_shares` must be at most 1e\+09, got 1000"),
        ({"cash": np.inf}, r"`cash` must be at most 1e\+15, got inf"),
        ({"windw": 9}, "Unknown option of trading 'windw'. Did you mean 'window'"),
        ({"part": "testing"}, "Unknown part of the data 'testing'. Did you mean 'test'"),
        ({"episode_days": 5_000}, "an episode needs 5000"),
        ({"indicators": ["cci_30"]}, "cci_30 needs high and low"),
        ({"indicators": ["rsi"]}, "Did you mean 'rsi_30'"),
        ({"split": "2030-01-01,2031-01-01"}, "validation part .* has 0 days"),
    ],
)
def test_bad_options_say_what_to_do(options, text):
    part = {"part": "validation"} if "split" in options else {}
    with pytest.raises(UsageError, match=text):
        make_trading(**options, **part)
