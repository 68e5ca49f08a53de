"""Evaluating an agent that trades: on which days, by which rules, and what is kept of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import gymnasium

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.task import Playing, Policy, Task
from nearsym.tasks.trading.choice import MarketChoice
from nearsym.tasks.trading.evaluation import Portfolios
from nearsym.tasks.trading.export import Format, export_portfolios
from nearsym.tasks.trading.task import TradingTask
from nearsym.tasks.trading.tear_sheet import write_tear_sheet


@dataclass(frozen=True, kw_only=True)
class PortfolioFiles:
    """What to write of an evaluation."""

    export: Path | None = None
    """A folder for the tables of values, holdings, trades and baselines."""
    format: Format = "parquet"
    tear_sheet: Path | None = None
    """A picture."""

    def __post_init__(self) -> None:
        for name in ("export", "tear_sheet"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Path(getattr(self, name)))


@dataclass(frozen=True)
class TradingEvaluation:
    """How one evaluation is made; for a task without prices as it is."""

    market: MarketChoice
    files: PortfolioFiles

    @classmethod
    def of(cls, task: Task, options: Mapping[str, Any]) -> "TradingEvaluation":
        """From options by name, None counting as not given; only a task with prices has any."""
        given = {name: value for name, value in options.items() if value is not None}
        of_files = [f.name for f in fields(PortfolioFiles)]
        known = [*(f.name for f in fields(MarketChoice)), *of_files]
        for name in given:
            if name not in known:
                raise unknown_name("option of an evaluation", name, known)
        files = {name: given.pop(name) for name in of_files if name in given}
        asked = [*given, *(n for n in files if n != "format")]
        if asked and not isinstance(task, TradingTask):
            raise UsageError(f"`{asked[0]}` needs a task with prices, and {task.name} has none.")
        return cls(MarketChoice(**given), PortfolioFiles(**files))

    @property
    def other_tickers(self) -> bool:
        """Whether the prices are not those of training, by choice."""
        return self.market.tickers is not None

    def make(self, task: Task, render_mode: str | None) -> gymnasium.Env:
        if isinstance(task, TradingTask) and render_mode is None:
            return self.market.make(task)
        return task.make("test", render_mode=render_mode)

    def evaluate(
        self, task: Task, policy: Policy, env: gymnasium.Env, playing: Playing
    ) -> dict[str, Any]:
        if not isinstance(task, TradingTask):
            return task.evaluate(policy, env, playing)
        written: list[str] = []

        def keep(portfolios: Portfolios) -> None:
            if self.files.export is not None:
                written.extend(export_portfolios(portfolios, self.files.export, self.files.format))

        result = task.evaluate(policy, env, playing, keep=keep)
        if self.files.tear_sheet is not None:
            write_tear_sheet(result, self.files.tear_sheet)
            written.append(str(self.files.tear_sheet))
        return result | {"files": written}
