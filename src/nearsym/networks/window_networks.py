"""Networks over a window of days whose heads are convolutions too, as large as those of `none`.

The paper controls the number of channels so that all models have about as many parameters. A window
of T days with F features costs `none` T·F numbers for each hidden unit and a convolution of five
taps 5·F, so which width that is depends on the data: it is searched for.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.symmetry import TimeSymmetry
from nearsym.networks.kit import make_time_kit
from nearsym.networks.window import GAIN, window_encoder
from nearsym.networks.window_heads import WINDOW_ACTORS, WindowTwinCritic

if TYPE_CHECKING:
    from nearsym.networks.config import NetworkConfig

KERNEL = 5
WIDEST = 4
"""How many times as wide as `none` a symmetric network may become."""

Parts = tuple[nn.Module, nn.Module, nn.Module]
"""Encoder, actor and critic."""


def window_networks(
    symmetry: TimeSymmetry, agent: str, config: "NetworkConfig", width: int
) -> Parts:
    """Encoder, actor and critic of a symmetric model with hidden layers of so many channels."""
    if config.waist is not None:
        raise UsageError("`waist` belongs to plain heads: use `waist=None`, or `window_heads`.")
    if config.critic_norm:
        raise UsageError(
            "`critic_norm` belongs to plain heads: use `window_heads='plain'` with it."
        )
    features = config.window_features
    encoder = window_encoder(
        config.model,
        symmetry,
        hidden=width,
        features=features,
        kernel_size=KERNEL,
        filters=config.filters,
        keep_time=True,
    )
    kit = make_time_kit(
        config.model, symmetry, kernel_size=KERNEL, filters=config.filters, gain=GAIN
    )
    assert kit is not None
    actions = symmetry.actions
    actor = WINDOW_ACTORS[agent](kit, features, (width,) * config.actor_depth, actions)
    critic = WindowTwinCritic(kit, features, (width,) * config.critic_depth, actions)
    return encoder, actor, critic


def matched_width(symmetry: TimeSymmetry, agent: str, config: "NetworkConfig", wanted: int) -> int:
    """The width with which a symmetric model has the number of parameters nearest to `wanted`.

    For rpp, which has a free layer beside every exact one, it is the width of exact.
    """
    if config.model == "rpp":
        config = replace(config, model="exact")

    def count(width: int) -> int:
        with torch.random.fork_rng(devices=[]):
            parts = window_networks(symmetry, agent, config, width)
        return sum(p.numel() for part in parts for p in part.parameters())

    low, high = 1, WIDEST * config.hidden
    while high - low > 1:  # the count grows with the width
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) <= wanted else (low, middle)
    return min((low, high), key=lambda width: abs(count(width) - wanted))
