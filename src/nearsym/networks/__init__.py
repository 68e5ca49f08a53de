"""Encoders, actors and critics built from a Symmetry; the only room that knows the models.

>>> from nearsym.groups import Symmetry, dihedral
>>> from nearsym.networks import NetworkConfig, build_actor_critic
>>> rho = dihedral(1).sign()
>>> networks = build_actor_critic(Symmetry(3 * rho, rho), (3,), "sac", NetworkConfig(hidden=16))
>>> sorted(networks.parts)
['actor', 'critic', 'encoder']
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.networks.actor_critic import ActorCritic as ActorCritic
    from nearsym.networks.build import build_actor_critic as build_actor_critic
    from nearsym.networks.config import NetworkConfig as NetworkConfig
    from nearsym.networks.encoder import PixelEncoder as PixelEncoder
    from nearsym.networks.encoder import VectorEncoder as VectorEncoder
    from nearsym.networks.heads import DeterministicActor as DeterministicActor
    from nearsym.networks.heads import GaussianActor as GaussianActor
    from nearsym.networks.heads import TwinCritic as TwinCritic
    from nearsym.networks.kit import Kit as Kit
    from nearsym.networks.kit import make_kit as make_kit
    from nearsym.networks.normalise import Normaliser as Normaliser
    from nearsym.networks.policy import MeanPolicy as MeanPolicy
    from nearsym.networks.policy import SmallerValue as SmallerValue
    from nearsym.networks.sit import SiTEncoder as SiTEncoder

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "ActorCritic": ".actor_critic",
        "DeterministicActor": ".heads",
        "GaussianActor": ".heads",
        "Kit": ".kit",
        "MeanPolicy": ".policy",
        "NetworkConfig": ".config",
        "Normaliser": ".normalise",
        "PixelEncoder": ".encoder",
        "SiTEncoder": ".sit",
        "SmallerValue": ".policy",
        "TwinCritic": ".heads",
        "VectorEncoder": ".encoder",
        "build_actor_critic": ".build",
        "make_kit": ".kit",
    },
)
