"""The trading task as a value: its options, and what an evaluation may choose anew."""

import numpy as np
import pytest

import nearsym
from nearsym.errors import UsageError
from nearsym.tasks.trading.baselines import baseline_tracks
from nearsym.tasks.trading.choice import MarketChoice
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.resample import random_walk_prices
from nearsym.tasks.trading.split import Split
from nearsym.tasks.trading.task import TradingTask


def test_every_option_reaches_the_environment():
    env = TradingTask(
        tickers=["KO", "AAPL"],
        start="1995-01-03",
        end="2022-01-01",
        cost=0.002,
        cash=5e5,
        max_shares=7,
    ).make("test")
    assert env.table.tickers == ("KO", "AAPL")
    assert (str(env.table.dates[0]), str(env.table.dates[-1])) == ("1995-01-03", "2021-12-31")
    assert (env.cost, env.initial_cash, env.max_shares) == (0.002, 5e5, 7)


@pytest.mark.parametrize(
    ("data", "variant"),
    [
        (None, None),
        ("embedded", None),
        ("planted:momentum=0.3", "momentum=0.3"),
        ("folder/dow.csv.gz", "dow"),
        ("my prices.parquet", "my_prices"),
        ("BRK.A.csv", "BRK.A"),
        ("momentum=0.3.csv", "momentum_0.3"),
        ("original.csv", "original.csv"),
        (f"{'0af3' * 16}.parquet", "0af30af3"),
    ],
)
def test_a_market_goes_by_the_name_of_its_file(data, variant):
    assert TradingTask(data=data).variant == variant


def test_tickers_in_words_are_those_of_a_list():
    assert TradingTask(tickers=["KO", "AAPL"]) == TradingTask(tickers="KO,AAPL")
    with pytest.raises(UsageError, match="Did you mean 'KO'"):
        TradingTask(tickers=" ko , AAPL").make()
    with pytest.raises(UsageError, match="at least one name"):
        TradingTask(tickers=",").make()


def test_an_evaluation_may_choose_its_days_within_a_part():
    trained = TradingTask()
    env = MarketChoice(part="validation", start="2019-06-01", end="2019-07-01").make(trained)
    days = env.table.dates[env.days]
    assert (str(days[0]), str(days[-1])) == ("2019-06-03", "2019-06-28")
    whole = trained.make("validation")
    np.testing.assert_array_equal(env._rows, whole._rows)  # normalised by the same training days
    far = MarketChoice(part="validation", start="2015-01-01").make(trained)
    assert far.days == whole.days, "the part is the limit"
    with pytest.raises(UsageError, match="from 2030-01-01 to …, has 0 trading steps"):
        MarketChoice(start="2030-01-01").make(trained)


def test_an_evaluation_may_choose_other_rules_and_as_many_other_tickers():
    trained = TradingTask(tickers="KO,AAPL")
    env = MarketChoice(cost=0.0, cash=1e5, max_shares=3, tickers=["GE", "JPM"]).make(trained)
    assert (env.cost, env.initial_cash, env.max_shares) == (0.0, 1e5, 3)
    assert env.table.tickers == ("GE", "JPM")
    with pytest.raises(UsageError, match=r"trained on 2 tickers \(KO, AAPL\).*names 1"):
        MarketChoice(tickers="GE").make(trained)
    with pytest.raises(UsageError, match="Unknown part of the data to evaluate on 'train'"):
        MarketChoice(part="train")


def test_a_ticker_that_never_moved_in_training_does_not_stop_the_baselines():
    table = random_walk_prices(stocks=3, days=300, seed=0)
    close = table.close.copy()
    close[:200, 1] = 50.0
    close[200:, 1] = 50.0 + np.arange(100)
    stuck = PriceTable(table.dates, table.tickers, close)
    split = Split.parse("2001-07-02,2001-10-08")
    for tracks in (
        baseline_tracks(stuck, split, slice(200, 300)),
        baseline_tracks(
            PriceTable(table.dates, ("A",), np.full((300, 1), 5.0)), split, slice(200, 300)
        ),
    ):
        assert all(np.isfinite(track.value).all() for track in tracks)
        assert tracks[0].name == "uniform"
    names = [track.name for track in baseline_tracks(stuck, split, slice(200, 300))]
    assert "minimum variance" in names
    env = nearsym.make("trading", data=stuck, split=split)
    obs, _ = env.reset(seed=0)
    assert np.isfinite(obs).all()
