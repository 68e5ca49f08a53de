"""What a trading environment may be asked for."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearsym.errors import UsageError, shown, unknown_name
from nearsym.tasks.trading.days import row_of
from nearsym.tasks.trading.features import FEATURES
from nearsym.tasks.trading.ledger import ACCOUNTINGS
from nearsym.tasks.trading.orders import ORDERS
from nearsym.tasks.trading.prices import PriceTable
from nearsym.tasks.trading.rewards import REWARDS
from nearsym.tasks.trading.split import Part, Split
from nearsym.training.random_state import check_packed

LARGEST_ORDER = 10**9
"""Shares in an order: holdings are counted in float64, exact up to 2⁵³."""


ROUNDING = 1e-6
"""Cash that adding up may leave below 0."""


def usable_days(
    table: PriceTable,
    split: Split,
    part: Part,
    needed: int,
    episode_days: int | None,
    limits: tuple[str | None, str | None] = (None, None),
) -> tuple[int, int]:
    """First and last day of a part, within limits, that have a full window of indicators."""
    days = split.days(table, part)
    low, high = limits
    if low is not None and high is not None and low >= high:
        raise UsageError(f"`start` has to be before `end`, got {low} and {high}.")
    start = days.start if low is None else max(days.start, row_of(table.dates, low))
    stop = days.stop if high is None else min(days.stop, row_of(table.dates, high))
    first, last = max(start, needed), stop - 1
    shortest = 1 if episode_days is None else episode_days
    if shortest < 1 or last - first < shortest:
        within = "" if limits == (None, None) else f", from {low or '…'} to {high or '…'},"
        raise UsageError(
            f"The {part} part of {split}{within} has {max(last - first, 0)} trading steps in "
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
        ("cash", cash, cash > 0, "positive"),
        ("reward_scale", reward_scale, reward_scale > 0, "positive"),
    ):
        if not good:
            raise UsageError(f"`{name}` must be {wanted}, got {shown(value)}.")
    for name, value, most in (
        ("window", window, 10_000),
        ("max_shares", max_shares, LARGEST_ORDER),
        ("cash", cash, 1e15),
        ("reward_scale", reward_scale, 1e9),
    ):
        if value > most:
            raise UsageError(f"`{name}` must be at most {most:g}, got {shown(value)}.")


WORDS: dict[str, tuple[str, ...]] = {
    "accounting": tuple(ACCOUNTINGS),
    "features": FEATURES,
    "orders": ORDERS,
    "reward": REWARDS,
    "start_portfolio": ("cash", "random"),
}
"""Options that are one of a few words."""


def check_words(**options: str) -> None:
    """Refuse a word that is not there, with the nearest one that is."""
    for name, value in options.items():
        if value not in WORDS[name]:
            raise unknown_name(f"`{name}`", value, WORDS[name])


def check_state(state: Mapping[str, Any], stocks: int, window: int, days: int) -> None:
    """Refuse a state that an environment of such a size cannot be in."""
    shapes: dict[str, tuple[int, ...]] = {"day": (), "end": (), "cash": ()}
    shapes |= {"shares": (stocks,), "history": (window, 1 + stocks), "random": (6,)}
    for name, shape in shapes.items():
        check_entry(state, name, shape)
    check_packed(state["random"])
    if not window - 1 <= int(state["day"]) <= int(state["end"]) < days:
        raise UsageError(
            f"A trading state from day {state['day']} to {state['end']} does not fit a table "
            f"of {days} days. Was it taken from other data?"
        )


def check_entry(state: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> None:
    """Refuse an entry of a state that no portfolio can have, before anything is changed."""
    given = np.asarray(state[name]) if name in state else None
    whole = name not in ("cash", "history")
    if given is None or given.shape != shape or given.dtype.kind not in ("iu" if whole else "iuf"):
        arrived = "nothing" if given is None else f"{given.dtype} {given.shape}"
        raise UsageError(
            f"A trading state needs {name!r} of shape {shape}, got {arrived}. "
            "Was it taken from an environment with other tickers or another window?"
        )
    least = -ROUNDING if name == "cash" else 0
    if not np.isfinite(given).all() or (given < least).any():
        raise UsageError(
            f"A trading state has {name!r} that are finite and not negative, got {given}. "
            "Nothing was changed."
        )
