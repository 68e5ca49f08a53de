"""The craft as a task."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import gymnasium

from nearsym.tasks.craft.variants import parse_variant
from nearsym.tasks.task import Part, PixelsOrState, Settings


@dataclass(frozen=True, kw_only=True)
class CraftTask(PixelsOrState):
    """A craft in the plane whose thrusters may be mounted askew: learned in a minute.

    >>> CraftTask(variant="tilt=75").make().unwrapped.symmetry.group
    D4
    """

    kind: ClassVar[str] = "craft"
    agents: ClassVar[tuple[str, ...]] = ("drqv2", "sac")
    rounds_away: ClassVar[bool] = False
    name: ClassVar[str] = "craft"
    frames_per_step: ClassVar[int] = 1
    light: ClassVar[bool] = True

    variant: str | None = None
    """symmetry-breaking variant, NAME or NAME=STRENGTH"""
    obs: Literal["pixels", "state"] | None = None
    """what the agent sees: pixels or state (default: state, or pixels for drqv2)"""
    size: int = 51
    """side of the images in pixels"""
    frame_stack: int = 3
    """images in an observation"""
    noise: float = 0.0
    """standard deviation of noise on the images, which lie in [0, 1]"""

    def __post_init__(self) -> None:
        parse_variant(self.variant)

    def suited_to(self, agent: str | None) -> Self:
        if self.obs is not None:
            return self
        return replace(self, obs="pixels" if agent == "drqv2" else "state")

    def make(self, part: Part = "train", *, render_mode: str | None = None) -> gymnasium.Env:
        """The environment; every part is the same task."""
        return gymnasium.make(
            f"nearsym/{self.name}-v0",
            variant=self.variant,
            obs="state" if self.obs is None else self.obs,
            size=self.size,
            frame_stack=self.frame_stack,
            noise=self.noise,
            render_mode=render_mode,
        )

    def make_for_audit(self) -> gymnasium.Env:
        return self.make()

    def defaults(self, preset: str, agent: str, model: str) -> Settings:
        """An episode is 120 steps and a frame is a step, so a few thousand are enough."""
        if preset == "smoke" or agent == "drqv2":
            return {}
        return {
            "algorithm": {"random_steps": 500},
            "network": {"hidden": 96},
            "training": {
                "frames": 4000,
                "seed_frames": 500,
                "batch_size": 64,
                "replay_capacity": 100_000,
                "eval_every": 250,
                "eval_episodes": 10,
                "checkpoint_every": 2000,
            },
        }
