"""What a trading environment may be asked for."""

import numpy as np

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.split import Part, Split


def usable_days(
    table: PriceTable, split: Split, part: Part, needed: int, episode_days: int | None
) -> tuple[int, int]:
    """First and last day of a part that have a full window of existing indicators."""
    days = split.days(table, part)
    first, last = max(days.start, needed), days.stop - 1
    shortest = 1 if episode_days is None else episode_days
    if shortest < 1 or last - first < shortest:
        raise UsageError(
            f"The {part} part of {split} has {max(last - first, 0)} trading steps in "
            f"{table.source} once the window and the indicators are filled ({needed} days); "
            f"an episode needs {shortest} (at least 1). Choose other dates or a shorter episode."
        )
    return first, last


def check_options(
    table: PriceTable,
    window: int,
    fill: str,
    cost: float,
    max_shares: int,
    cash: float,
    reward_scale: float,
) -> None:
    if fill not in ("close", "next_open"):
        raise unknown_name("fill", fill, ("close", "next_open"))
    if fill == "next_open" and table.open is None:
        raise UsageError(
            f"fill='next_open' needs open prices, and {table.source} has none. "
            "Give OHLC data, or use fill='close'."
        )
    for name, value, good, wanted in (
        ("window", window, window >= 1, "at least 1"),
        ("cost", cost, 0 <= cost < 1, "in [0, 1), a fraction of the traded money"),
        ("max_shares", max_shares, max_shares >= 1, "at least 1"),
        ("cash", cash, np.isfinite(cash) and cash > 0, "positive"),
        ("reward_scale", reward_scale, 0 < reward_scale < np.inf, "positive"),
    ):
        if not good:
            raise UsageError(f"{name} must be {wanted}, got {value}.")
