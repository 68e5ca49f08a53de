"""How long a run trains and how often it updates, evaluates and saves."""

import math
from dataclasses import dataclass

from nearsym.errors import UsageError, check_range, check_whole

MANY = 10**12
LIMITS = {
    "frames": (1, MANY),
    "seed_frames": (0, MANY),
    "update_every": (1, MANY),
    "batch_size": (1, 10**6),
    "nstep": (1, 10_000),
    "discount": (0, 1),
    "replay_capacity": (1, 10**9),
    "eval_every": (1, MANY),
    "eval_episodes": (1, 100_000),
    "checkpoint_every": (1, MANY),
}
"""The smallest and largest value of every number; all but the discount are whole."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How long, how often. Frames are environment steps: agent steps times action repeat.

    >>> TrainingConfig(frames=50_000, batch_size=64).nstep
    3
    """

    frames: int = 1_000_000
    """Length of the run."""
    seed_frames: int = 4000
    """Frames before the first update."""
    update_every: int = 2
    """Agent steps for each update."""
    batch_size: int = 256
    """Transitions in an update."""
    nstep: int = 3
    """Rewards summed before bootstrapping."""
    discount: float | None = 0.99
    """γ for each agent step; None chooses it by the length of an episode."""
    replay_capacity: int = 500_000
    """Agent steps the replay holds."""
    replay: str = "memory"
    """Where the replay lives: memory, or disk (memory-mapped)."""
    eval_every: int = 20_000
    """Frames between evaluations."""
    eval_episodes: int = 10
    """Episodes in an evaluation."""
    checkpoint_every: int = 10_000
    """Frames between checkpoints."""

    def __post_init__(self) -> None:
        if self.replay not in ("memory", "disk"):
            raise UsageError(f"`replay` must be 'memory' or 'disk', got {self.replay!r}.")
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if name != "discount":
                check_whole(name, value, low, high)
            elif value is not None:
                check_range(name, value, low, high)


def discount_for(steps: int | None) -> float:
    """γ for episodes of so many agent steps: it looks half an episode ahead, but 20 steps at least
    and 100 at most. TD-MPC2 (Hansen et al. 2024) looks a fifth ahead, and up to 200 steps; a fifth
    of Pendulum-v1's episode is less than its swing-up takes.

    >>> discount_for(100), discount_for(200), discount_for(None)
    (0.98, 0.99, 0.99)
    """
    ahead = 100.0 if steps is None else min(max(steps / 2, 20.0), 100.0)
    return 1 - 1 / ahead


def check_learns(config: TrainingConfig, *, action_repeat: int = 1) -> None:
    """Refuse a run that would end without a single update.

    Updates are made after agent steps s that are multiples of `update_every`, from the first with
    s·`action_repeat` ≥ `seed_frames` on; the last step is the first with
    s·`action_repeat` ≥ `frames`.

    >>> check_learns(TrainingConfig(frames=5000, seed_frames=4000))
    """
    frames_per_update = config.update_every * action_repeat
    first = max(1, math.ceil(config.seed_frames / frames_per_update)) * config.update_every
    if first <= math.ceil(config.frames / action_repeat):
        return
    if config.frames < config.seed_frames:
        raise UsageError(
            f"`frames` {config.frames} ends before the first update: the first "
            f"{config.seed_frames} (`training.seed_frames`) only fill the replay. "
            "Ask for more `frames`, or lower `training.seed_frames`."
        )
    raise UsageError(
        f"`frames` {config.frames} ends before the first update, at frame "
        f"{first * action_repeat}: updates come every {config.update_every} agent steps "
        "(`training.update_every`). Ask for more `frames`, or lower `training.update_every`."
    )
