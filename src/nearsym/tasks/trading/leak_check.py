"""Trading in worlds that cannot be predicted, where whoever gains has been told too much."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nearsym.measures.intervals import student_interval
from nearsym.tasks.task import Playing, Policy, play
from nearsym.tasks.trading.baselines import hold
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.portfolio import Track
from nearsym.tasks.trading.resample import shuffled_returns
from nearsym.tasks.trading.task import TradingTask


def evaluate_shuffled(
    task: TradingTask,
    policy: Policy,
    env: TradingEnv,
    *,
    worlds: int,
    seed: int,
    on_world: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Trade, sampling the policy, in test periods that cannot be predicted, against holding.

    Each world is the test part of `env` with every ticker's mean return removed and its days drawn
    at random (`shuffled_returns`). There no policy earns anything before fees on average, if orders
    are filled at the close. So its excess over uniform holding, both before fees and in per cent
    of the starting cash, has mean 0; an interval (Student's t over worlds) that lies above 0 means
    that something leaks.
    """
    excess = []
    for world in range(seed, seed + worlds):
        table = shuffled_returns(env.table, env.split, world)
        shuffled = task.make_on(table, "test", jumps="accept")
        (episode,) = play(policy, shuffled, Playing(1, world, sample=True), keep_infos=True)
        traded = Track.from_infos("agent", episode.infos)
        gap = _before_fees(traded) - _before_fees(held_uniformly(shuffled))
        excess.append(100 * gap / env.initial_cash)
        on_world()
    mean, interval = student_interval(excess)
    return {
        "excess_mean": mean,
        "excess_ci95": None if interval is None else list(interval),
        "excess": excess,
        "worlds": worlds,
    }


def held_uniformly(market: TradingEnv) -> Track:
    """Uniform holding over the part of a trading task, by its rules."""
    count = len(market.table.tickers)
    rules: dict[str, Any] = {"cash": market.initial_cash, "cost": market.cost, "fill": market.fill}
    return hold(market.table, market.days, np.full(count, 1 / count), name="uniform", **rules)


def _before_fees(track: Track) -> float:
    return float(track.value[-1] + track.costs.sum())
