"""Indicators against their formulas written out slowly, and their blindness to the future."""

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.tasks.trading.indicators import INDICATORS, NEED_BARS, WARM_UP, choose, missing
from nearsym.tasks.trading.prices import PriceTable, load_prices
from nearsym.tasks.trading.resample import random_walk_prices

DAYS = 130


@pytest.fixture(scope="module")
def table():
    return random_walk_prices(stocks=3, days=DAYS, seed=4)


def weighted_past(values, alpha):
    """Σ (1−α)^age·x / Σ (1−α)^age over a series that ends today."""
    weights = (1 - alpha) ** np.arange(len(values))[::-1]
    return (weights * values).sum() / weights.sum()


def slowly(name, table, day, stock):
    """One indicator on one day by its definition, from the days up to it alone."""
    close = table.close[: day + 1, stock]
    high, low = table.high[: day + 1, stock], table.low[: day + 1, stock]
    if name == "macd":
        return weighted_past(close, 2 / 13) - weighted_past(close, 2 / 27)
    if name.startswith("boll"):
        sign = 1 if name == "boll_ub" else -1
        return close[-20:].mean() + sign * 2 * close[-20:].std(ddof=1)
    if name == "rsi_30":
        change = np.diff(close)
        up = weighted_past(np.maximum(change, 0), 1 / 30)
        down = weighted_past(np.maximum(-change, 0), 1 / 30)
        return 100 - 100 / (1 + up / down)
    if name == "cci_30":
        middle = ((high + low + close) / 3)[-30:]
        return (middle[-1] - middle.mean()) / (0.015 * np.abs(middle - middle.mean()).mean())
    if name == "dx_30":
        rise, fall = np.diff(high), -np.diff(low)
        ranges = np.maximum(high[1:], close[:-1]) - np.minimum(low[1:], close[:-1])
        true_range = weighted_past(ranges, 1 / 30)
        plus = weighted_past(np.where((rise > fall) & (rise > 0), rise, 0), 1 / 30) / true_range
        minus = weighted_past(np.where((fall > rise) & (fall > 0), fall, 0), 1 / 30) / true_range
        return 100 * abs(plus - minus) / (plus + minus)
    return close[-int(name.split("_")[1]) :].mean()


@pytest.mark.parametrize("name", INDICATORS)
def test_matches_its_definition(table, name):
    values = INDICATORS[name](table)
    assert values.shape == table.close.shape
    for day in (WARM_UP[name], 77, DAYS - 1):
        for stock in range(3):
            assert values[day, stock] == pytest.approx(slowly(name, table, day, stock), rel=1e-9)


@pytest.mark.parametrize("name", INDICATORS)
def test_exists_from_its_warm_up_on(table, name):
    values = INDICATORS[name](table)
    assert np.isnan(values[: WARM_UP[name]]).all()
    assert np.isfinite(values[WARM_UP[name] :]).all()


@pytest.mark.parametrize("name", INDICATORS)
def test_uses_only_the_past(table, name):
    day = 90
    fields = {key: getattr(table, key).copy() for key in ("close", "open", "high", "low")}
    for prices in fields.values():
        prices[day + 1 :] *= np.linspace(0.5, 3, DAYS - day - 1)[:, None]
    changed = PriceTable(table.dates, table.tickers, **fields)
    before, after = INDICATORS[name](table), INDICATORS[name](changed)
    np.testing.assert_array_equal(before[: day + 1], after[: day + 1])
    assert (before[day + 1 :] != after[day + 1 :]).any()


@pytest.mark.parametrize(("name", "value"), [("rsi_30", 50), ("cci_30", 0), ("dx_30", 0)])
def test_a_price_that_never_moves_has_a_neutral_value(name, value):
    flat = np.full((100, 1), 12.34)
    table = PriceTable(np.datetime64("2001-01-01") + np.arange(100), ("A",), flat, flat, flat, flat)
    assert INDICATORS[name](table)[-1, 0] == value


def test_closes_alone_leave_out_what_needs_high_and_low(table):
    closes = PriceTable(table.dates, table.tickers, table.close)
    assert missing(closes) == NEED_BARS
    assert missing(table) == ()
    assert choose(table) == tuple(INDICATORS)
    assert set(choose(closes)) == set(INDICATORS) - set(NEED_BARS)
    with pytest.raises(UsageError, match="dx_30 needs high and low prices"):
        choose(closes, ["macd", "dx_30"])


def test_unknown_indicator_names_the_nearest(table):
    with pytest.raises(UsageError, match="Did you mean 'macd'"):
        choose(table, ["mcd"])


def test_finite_on_the_embedded_data():
    table = load_prices()
    for name in choose(table):
        assert np.isfinite(INDICATORS[name](table)[WARM_UP[name] :]).all()
