"""The networks of one agent, built and bundled."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn

from nearsym.networks.moves import RandomMoves
from nearsym.networks.normalise import Normaliser


def no_penalty() -> Tensor | float:
    """No regularisation."""
    return 0.0


@dataclass(frozen=True)
class ActorCritic:
    """Everything an agent learns with; the agent never asks what is inside."""

    encoder: nn.Module
    """Observations to features (batch, |G|, channels)."""
    actor: nn.Module
    """Features to the parameters of a policy."""
    critic: nn.Module
    """Features and actions to values (critics, batch)."""
    action_size: int
    actor_penalty: Callable[[], Tensor | float] = field(default=no_penalty)
    """Added to the actor's loss: a prior on its weights."""
    critic_penalty: Callable[[], Tensor | float] = field(default=no_penalty)
    """Added to the critic's loss: a prior on the weights of critic and encoder."""
    moves: RandomMoves | None = None
    """How the samples of a batch are moved before they are learned from; None leaves them."""
    mirror_strength: float = 0.0
    """Weight of ‖gπ(s) − π(gs)‖² in the actor's loss."""
    relaxed_rate: float = 1.0
    """Learning rate of relaxed weights, relative to that of all others."""
    relaxed_decay: float = 0.0
    """Share of the distance to their mean that relaxed weights lose in an update."""
    relaxed_from: int = 0
    """Updates before relaxed weights begin to learn; until then the networks are exact."""

    @property
    def normaliser(self) -> Normaliser | None:
        """What follows the scale of the observations, where something does."""
        return getattr(self.encoder, "normaliser", None)

    @property
    def parts(self) -> dict[str, nn.Module]:
        return {"encoder": self.encoder, "actor": self.actor, "critic": self.critic}

    def parameter_counts(self) -> dict[str, int]:
        """Learned numbers in each part, and in all."""
        counts = {
            name: sum(p.numel() for p in part.parameters()) for name, part in self.parts.items()
        }
        return counts | {"total": sum(counts.values())}
