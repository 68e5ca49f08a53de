"""Everything that defines a run, as one value that is saved with it."""

import dataclasses
import json
import types
import typing
from dataclasses import dataclass, field
from typing import Any

from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.sac import SACConfig
from nearsym.errors import UsageError, unknown_name
from nearsym.networks.build import NetworkConfig
from nearsym.training.config import TrainingConfig

AGENTS = ("drqv2", "sac")
PRECISIONS = ("fp32", "bf16")


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """Which environment, and in which form."""

    name: str
    """A task of nearsym, a Gymnasium id, or module:factory."""
    variant: str | None = None
    """A symmetry-breaking variant, NAME or NAME=STRENGTH."""
    obs: str | None = None
    """pixels or state; None for environments that have one kind only."""
    size: int = 85
    """Side of the images, in pixels."""
    action_repeat: int = 2
    """Environment steps for each agent step."""
    frame_stack: int = 3
    """Images in an observation."""
    noise: float = 0.0
    """Standard deviation of noise on images in [0, 1]."""
    background: bool = False
    """Keep dm_control's floor and sky."""
    symmetry: str | None = None
    """Trading: T (translation in time) or ST (scale and translation)."""
    data: str | None = None
    """Trading: a file of prices; None for the embedded ones."""
    split: str | None = None
    """Trading: the dates that separate training, validation and test."""
    fill: str = "close"
    """Trading: orders fill at the close that is shown, or at the next open."""
    late: str = "refuse"
    """Trading: refuse or drop tickers that start late."""
    splits: str = "refuse"
    """Trading: refuse or accept jumps that look like unadjusted splits."""
    max_shares: int = 100
    """Trading: the largest order, in shares of a ticker a day."""
    reward_scale: float = 1.0
    """Trading: the reward for a gain of one per cent of the starting cash."""
    episode_days: int | None = None
    """Trading: train on episodes of so many days that start anywhere in the training part; None
    for the whole part, from its first day."""
    foresight: bool = False
    """Trading: show tomorrow's returns too, to see whether an agent can use what it is told."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One training run. Two runs with equal configurations and versions give equal numbers."""

    task: TaskConfig
    agent: str = "drqv2"
    """drqv2 or sac."""
    algorithm: DrQV2Config | SACConfig = field(default_factory=DrQV2Config)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    preset: str = "paper"
    seed: int = 0
    threads: int = 1
    """Torch threads. Results repeat for a number of threads and differ between numbers."""
    precision: str = "fp32"
    """fp32 or bf16: what `auto` was resolved to."""
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.agent not in AGENTS:
            raise unknown_name("agent", self.agent, AGENTS)
        if self.precision not in PRECISIONS:
            raise unknown_name("precision", self.precision, PRECISIONS)
        if not 1 <= self.threads <= 1024:
            raise UsageError(f"threads must lie between 1 and 1024, got {self.threads}.")
        if self.seed < 0:
            raise UsageError(f"seed must not be negative, got {self.seed}.")
        wanted = DrQV2Config if self.agent == "drqv2" else SACConfig
        if not isinstance(self.algorithm, wanted):
            raise UsageError(f"The agent {self.agent} takes a {wanted.__name__}.")


def to_plain(config: RunConfig) -> dict[str, Any]:
    """The configuration as JSON objects."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def from_plain(plain: dict[str, Any]) -> RunConfig:
    """The inverse of `to_plain`; unknown or missing entries are named."""
    sac = isinstance(plain, dict) and plain.get("agent") == "sac"
    algorithm = SACConfig if sac else DrQV2Config  # drqv2 is what a missing entry means
    return _read(RunConfig, plain, "config", {"algorithm": algorithm})


def _read(cls: type, plain: Any, where: str, chosen: dict[str, type] | None = None) -> Any:
    if not isinstance(plain, dict):
        raise UsageError(f"{where} must be an object, got {type(plain).__name__}.")
    hints = typing.get_type_hints(cls) | (chosen or {})
    unknown = set(plain) - set(hints)
    if unknown:
        raise UsageError(f"{where} has an unknown entry {sorted(unknown)[0]!r}.")
    try:
        return cls(**{key: _value(hints[key], v, f"{where}.{key}") for key, v in plain.items()})
    except TypeError as error:
        raise UsageError(f"{where} is incomplete: {error}.") from None


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _read(typing.cast(type, hint), value, where)
    if typing.get_origin(hint) is tuple:
        parts = typing.get_args(hint)
        if not isinstance(value, list) or len(value) != len(parts):
            raise UsageError(f"{where} must be a list of {len(parts)}, got {value!r}.")
        return tuple(_value(part, v, where) for part, v in zip(parts, value, strict=True))
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    allowed += (int,) if float in allowed else ()
    truth = isinstance(value, bool) and bool not in allowed  # True is an int to Python
    if truth or not isinstance(value, allowed):
        raise UsageError(f"{where} must be {getattr(hint, '__name__', hint)}, got {value!r}.")
    return value
