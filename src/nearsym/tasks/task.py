"""A task as a value: which world, in which form, and what an agent has to know of it."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import gymnasium
import numpy as np

from nearsym.errors import UsageError
from nearsym.measures.intervals import episode_interval
from nearsym.training.evaluate import Episode, rollouts

Part = Literal["train", "validation", "test"]
"""What an environment is for: training, looking how training does, or the final judgement."""

Settings = dict[str, dict[str, Any]]
"""Values of settings by section (task, algorithm, network, training) and name."""


Noise = float | Literal["task"]
"""Standard deviation of noise on images, or that under which the task itself tests policies."""


def follows_scales(preset: str, agent: str) -> Settings:
    """Settings for a world whose units nobody knows before: observations, rewards and the discount
    in its own measures. Images have a scale of their own, so DrQ-v2 does without the first; the
    preset paper is what was published. On a laptop SAC learns as soon as random actions end, and as
    slowly as published: the preset's own rate is for actions that are repeated. What is played is
    an average of about the last 200 updates, since single ones may forget for a moment."""
    if preset == "paper":
        return {}
    settings: Settings = {
        "algorithm": {"scale_rewards": True},
        "network": {"normalise": agent == "sac"},
        "training": {"discount": None},
    }
    if (preset, agent) == ("laptop", "sac"):
        settings["algorithm"] |= {
            "learning_rate": 3e-4,
            "target_tau": 0.005,
            "policy_average": 0.005,
        }
        settings["training"] |= {"seed_frames": 1000}
    return settings


class Traits(NamedTuple):
    """What decides which agent and model a task gets by default."""

    images: bool
    """Whether observations are images."""
    symmetric: bool
    """Whether a symmetry is declared."""
    time: bool = False
    """Whether observations are windows of time."""


class Policy(Protocol):
    """A batch of observations to a batch of actions: the mean ones, or drawn."""

    def __call__(self, obs: np.ndarray, *, sample: bool = False) -> np.ndarray: ...


class Playing(NamedTuple):
    """How an evaluation plays."""

    episodes: int
    seed: int
    """Episode i starts from seed + i."""
    sample: bool = False
    """Draw actions from the policy instead of taking its mean."""
    label: str = ""
    """What the policy is called in tables."""
    on_step: Callable[[], None] = lambda: None
    on_episode: Callable[[Episode], None] = lambda episode: None


class Task(Protocol):
    """What runs need of a task. Tasks are frozen dataclasses whose fields are saved with a run."""

    kind: ClassVar[str]
    """The family: which class a saved task is read as."""
    agents: ClassVar[tuple[str, ...]]
    """The agents that can learn it."""
    rounds_away: ClassVar[bool]
    """Whether bfloat16 would round away what matters in an observation."""

    @property
    def name(self) -> str: ...

    @property
    def variant(self) -> str | None:
        """The symmetry-breaking variant, or the market; None for the original."""
        ...

    @property
    def noise(self) -> float:
        """Standard deviation of noise on images."""
        ...

    @property
    def frames_per_step(self) -> int:
        """Environment steps in one step of an agent."""
        ...

    @property
    def stacked(self) -> int:
        """Frames in an observation that shares all but the newest with the one before."""
        ...

    @property
    def light(self) -> bool:
        """Whether environments are cheap: an evaluation then plays its episodes side by side."""
        ...

    def traits(self) -> Traits: ...

    def suited_to(self, agent: str | None) -> Self:
        """The task in the form that an agent reads, where the form was left open."""
        ...

    def check_given(self, names: Collection[str]) -> None:
        """Refuse options that somebody gave and that would have no effect."""
        ...

    def defaults(self, preset: str, agent: str, model: str) -> Settings:
        """Where a preset means something else for this task than for the agent in general."""
        ...

    def with_noise(self, noise: Noise) -> Self:
        """The same task under other noise on its images."""
        ...

    def make(self, part: Part = "train", *, render_mode: str | None = None) -> gymnasium.Env:
        """A new environment: actions in [−1, 1]ⁿ, observations float32 vectors or uint8 images."""
        ...

    def make_for_audit(self) -> gymnasium.Env:
        """The environment as its author made it, stepped one environment step at a time."""
        ...

    def data_hash(self, env: gymnasium.Env) -> str | None:
        """The hash of the data that an environment replays; None for tasks without data."""
        ...

    def evaluate(self, policy: Policy, env: gymnasium.Env, playing: Playing) -> dict[str, Any]:
        """Play whole episodes; `return_mean`, `return_ci95`, `returns`, `episodes` and whatever
        else the task has to tell."""
        ...


def play(
    policy: Policy, env: gymnasium.Env, playing: Playing, *, keep_infos: bool = False
) -> list[Episode]:
    """Whole episodes of a policy."""
    played = []
    for episode in rollouts(
        lambda obs: policy(obs, sample=playing.sample),
        env,
        episodes=playing.episodes,
        seed=playing.seed,
        keep_infos=keep_infos,
        on_step=playing.on_step,
    ):
        played.append(episode)
        playing.on_episode(episode)
    return played


class PlainEvaluation:
    """How a task without data is evaluated: whole episodes, and nothing else to tell."""

    def data_hash(self, env: gymnasium.Env) -> str | None:
        return None

    def evaluate(self, policy: Policy, env: gymnasium.Env, playing: Playing) -> dict[str, Any]:
        return returns_of(play(policy, env, playing))


class PixelsOrState(PlainEvaluation):
    """A task without data that is seen as images or as a state vector, by choice."""

    obs: Any
    frame_stack: Any
    of_images: ClassVar[tuple[str, ...]] = ("size", "frame_stack", "noise")
    """The options that concern images alone."""

    @property
    def images(self) -> bool:
        """Whether it is seen as images."""
        return self.obs == "pixels"

    @property
    def stacked(self) -> int:
        return self.frame_stack if self.images else 1

    def traits(self) -> Traits:
        return Traits(images=self.images, symmetric=True)

    def check_given(self, names: Collection[str]) -> None:
        for name in self.of_images:
            if name in names and not self.images:
                raise UsageError(f"`{name}` is about images: use it with `obs='pixels'`.")

    @property
    def test_noise(self) -> float | None:
        """Standard deviation of the image noise under which policies are tested, where the task
        names one."""
        return None

    def with_noise(self, noise: Noise) -> Self:
        if not self.images:
            raise UsageError("`noise` is noise on images; this run does not see pixels.")
        deviation = self._own_noise(noise) if isinstance(noise, str) else noise
        changed: Any = replace(self, noise=deviation)  # type: ignore[type-var]
        return changed

    def _own_noise(self, word: str) -> float:
        if word != "task":
            raise UsageError(f"`noise` is a number or 'task', got {word!r}.")
        if self.test_noise is None:
            raise UsageError("`noise='task'` needs a task that names its noise; give a number.")
        return self.test_noise


def returns_of(played: list[Episode]) -> dict[str, Any]:
    """The returns of episodes, their mean, and its interval."""
    returns = np.array([episode.total for episode in played])
    interval, kind = episode_interval(returns)
    return {
        "return_mean": float(returns.mean()),
        "return_ci95": None if interval is None else list(interval),
        "interval": kind,
        "returns": returns.tolist(),
        "episodes": len(played),
    }
