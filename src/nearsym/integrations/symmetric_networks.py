"""The networks of policies in other people's tools: flat features in, vectors that move out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor, nn

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.representation import Representation
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.init import orthogonal_
from nearsym.networks.build import build_encoder, build_kit, narrowed
from nearsym.networks.config import NetworkConfig
from nearsym.networks.encoder import VectorEncoder
from nearsym.networks.heads import projection, trunk
from nearsym.networks.kit import Kit

MODELS = ("none", "exact", "approx")
WAIST = 50
"""Features of an image, for each element: DrQ-v2's."""


@dataclass(frozen=True)
class SymmetricNetworks:
    """Makes networks for one symmetry. Widths are those of `none`, as in `NetworkConfig`.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.representation import sign
    >>> mirror = dihedral(1)
    >>> networks = SymmetricNetworks(Symmetry(2 * sign(mirror), sign(mirror)), "exact")
    >>> features = networks.encoder((2,))
    >>> policy = nn.Sequential(features, networks.to_action(features.size, [16], nn.ReLU))
    >>> x = torch.randn(5, 2)
    >>> torch.allclose(policy(-x), -policy(x))
    True
    """

    symmetry: Symmetry
    model: str = "approx"
    filters: int = 1
    channels: int = 32

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise unknown_name("model", self.model, MODELS)

    @cached_property
    def kit(self) -> Kit:
        """Makers of layers."""
        return build_kit(self.symmetry, self._config)

    @property
    def _config(self) -> NetworkConfig:
        return NetworkConfig(model=self.model, filters=self.filters, channels=self.channels)

    @property
    def action(self) -> Representation:
        """How actions move, as far as the model knows."""
        return self.kit.restrict(self.symmetry.action)

    def encoder(self, obs_shape: tuple[int, ...]) -> "FlatFeatures":
        """Observations to features, in one row: vectors as their orbit, images through
        convolutions and a narrow waist."""
        encoder = build_encoder(self.kit, self.symmetry, obs_shape, self._config)
        after, size = trunk(self.kit, encoder.features, WAIST if len(obs_shape) == 3 else None)
        return FlatFeatures(nn.Sequential(encoder, after), self.kit.group.order * size)

    def body(self, size: int, widths: Sequence[int], activation: type[nn.Module]) -> "Body":
        """Flat features to features (batch, |G|, channels)."""
        return Body(self.kit, size // self.kit.group.order, self._narrowed(widths), activation)

    def to(self, representation: Representation, body: "Body", gain: float = 1.0) -> nn.Module:
        """What a body gives to a vector that moves by a representation."""
        layer = projection(self.kit, representation, body.channels)
        return orthogonal_(layer, gain)

    def to_action(
        self, size: int, widths: Sequence[int], activation: type[nn.Module]
    ) -> nn.Sequential:
        """Flat features to a vector that moves as actions do."""
        body = self.body(size, widths, activation)
        return nn.Sequential(body, self.to(self.action, body))

    def to_value(self, size: int, widths: Sequence[int], activation: type[nn.Module]) -> "Value":
        """Flat features and an action, in one row, to an invariant value."""
        each = size // self.kit.group.order + self.action.size
        body = Body(self.kit, each, self._narrowed(widths), activation)
        return Value(VectorEncoder(self.action), body, self.to(self.invariant, body))

    @property
    def invariant(self) -> Representation:
        """How a value moves: not at all."""
        return self.kit.group.trivial()

    def _narrowed(self, widths: Sequence[int]) -> tuple[int, ...]:
        if not widths:
            raise UsageError("`net_arch` needs a layer for each network, got an empty list.")
        return tuple(narrowed(width, self.kit.group, 8) for width in widths)


class FlatFeatures(nn.Module):
    """Features (batch, |G|, channels) as rows, which is what other tools expect of them."""

    def __init__(self, inner: nn.Module, size: int):
        super().__init__()
        self.inner, self.size = inner, size

    def forward(self, obs: Tensor) -> Tensor:
        return self.inner(obs).flatten(1)


class Body(nn.Module):
    """Group-linear layers with an activation, from rows of features."""

    def __init__(
        self, kit: Kit, in_channels: int, hidden: tuple[int, ...], activation: type[nn.Module]
    ):
        super().__init__()
        layers = [kit.linear(a, b) for a, b in pairwise((in_channels, *hidden))]
        self.layers = nn.ModuleList(orthogonal_(layer) for layer in layers)
        self.activation = activation()
        self.order, self.channels = kit.group.order, hidden[-1]

    def forward(self, rows: Tensor) -> Tensor:
        x = rows.unflatten(1, (self.order, -1))
        for layer in self.layers:
            x = self.activation(layer(x))
        return x


class Value(nn.Module):
    """Q(s, a) of rows that end in the action, which joins the features as its orbit."""

    def __init__(self, lift: VectorEncoder, body: Body, out: nn.Module):
        super().__init__()
        self.lift, self.body, self.out = lift, body, out

    def forward(self, rows: Tensor) -> Tensor:
        size = self.lift.features
        features, action = rows[:, :-size], rows[:, -size:]
        joined = [features.unflatten(1, (self.body.order, -1)), self.lift(action)]
        return self.out(self.body(torch.cat(joined, dim=-1).flatten(1)))
