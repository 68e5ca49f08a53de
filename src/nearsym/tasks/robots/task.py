"""A robot as a task."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Self

import gymnasium

from nearsym.errors import UsageError, unknown_name
from nearsym.tasks.robots.domain import Domain
from nearsym.tasks.robots.domains import DOMAINS
from nearsym.tasks.robots.variants import parse_variant
from nearsym.tasks.task import Noise, Part, PlainEvaluation, Settings, Traits, follows_scales


@dataclass(frozen=True, kw_only=True)
class RobotTask(PlainEvaluation):
    """One of Gymnasium's MuJoCo tasks with its symmetry, seen as a state vector.

    >>> RobotTask(name="swimmer", variant="wear=0.5").make().action_space
    Box(-1.0, 1.0, (2,), float32)
    """

    kind: ClassVar[str] = "robot"
    agents: ClassVar[tuple[str, ...]] = ("drqv2", "sac")
    rounds_away: ClassVar[bool] = False
    light: ClassVar[bool] = True
    noise: ClassVar[float] = 0.0
    frames_per_step: ClassVar[int] = 1
    stacked: ClassVar[int] = 1

    name: str
    """inverted_pendulum, inverted_double_pendulum, swimmer, walker2d, ant, ant-stand, reacher or
    humanoid"""
    variant: str | None = None
    """symmetry-breaking variant, NAME or NAME=STRENGTH"""

    def __post_init__(self) -> None:
        if self.name not in DOMAINS:
            raise unknown_name("robot", self.name, DOMAINS)
        parse_variant(self.variant, self.domain)

    @property
    def domain(self) -> Domain:
        return DOMAINS[self.name]

    def traits(self) -> Traits:
        return Traits(images=False, symmetric=True)

    def suited_to(self, agent: str | None) -> Self:
        return self

    def check_given(self, names: Collection[str]) -> None:
        """Every option has an effect."""

    def with_noise(self, noise: Noise) -> Self:
        raise UsageError("`noise` is noise on images; robots are seen as state vectors.")

    def make(self, part: Part = "train", *, render_mode: str | None = None) -> gymnasium.Env:
        """The environment; every part is the same task."""
        return gymnasium.make(
            f"nearsym/{self.name}-v0", variant=self.variant, render_mode=render_mode
        )

    def make_for_audit(self) -> gymnasium.Env:
        return self.make()

    def defaults(self, preset: str, agent: str, model: str) -> Settings:
        return follows_scales(preset, agent)
