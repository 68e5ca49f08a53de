"""The trading task: a window of market days, whole-share orders, and honest accounts.

A decision on day t sees data up to t's close. With `fill="close"` (the paper) it is filled at the
very close it sees; with `fill="next_open"` at the next day's open. Either way the step ends at the
close of day t + 1. What an action says (`orders.py`), what it is worth (`rewards.py`) and what is
seen of the market (`features.py`) can be chosen; the defaults are the paper's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from nearsym.errors import UsageError
from nearsym.groups.symmetry import TimeSymmetry
from nearsym.tasks.trading.features import CLIP, market_features
from nearsym.tasks.trading.indicators import choose, missing
from nearsym.tasks.trading.ledger import ACCOUNTINGS
from nearsym.tasks.trading.orders import MAKERS, Position
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.rewards import make_reward
from nearsym.tasks.trading.rules import check_options, check_state, check_words, usable_days
from nearsym.tasks.trading.split import Part, Split
from nearsym.training.random_state import pack_generator, unpack_generator


class TradingEnv(gym.Env[np.ndarray, np.ndarray]):
    """Buy and sell up to `max_shares` of each ticker a day.

    Observation: float32 vector of window × features, time-major, oldest day first:
    `obs.reshape(env.unwrapped.window, -1)`, columns named by `env.unwrapped.features`:

        cash            log(1 + c/u), u = c₀, or the value V with `features="returns"`
        holdings/TIC    log(1 + N·h·p/u): the position's worth in equal shares of u
        price/TIC …     market features, normalised by the training period

    Holdings and cash in the window are those of each past day, as they were before its trade; days
    before the episode show the starting cash. All features lie in [−10, 10].

    Action: [−1, 1]^N; by default times `max_shares`, in whole shares. `ledger.py` says what is
    filled, in one of two ways of `accounting`. The last day of the part truncates; nothing
    terminates. An episode starts in cash, or with `start_portfolio="random"` partly invested.

    `first_day` and `last_day` (the day after the last) limit the days of the part that are traded.

    `info` carries `value`, `cash`, `shares`, `costs` and `turnover` (traded money over value) of
    the step and the `date` that the observation ends on.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium declares it so)

    def __init__(
        self,
        table: PriceTable,
        split: Split,
        part: Part,
        *,
        window: int = 9,
        fill: Literal["close", "next_open"] = "close",
        symmetry: Literal["T", "ST"] = "T",
        cost: float = 0.001,
        max_shares: int = 100,
        cash: float = 1_000_000.0,
        indicators: Sequence[str] | None = None,
        random_start: bool = False,
        episode_days: int | None = None,
        reward_scale: float = 1.0,
        foresight: bool = False,
        first_day: str | None = None,
        last_day: str | None = None,
        accounting: Literal["fair", "finrl"] = "fair",
        features: Literal["levels", "returns"] = "levels",
        orders: Literal["shares", "weights"] = "shares",
        reward: Literal["gain", "log_return", "excess"] = "gain",
        start_portfolio: Literal["cash", "random"] = "cash",
    ):
        check_words(
            accounting=accounting,
            features=features,
            orders=orders,
            reward=reward,
            start_portfolio=start_portfolio,
        )
        check_options(table, window, fill, cost, max_shares, cash, reward_scale)
        self.table = table
        self.split = split
        self.part = part
        self.window = window
        self.fill = fill
        self.accounting = accounting
        self._whole, self._fill = ACCOUNTINGS[accounting]
        self.cost = cost
        self.max_shares = max_shares
        self.initial_cash = float(cash)
        self.indicators = choose(table, indicators)
        self.left_out = missing(table)
        """Indicators that the data does not allow."""
        self.random_start = random_start
        self.episode_days = episode_days
        self.reward_scale = reward_scale
        self.foresight = foresight
        self.start_portfolio = start_portfolio
        self.relative = features == "returns"
        """Whether cash and holdings are seen as shares of the present value."""
        self._wanted = MAKERS[orders]
        self._reward = make_reward(reward, table, self.initial_cash, reward_scale)

        market = market_features(
            table, split, indicators=indicators, foresight=foresight, kind=features
        )
        self._first, self._last = usable_days(
            table, split, part, market.first + window - 1, episode_days, (first_day, last_day)
        )
        self._iso_dates = [str(day) for day in table.dates]
        stocks = len(table.tickers)
        self.features = ("cash", *(f"holdings/{name}" for name in table.tickers), *market.names)
        """Names of the columns of a day, in order."""
        self.symmetry = TimeSymmetry(symmetry, window, len(self.features), stocks)
        size = window * len(self.features)
        self.observation_space = gym.spaces.Box(-CLIP, CLIP, (size,), dtype=np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (stocks,), dtype=np.float32)

        # One row a day: the portfolio's columns are written as the episode reaches the day, so
        # that an observation is one contiguous piece.
        self._rows = np.zeros((len(table.dates), len(self.features)), dtype=np.float32)
        self._rows[:, 1 + stocks :] = market.values
        self._day = self._end = -1  # no episode yet
        self._cash = self._value = self.initial_cash
        self._shares = np.zeros(stocks)  # whole numbers

    @property
    def days(self) -> slice:
        """The rows of the table that an episode over the whole part covers."""
        return slice(self._first, self._last + 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        days = self.episode_days
        start = self._first
        if self.random_start:
            latest = self._last - (1 if days is None else days)
            start = int(self.np_random.integers(self._first, latest + 1))
        self._day = start
        self._end = self._last if days is None else start + days
        self._cash = self.initial_cash
        self._shares = np.zeros_like(self._shares)
        if self.start_portfolio == "random":
            self._invest_at_random()
        self._settle()
        self._history()[:] = self._history()[-1]
        return self.observe(), self._info(0.0, 0.0)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        orders = self._orders(action)
        tomorrow = self._day + 1
        at_close = self.fill == "close"
        prices = self.table.close[self._day] if at_close else self.table.bar("open")[tomorrow]
        filled = self._fill(self._cash, self._shares, orders, prices, self.cost)
        before = self._value
        self._day, self._cash, self._shares = tomorrow, filled.cash, filled.shares
        self._settle()
        reward = self._reward(before, self._value, tomorrow)
        info = self._info(filled.costs, filled.volume / before)
        return self.observe(), reward, False, tomorrow == self._end, info

    def observe(self) -> np.ndarray:
        """The observation of the present state."""
        return self._rows[self._day - self.window + 1 : self._day + 1].flatten()

    def get_state(self) -> dict[str, np.ndarray]:
        """All that the continuation depends on, as plain arrays."""
        if self._day < 0:
            raise UsageError("There is no state before the first episode. Call reset() first.")
        return {
            "day": np.array(self._day),
            "end": np.array(self._end),
            "cash": np.array(self._cash),
            "shares": self._shares.astype(np.int64),
            "history": self._history().copy(),
            "random": pack_generator(self.np_random),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `get_state` gave: the continuation is bit-identical."""
        check_state(state, len(self._shares), self.window, len(self.table.dates))
        self._day, self._end = int(state["day"]), int(state["end"])
        self._cash = float(state["cash"])
        self._shares = np.array(state["shares"], dtype=np.float64)
        self._settle()
        self._history()[:] = state["history"]
        unpack_generator(self.np_random, state["random"])

    def _orders(self, action: np.ndarray) -> np.ndarray:
        """Whole shares from an action; refuses before anything has changed."""
        if self._day < 0 or self._day >= self._end:
            raise UsageError("The episode is over or has not begun. Call reset() before step().")
        action = np.asarray(action)
        if action.shape != self._shares.shape or action.dtype.kind not in "iuf":
            raise UsageError(
                f"An action needs shape {self._shares.shape}, one real number a ticker, got "
                f"{action.dtype} {action.shape}."
            )
        action = action.astype(np.float64)
        largest = np.abs(action).max()
        if not largest <= 1.0 + 1e-6:  # also false for NaN
            worst = int(np.argmax(np.where(np.isnan(action), np.inf, np.abs(action))))
            raise UsageError(
                f"Actions lie in [−1, 1], got {action[worst]} for {self.table.tickers[worst]}. "
                "The state has not changed."
            )
        if largest > 1.0:  # by rounding
            action = action.clip(-1.0, 1.0)
        close = self.table.close[self._day]
        position = Position(self._shares, close, self._value, self.cost)
        return self._whole(self._wanted(action, position, self.max_shares))

    def _invest_at_random(self) -> None:
        """A share of the cash, uniform in [0, 1], spread over the tickers by uniform weights."""
        weights = self.np_random.dirichlet(np.ones(len(self._shares)))
        money = self.np_random.uniform() * self.initial_cash * weights
        price = self.table.close[self._day]
        self._shares = np.floor(money / price)
        self._cash = self.initial_cash - float(np.dot(self._shares, price))

    def _settle(self) -> None:
        """Value the portfolio at the day's close and write its features into the day's row."""
        close = self.table.close[self._day]
        worth = self._shares * close
        self._value = self._cash + float(np.dot(self._shares, close))
        row = self._rows[self._day]
        unit = self._value if self.relative else self.initial_cash
        row[0] = max(self._cash, 0.0) / unit
        row[1 : 1 + len(worth)] = worth * (len(worth) / unit)
        portfolio = row[: 1 + len(worth)]
        np.minimum(np.log1p(portfolio, out=portfolio), CLIP, out=portfolio)

    def _history(self) -> np.ndarray:
        """The portfolio's columns of the window, as a view."""
        first = self._day - self.window + 1
        return self._rows[first : self._day + 1, : 1 + len(self._shares)]

    def _info(self, costs: float, turnover: float) -> dict[str, Any]:
        return {
            "value": self._value,
            "cash": self._cash,
            "shares": self._shares.astype(np.int64),
            "costs": costs,
            "turnover": turnover,
            "date": self._iso_dates[self._day],
        }
