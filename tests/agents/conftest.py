"""Small agents over a mirror, and batches for them."""

import pytest
import torch

from nearsym.agents.base import Compute
from nearsym.agents.batch import Batch
from nearsym.agents.drqv2 import DrQV2, DrQV2Config
from nearsym.agents.sac import SAC, SACConfig
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import sign, trivial_of
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

MIRROR = dihedral(1)
STATE = Symmetry(sign(MIRROR) + trivial_of(MIRROR), 2 * sign(MIRROR))
PIXELS = Symmetry(ImageAction(MIRROR, height=-3, width=-2), 2 * sign(MIRROR))
CONFIGS = {"drqv2": (DrQV2, DrQV2Config), "sac": (SAC, SACConfig)}


def _make_agent(
    agent="drqv2", *, pixels=False, size=37, seed=0, bfloat16=False, network=None, **options
):
    torch.manual_seed(seed)
    sizes = NetworkConfig(**({"model": "approx", "channels": 4, "hidden": 16} | (network or {})))
    symmetry, shape = (PIXELS, (size, size, 3)) if pixels else (STATE, (2,))
    networks = build_actor_critic(symmetry, shape, agent, sizes)
    kind, config = CONFIGS[agent]
    compute = Compute(torch.device("cpu"), bfloat16=bfloat16)
    generator = torch.Generator().manual_seed(seed)
    return kind(networks, config(**options), compute=compute, generator=generator)


def _make_batch(count=8, *, pixels=False, size=37, seed=0):
    rng = torch.Generator().manual_seed(seed)

    def obs():
        if pixels:
            return torch.randint(0, 256, (count, size, size, 3), dtype=torch.uint8, generator=rng)
        return torch.randn(count, 2, generator=rng)

    return Batch(
        obs=obs(),
        action=2 * torch.rand(count, 2, generator=rng) - 1,
        reward=torch.randn(count, generator=rng),
        discount=torch.full((count,), 0.9),
        next_obs=obs(),
    )


@pytest.fixture
def make_agent():
    return _make_agent


@pytest.fixture
def make_batch():
    return _make_batch


@pytest.fixture
def weights():
    """All weights of a module, or of several, as one vector."""

    def flat(*modules):
        return torch.cat([p.detach().flatten() for m in modules for p in m.parameters()])

    return flat
