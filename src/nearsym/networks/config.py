"""The settings of networks."""

from dataclasses import dataclass

from nearsym.errors import UsageError, unknown_name
from nearsym.networks.kit import MODELS, PLAIN, TAUGHT

SIT_READOUTS = ("broken", "equivariant")
WINDOW_HEADS = ("plain", "conv")

OF_ONE_MODEL = {
    "filters": "approx",
    "relax": "approx",
    "spread_strength": "approx",
    "relaxed_rate": "approx",
    "relaxed_decay": "approx",
    "relaxed_from": "approx",
    "mirror_strength": "mirror",
    "sit_readout": "sit",
}
"""Settings that have an effect on one model alone."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Sizes are those of the model `none`; symmetric models divide widths by √|G|, which keeps
    the number of parameters (paper, Appendix D.1.1)."""

    model: str = "approx"
    """none, exact, approx, rpp, sit, augment or mirror."""
    layers: str = "group"
    """Convolutions of the pixel encoder: group or steerable."""
    filters: int = 1
    """L, the number of filters that relaxed weights combine."""
    relax: str = "input"
    """Relaxed weights on the input element (the paper) or the output element."""
    channels: int = 32
    """Channels of the pixel encoder."""
    channel_multiple: int = 1
    """Round the divided channels down to a multiple: CPUs like 16."""
    hidden: int = 1024
    """Width of the hidden layers of actor and critics."""
    actor_depth: int = 2
    """Number of hidden layers of the actor."""
    critic_depth: int = 2
    """Number of hidden layers of the critics."""
    critic_norm: bool = False
    """Layer normalisation in the hidden layers of the critics, over channels and elements together,
    so that symmetries stay exact."""
    waist: int | None = 50
    """Width of DrQ-v2's trunk, or None to go without."""
    normalise: bool = False
    """Subtract the running mean of vector observations, and bring deviations below 0.1 or above 10
    there with one scale for each orbit of coordinates, so that symmetries stay exact."""
    sit_readout: str = "broken"
    """What follows the symmetric part of sit: broken (the baseline, plain heads) or equivariant
    (features over the group, exact heads)."""
    window_features: int = 256
    """Width of the encoding of a window of days."""
    window_heads: str = "plain"
    """Heads over a window of days: conv (the paper: they keep the axes of time and scale, and
    symmetric models get as many parameters as none) or plain (linear, after an invariant mean)."""
    spread_strength: float = 0.0
    """Penalty on the spread of relaxed weights."""
    relaxed_rate: float = 1.0
    """Learning rate of relaxed weights, relative to that of all others."""
    relaxed_decay: float = 0.0
    """Share of the distance to their mean that relaxed weights lose in an update."""
    relaxed_from: int = 0
    """Updates before relaxed weights begin to learn; until then the model is exact. The few
    episodes at the start are never symmetric, even where the world is."""
    mirror_strength: float = 1.0
    """Weight of the loss that pulls π(gs) to gπ(s), for the model mirror."""
    rpp_actor: tuple[float, float] = (1e-6, 1e-6)
    """RPP priors on the actor: strengths for the exact and for the free weights."""
    rpp_critic: tuple[float, float] = (0.0, 0.0)
    """RPP priors on critic and encoder."""

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise unknown_name("model", self.model, MODELS)
        if self.sit_readout not in SIT_READOUTS:
            raise unknown_name("`sit_readout`", self.sit_readout, SIT_READOUTS)
        if self.window_heads not in WINDOW_HEADS:
            raise unknown_name("`window_heads`", self.window_heads, WINDOW_HEADS)
        for name in ("channels", "channel_multiple", "hidden", "filters"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}.")

    @property
    def heads(self) -> str:
        """The model whose layers the heads are made of."""
        return "exact" if self.model == "sit" and self.sit_readout == "equivariant" else self.model

    @property
    def needs_symmetry(self) -> bool:
        """Whether nothing can be built without a declared symmetry."""
        return self.heads not in PLAIN or self.model in TAUGHT
