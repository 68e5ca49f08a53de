"""The trading task as a value."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import gymnasium

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.symmetry import TIME_KINDS
from nearsym.tasks.strength import ORIGINAL
from nearsym.tasks.task import Noise, Part, Playing, Policy, Settings, Traits, play, returns_of
from nearsym.tasks.trading.environment import TradingEnv
from nearsym.tasks.trading.evaluation import Portfolios
from nearsym.tasks.trading.judgement import Jumps, Late
from nearsym.tasks.trading.make import make_trading
from nearsym.tasks.trading.planted import PREFIX
from nearsym.tasks.trading.portfolio import Track
from nearsym.tasks.trading.prices import EMBEDDED, PriceTable, is_file
from nearsym.tasks.trading.sheet import SUFFIXES


@dataclass(frozen=True, kw_only=True)
class TradingTask:
    """Daily trading of shares, on the embedded prices or on a file of one's own."""

    kind: ClassVar[str] = "trading"
    agents: ClassVar[tuple[str, ...]] = ("sac",)
    rounds_away: ClassVar[bool] = True  # a day's move of a price is smaller than bfloat16's step
    light: ClassVar[bool] = False
    name: ClassVar[str] = "trading"
    noise: ClassVar[float] = 0.0
    frames_per_step: ClassVar[int] = 1
    stacked: ClassVar[int] = 1

    symmetry: Literal["T", "ST"] | None = None
    """equivariance to translation in time, T (default), or to scale and translation, ST"""
    data: str | None = None
    """a CSV or Parquet file of prices, or planted:momentum=0.3 (default: the embedded ones)"""
    split: str | None = None
    """the dates that separate training, validation and test"""
    tickers: str | None = None
    """comma-separated tickers to trade (default: all in the data)"""
    start: str | None = None
    """cut the data before this day, ISO"""
    end: str | None = None
    """cut the data from this day on"""
    cost: float = 0.001
    """fees, as a fraction of the traded money"""
    cash: float = 1_000_000.0
    """what an episode starts with"""
    fill: Literal["close", "next_open"] = "close"
    """fill orders at the close that is shown, or at the next_open"""
    accounting: Literal["fair", "finrl"] = "fair"
    """when cash is short, scale all buys alike (fair), or serve the largest first as FinRL does"""
    late: Late = "refuse"
    """refuse or drop tickers that start late"""
    jumps: Jumps = "refuse"
    """refuse or accept jumps that look like unadjusted splits"""
    max_shares: int = 100
    """the largest order, in shares of a ticker a day"""
    features: Literal["levels", "returns"] = "levels"
    """show log prices, or returns and indicators in units of volatility, which do not drift"""
    orders: Literal["shares", "weights"] = "shares"
    """an action says what to buy and sell, or which weights to hold"""
    reward: Literal["gain", "log_return", "excess"] = "gain"
    """the gain over the starting cash, the log return, or that less the market's"""
    reward_scale: float = 1.0
    """the reward for a gain of one per cent"""
    start_portfolio: Literal["cash", "random"] = "cash"
    """train on episodes that start in cash, or partly invested at random"""
    episode_days: int | None = None
    """train on episodes of so many days that start anywhere in the training part; none: on the
    whole part, from its first day"""
    foresight: bool = False
    """show tomorrow's returns too: a check that an agent uses what it is told"""

    def __post_init__(self) -> None:
        if self.symmetry is not None and self.symmetry not in TIME_KINDS:
            raise unknown_name("symmetry of time", self.symmetry, TIME_KINDS)
        names: Any = self.tickers
        if isinstance(names, list | tuple):
            object.__setattr__(self, "tickers", ",".join(names))
        if self.data is not None and is_file(self.data):  # a run can be resumed from elsewhere
            object.__setattr__(self, "data", str(Path(self.data).absolute()))

    @property
    def variant(self) -> str | None:
        """The planted signal or the name of the file; the embedded prices are the original."""
        if self.data is None or self.data == EMBEDDED:
            return None
        if self.data.startswith(PREFIX):
            return self.data.removeprefix(PREFIX)
        return market_name(Path(self.data).name)

    def traits(self) -> Traits:
        return Traits(images=False, symmetric=self.symmetry is not None, time=True)

    def suited_to(self, agent: str | None) -> Self:
        """With the whole path of its data: a run can be resumed from elsewhere."""
        if self.data is None or not is_file(self.data):
            return self
        return replace(self, data=str(Path(self.data).absolute()))

    def check_given(self, names: Collection[str]) -> None:
        """Every option has an effect."""

    def with_noise(self, noise: Noise) -> Self:
        raise UsageError("`noise` is noise on images; this run does not see pixels.")

    def make(
        self, part: Part = "train", *, render_mode: str | None = None, **days: str | None
    ) -> TradingEnv:
        """The environment of one part of the data, or of some of its `days`."""
        if render_mode is not None:
            raise UsageError("There is nothing to film in trading; leave out `video`.")
        data = EMBEDDED if self.data is None else self.data
        cut = {"tickers": self._tickers(), "start": self.start, "end": self.end}
        return self.make_on(data, part, **cut, **days)

    def make_on(self, data: str | PriceTable, part: Part = "train", **options: Any) -> TradingEnv:
        """The same task on other prices; `options` are those of `make_trading`."""
        if part == "train":
            options["start_portfolio"] = self.start_portfolio
        if part == "train" and self.episode_days is not None:
            options |= {"random_start": True, "episode_days": self.episode_days}
        chosen: dict[str, Any] = {
            "symmetry": "T" if self.symmetry is None else self.symmetry,
            "late": self.late,
            "jumps": self.jumps,
            "fill": self.fill,
            "accounting": self.accounting,
            "cost": self.cost,
            "cash": self.cash,
            "max_shares": self.max_shares,
            "features": self.features,
            "orders": self.orders,
            "reward": self.reward,
            "reward_scale": self.reward_scale,
            "foresight": self.foresight,
        }
        return make_trading(data=data, part=part, split=self.split, **(chosen | options))

    def _tickers(self) -> list[str] | None:
        if self.tickers is None:
            return None
        return [name.strip() for name in self.tickers.split(",") if name.strip()]

    def make_for_audit(self) -> TradingEnv:
        return self.make()

    def data_hash(self, env: gymnasium.Env) -> str | None:
        return _market(env).table.sha256

    def defaults(self, preset: str, agent: str, model: str) -> Settings:
        """The paper's table of trading hyperparameters; a frame is a day. The paper does not say
        how often it updates; every fourth day lets 50,000 days pass in minutes. Laptop has settings
        that do not drift."""
        smoke = preset == "smoke"
        chosen: Settings = {
            "algorithm": {
                "learning_rate": 1e-4,
                "target_tau": 0.005,
                "temperature": 0.05,
                "learn_temperature": False,
                "random_steps": 1000,
            },
            "network": {
                "hidden": 128,  # of none; symmetric models get as many parameters
                "window_heads": "conv",
                "waist": None,
                "actor_depth": 0,
                "critic_depth": 1,
            },
            "training": {
                "frames": 300 if smoke else 50_000,
                "seed_frames": 100 if smoke else 1000,
                "update_every": 4,
                "batch_size": 64,
                "nstep": 1,
                "discount": 0.99,
                "replay_capacity": 50_000,
                "eval_every": 150 if smoke else 2500,
                "eval_episodes": 1,  # prices do not change from episode to episode
                "checkpoint_every": 150 if smoke else 5000,
            },
        }
        if self.foresight:
            return _with_foresight(chosen)
        return _steady(chosen) if preset == "laptop" else chosen

    def evaluate(
        self,
        policy: Policy,
        env: gymnasium.Env,
        playing: Playing,
        *,
        keep: Callable[[Portfolios], None] = lambda portfolios: None,
    ) -> dict[str, Any]:
        """Returns of the sampled policy, the daily value and costs of every episode, and the
        baselines beside it; the mean policy is an extra row. `keep` is handed all records."""
        played = play(policy, env, playing._replace(sample=True), keep_infos=True)
        once = Playing(1, playing.seed, on_step=playing.on_step)
        (mean_policy,) = play(policy, env, once, keep_infos=True)
        market = _market(env)
        model = playing.label
        name = model if model == "none" else f"{model} {market.symmetry.kind}"
        tracks = [Track.from_infos(name, episode.infos) for episode in (*played, mean_policy)]
        portfolios = Portfolios.beside(market, name, tracks[:-1], tracks[-1])
        keep(portfolios)
        return returns_of(played) | portfolios.as_json()


def market_name(file: str) -> str:
    """What a file of prices is called in tables and folders: its name without the ending. Of the
    hash that a downloaded file is named by, eight digits do.

    >>> market_name("dow.2021.csv.gz"), market_name("BRK.A.parquet"), market_name("2 x=1.csv")
    ('dow.2021', 'BRK.A', '2_x_1')
    """
    endings = sorted((ending for ending in SUFFIXES if file.endswith(ending)), key=len)
    stem = file.removesuffix(endings[-1]) if endings else file
    if re.fullmatch("[0-9a-f]{64}", stem):
        return stem[:8]
    name = re.sub(r"[^\w.+-]+", "_", stem)  # "=" would be the strength of a variant
    return file if name in ("", ORIGINAL) else name


def _market(env: gymnasium.Env) -> TradingEnv:
    market = env.unwrapped
    assert isinstance(market, TradingEnv)
    return market


def _steady(chosen: Settings) -> Settings:
    """Settings in which neither observations nor rewards grow with the market, and whose results
    differ less from seed to seed: chosen on the validation part (docs/trading.md)."""
    return {
        "task": {
            "features": "returns",
            "reward": "excess",
            "orders": "weights",
            "start_portfolio": "random",
            "episode_days": 250,
        },
        "algorithm": chosen["algorithm"] | {"learning_rate": 3e-4, "policy_average": 0.002},
        "network": chosen["network"],
        "training": chosen["training"] | {"frames": 20_000, "update_every": 8},
    }


def _with_foresight(chosen: Settings) -> Settings:
    """Settings in which being told tomorrow's returns pays: they check the learner.

    Short episodes from any day start without shares, so that what an order earns is not drowned by
    what is held; rewards in tenths of a per cent outweigh the bonus for entropy; and a discount of
    a half looks no further ahead than what is shown.
    """
    return {
        "task": {"reward_scale": 10.0, "episode_days": 5},
        "algorithm": chosen["algorithm"] | {"learning_rate": 5e-4},
        "network": chosen["network"],
        "training": chosen["training"] | {"update_every": 1, "discount": 0.5},
    }
