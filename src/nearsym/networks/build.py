"""From a symmetry, the shape of an observation and a size to encoder, actor and critic."""

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import trivial
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation, trivial_of
from nearsym.groups.symmetry import Symmetry, TimeSymmetry
from nearsym.networks.actor_critic import ActorCritic, no_penalty
from nearsym.networks.config import NetworkConfig
from nearsym.networks.encoder import PixelEncoder, VectorEncoder
from nearsym.networks.heads import DeterministicActor, GaussianActor, TwinCritic
from nearsym.networks.kit import TAUGHT, Kit, make_kit, make_time_kit
from nearsym.networks.moves import RandomMoves
from nearsym.networks.penalty import Penalty
from nearsym.networks.sit import SiTEncoder
from nearsym.networks.window import FlatEncoder, TemporalEncoder, window_encoder
from nearsym.networks.window_networks import Parts, matched_width, window_networks

Encoder = PixelEncoder | VectorEncoder | SiTEncoder | TemporalEncoder | FlatEncoder
ACTORS = {"drqv2": DeterministicActor, "sac": GaussianActor}


def build_actor_critic(
    symmetry: Symmetry | TimeSymmetry,
    obs_shape: tuple[int, ...],
    agent: str,
    config: NetworkConfig,
) -> ActorCritic:
    """Networks for a task with this symmetry.

    Weights are drawn from torch's global generator: seed it around the call.
    """
    if agent not in ACTORS:
        raise unknown_name("agent", agent, ACTORS)
    if config.normalise and (isinstance(symmetry, TimeSymmetry) or len(obs_shape) != 1):
        raise UsageError(
            "`normalise` is about vectors; images and windows of days have scales of their own. "
            "Leave it away."
        )
    if isinstance(symmetry, TimeSymmetry):
        return _over_time(symmetry, agent, config)
    kit, action = build_kit(symmetry, config), symmetry.action
    if not kit.restrict(action).is_signed_permutation:
        raise UsageError(
            f"The actors end in a tanh, which commutes only with signed permutations of the "
            f"action, not with {action}. Choose other action coordinates."
        )
    parts = _with_heads(kit, build_encoder(kit, symmetry, obs_shape, config), action, agent, config)
    return _bundled(parts, action.size, config, _moves(symmetry, config.model))


def _with_heads(
    kit: Kit, encoder: Encoder, action: Representation, agent: str, config: NetworkConfig
) -> Parts:
    hidden = narrowed(config.hidden, kit.group, 8)
    inputs = (encoder.features, config.waist)
    actor = ACTORS[agent](kit, *inputs, (hidden,) * config.actor_depth, action)
    depth = (hidden,) * config.critic_depth
    return encoder, actor, TwinCritic(kit, *inputs, depth, action, normalised=config.critic_norm)


def _bundled(
    parts: Parts, actions: int, config: NetworkConfig, moves: RandomMoves | None = None
) -> ActorCritic:
    encoder, actor, critic = parts
    return ActorCritic(
        encoder,
        actor,
        critic,
        action_size=actions,
        actor_penalty=_penalty(config, config.rpp_actor, actor),
        critic_penalty=_penalty(config, config.rpp_critic, critic, encoder),
        moves=moves,
        mirror_strength=config.mirror_strength if config.model == "mirror" else 0.0,
        relaxed_rate=config.relaxed_rate,
        relaxed_decay=config.relaxed_decay,
        relaxed_from=config.relaxed_from,
    )


def _over_time(symmetry: TimeSymmetry, agent: str, config: NetworkConfig) -> ActorCritic:
    """Networks over a window of days."""
    if config.window_heads == "conv" and config.model != "none":
        make_time_kit(config.model, symmetry, filters=config.filters)  # refuses other models
        with torch.random.fork_rng(devices=[]):
            plain = _with_plain_heads(symmetry, agent, replace(config, model="none", filters=1))
        wanted = sum(p.numel() for part in plain for p in part.parameters())
        width = matched_width(symmetry, agent, config, wanted)
        parts = window_networks(symmetry, agent, config, width)
    else:
        parts = _with_plain_heads(symmetry, agent, config)
    return _bundled(parts, symmetry.actions, config)


def _with_plain_heads(symmetry: TimeSymmetry, agent: str, config: NetworkConfig) -> Parts:
    """The encoder of a window ends in invariants: the heads know no group."""
    encoder = window_encoder(
        config.model,
        symmetry,
        hidden=config.hidden,
        features=config.window_features,
        filters=config.filters,
    )
    kit, action = make_kit("none", trivial()), symmetry.actions * trivial_of(trivial())
    return _with_heads(kit, encoder, action, agent, config)


def _moves(symmetry: Symmetry, model: str) -> RandomMoves | None:
    return RandomMoves(symmetry) if model in TAUGHT else None


def build_kit(symmetry: Symmetry, config: NetworkConfig) -> Kit:
    """Makers of the layers of a model."""
    return make_kit(
        config.heads,
        symmetry.group,
        layers=config.layers,
        filters=config.filters,
        relax=config.relax,
    )


def narrowed(width: int, group: FiniteGroup, multiple: int) -> int:
    """width / √|G|, rounded down to a multiple: as many parameters as without the group.

    >>> from nearsym.groups.catalog import dihedral
    >>> narrowed(1024, dihedral(1), 8), narrowed(1024, dihedral(2), 8), narrowed(32, dihedral(1), 1)
    (720, 512, 22)
    """
    if group.order == 1:
        return width
    exact = int(width / math.sqrt(group.order))
    return max(exact // multiple * multiple, min(exact, multiple), 1)


def build_encoder(
    kit: Kit, symmetry: Symmetry, obs_shape: tuple[int, ...], config: NetworkConfig
) -> Encoder:
    """Observations of this shape to features."""
    if len(obs_shape) == 3:
        return _pixel_encoder(kit, symmetry, obs_shape, config)
    return _vector_encoder(kit, symmetry, obs_shape, config)


def _pixel_encoder(
    kit: Kit, symmetry: Symmetry, obs_shape: tuple[int, ...], config: NetworkConfig
) -> PixelEncoder | SiTEncoder:
    if kit.group.order > 1 or config.model in TAUGHT:
        _check_image_action(symmetry)
    if config.model == "sit":
        return SiTEncoder(_side(obs_shape), obs_shape[2], group=kit.group)
    channels = narrowed(config.channels, kit.group, config.channel_multiple)
    return PixelEncoder(kit, _side(obs_shape), obs_shape[2], channels)


def _vector_encoder(
    kit: Kit, symmetry: Symmetry, obs_shape: tuple[int, ...], config: NetworkConfig
) -> VectorEncoder:
    for name, value in (("model", "sit"), ("layers", "steerable")):
        if getattr(config, name) == value:
            raise UsageError(
                f"`{name}={value!r}` reads pixels: use `obs='pixels'` where a task has them, or "
                f"another `{name}`."
            )
    representation = symmetry.observation
    if not isinstance(representation, Representation):
        raise UsageError(f"A vector observation needs a representation, got {representation}.")
    if obs_shape != (representation.size,):
        raise UsageError(
            f"The symmetry moves observations of {representation.size} numbers, the "
            f"environment shows them in the shape {obs_shape}. Declare one for each number."
        )
    return VectorEncoder(kit.restrict(representation), normalise=config.normalise)


def _side(shape: tuple[int, ...]) -> int:
    if shape[0] != shape[1]:
        raise UsageError(f"Images must be square, (size, size, channels), got the shape {shape}.")
    return shape[0]


def _check_image_action(symmetry: Symmetry) -> None:
    action = symmetry.observation
    if not isinstance(action, ImageAction):
        raise UsageError(f"Pixels need an ImageAction, got {action}.")
    if (action.height, action.width) != (-3, -2):
        raise UsageError(
            "Images are (height, width, channels): declare ImageAction(group, height=-3, "
            f"width=-2), got height={action.height}, width={action.width}."
        )


def _penalty(
    config: NetworkConfig, priors: tuple[float, float], *modules: nn.Module
) -> Callable[[], Tensor | float]:
    """The regulariser of some modules as a function without arguments."""
    if config.model == "rpp" and any(priors):
        return Penalty(modules, *priors)
    if config.model == "approx" and config.spread_strength > 0:
        return Penalty(modules, spread=config.spread_strength)
    return no_penalty
