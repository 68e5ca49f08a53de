"""From data and options to a trading environment."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from gymnasium.envs.registration import EnvSpec

from nearsym.errors import unknown_name
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.judgement import Jumps, Late
from nearsym.tasks.trading.prices import EMBEDDED, PriceTable, load_prices
from nearsym.tasks.trading.split import Part, Split, as_split

ENV_ID = "nearsym/trading-v0"
"""Its name in Gymnasium; `tasks/registry.py` registers it."""


def make_trading(
    *,
    data: str | Path | PriceTable = EMBEDDED,
    part: Part = "train",
    split: Split | str | None = None,
    symmetry: Literal["T", "ST"] = "T",
    tickers: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    late: Late = "refuse",
    jumps: Jumps = "refuse",
    **options: Any,
) -> TradingEnv:
    """The trading task on embedded data, a file or a `PriceTable`.

    `split` holds the dates that divide the data (the paper's by default; text as in
    `Split.parse`), `part` is the one to trade in. `tickers`, `start`, `end`, `late`, `jumps` as in
    `load_prices`; the other options are those of `TradingEnv`.
    """
    known = _option_names()
    for name in options:
        if name not in known:
            raise unknown_name("option of trading", name, known)
    loading: dict[str, Any] = {
        "tickers": tickers,
        "start": start,
        "end": end,
        "late": late,
        "jumps": jumps,
    }
    table = load_prices(data, **loading)
    env = TradingEnv(table, as_split(split), part, symmetry=symmetry, **options)
    chosen = {"data": data, "part": part, "split": split, "symmetry": symmetry}
    env.spec = EnvSpec(
        ENV_ID,
        "nearsym.tasks.trading.make:make_trading",
        kwargs={**chosen, **loading, **options},
    )
    return env


def _option_names() -> list[str]:
    named = [
        *inspect.signature(make_trading).parameters,
        *inspect.signature(TradingEnv).parameters,
    ]
    return [name for name in named if name not in ("options", "table")]
