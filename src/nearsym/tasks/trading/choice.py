"""What may be chosen anew when a trained agent is evaluated: days, tickers, costs, cash, orders."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.task import Part
from nearsym.tasks.trading.environment import TradingEnv

if TYPE_CHECKING:
    from nearsym.tasks.trading.task import TradingTask

EVALUATED = ("validation", "test")


@dataclass(frozen=True, kw_only=True)
class MarketChoice:
    """Where an evaluation differs from training; None is as in training."""

    part: Part = "test"
    """validation or test"""
    tickers: str | Sequence[str] | None = None
    """other tickers of the data, as many as the agent was trained on, in their place"""
    start: str | None = None
    """first day to trade on, within the part"""
    end: str | None = None
    """the day after the last one"""
    cost: float | None = None
    cash: float | None = None
    max_shares: int | None = None

    def __post_init__(self) -> None:
        if self.part not in EVALUATED:
            raise unknown_name("part of the data to evaluate on", self.part, EVALUATED)

    def task(self, trained: "TradingTask") -> "TradingTask":
        """The task with these rules."""
        rules = {name: getattr(self, name) for name in ("tickers", "cost", "cash", "max_shares")}
        return replace(trained, **{n: value for n, value in rules.items() if value is not None})

    def make(self, trained: "TradingTask") -> TradingEnv:
        """The environment to play in."""
        days: dict[str, Any] = {"first_day": self.start, "last_day": self.end}
        env = self.task(trained).make(self.part, **days)
        if self.tickers is not None:
            self._check_count(trained, env)
        return env

    def _check_count(self, trained: "TradingTask", env: TradingEnv) -> None:
        before, now = trained.make(self.part).table.tickers, env.table.tickers
        if len(now) != len(before):
            raise UsageError(
                f"The agent was trained on {len(before)} tickers ({', '.join(before)}) and needs "
                f"as many; `tickers` names {len(now)}."
            )
