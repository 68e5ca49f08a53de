"""Features to actions and values."""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.groups.representation import Representation
from nearsym.layers.init import orthogonal_
from nearsym.layers.norm import GroupLayerNorm
from nearsym.networks.encoder import VectorEncoder
from nearsym.networks.kit import Kit


class Body(nn.Module):
    """Features to features: group-linear layers with ReLU, normalised before it if asked for."""

    def __init__(
        self, kit: Kit, in_channels: int, hidden: tuple[int, ...], *, normalised: bool = False
    ):
        super().__init__()
        widths = (in_channels, *hidden)
        self.layers = nn.ModuleList(kit.linear(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(
            GroupLayerNorm(kit.group, width) if normalised else nn.Identity() for width in hidden
        )
        self.out_channels = widths[-1]
        for layer in self.layers:
            orthogonal_(layer, gain=1.0)

    def forward(
        self, x: Float[Tensor, "batch group channels"]
    ) -> Float[Tensor, "batch group out_channels"]:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = torch.relu(norm(layer(x)))
        return x


def trunk(kit: Kit, in_channels: int, channels: int | None) -> tuple[nn.Module, int]:
    """DrQ-v2's narrow waist (linear, norm, tanh) and its width; None passes features through."""
    if channels is None:
        return nn.Identity(), in_channels
    linear = kit.linear(in_channels, channels)
    orthogonal_(linear, gain=1.0)
    return nn.Sequential(linear, GroupLayerNorm(kit.group, channels), nn.Tanh()), channels


def projection(kit: Kit, representation: Representation, in_channels: int) -> nn.Module:
    """Features to a vector that moves by a representation."""
    layer = kit.project(kit.restrict(representation), in_channels)
    orthogonal_(layer, gain=1.0)
    return layer


class _Actor(nn.Module):
    """What actors share: the features before, and the mean of a policy before its tanh."""

    def __init__(
        self,
        kit: Kit,
        in_channels: int,
        waist: int | None,
        hidden: tuple[int, ...],
        action: Representation,
    ):
        super().__init__()
        self.trunk, width = trunk(kit, in_channels, waist)
        self.body = Body(kit, width, hidden)
        self.mean = projection(kit, action, self.body.out_channels)


class DeterministicActor(_Actor):
    """The mean of DrQ-v2's policy before its tanh, moving by ρ(g).

    tanh comes after the projection to ρ: it commutes with signed permutations, so the action is
    equivariant, and it keeps the action inside the box.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.networks.kit import make_kit
    >>> mirror = dihedral(1)
    >>> actor = DeterministicActor(make_kit("exact", mirror), 3, 50, (16,), 2 * mirror.sign())
    >>> actor(torch.zeros(5, 2, 3)).shape
    torch.Size([5, 2])
    """

    def forward(
        self, features: Float[Tensor, "batch group channels"]
    ) -> Float[Tensor, "batch action"]:
        return self.mean(self.body(self.trunk(features)))


class GaussianActor(_Actor):
    """Mean and log-standard-deviation of SAC's normal before its tanh.

    The mean moves by ρ(g), the log-standard-deviation by |ρ(g)|, so log π(ga|gs) = log π(a|s).

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.networks.kit import make_kit
    >>> mirror = dihedral(1)
    >>> actor = GaussianActor(make_kit("exact", mirror), 3, None, (16,), 2 * mirror.sign())
    >>> mean, log_std = actor(torch.zeros(5, 2, 3))
    """

    LOG_STD_RANGE = (-10.0, 2.0)

    def __init__(
        self,
        kit: Kit,
        in_channels: int,
        waist: int | None,
        hidden: tuple[int, ...],
        action: Representation,
    ):
        super().__init__(kit, in_channels, waist, hidden, action)
        self.log_std = projection(kit, kit.restrict(action).absolute(), self.body.out_channels)

    def forward(
        self, features: Float[Tensor, "batch group channels"]
    ) -> tuple[Float[Tensor, "batch action"], Float[Tensor, "batch action"]]:
        x = self.body(self.trunk(features))
        return self.mean(x), self.log_std(x).clamp(*self.LOG_STD_RANGE)


class TwinCritic(nn.Module):
    """Two invariant values Q(s, a) of features and action.

    The action enters as its orbit ρ(g)⁻¹a beside the feature of g; the value is the mean over g.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.networks.kit import make_kit
    >>> mirror = dihedral(1)
    >>> critic = TwinCritic(make_kit("exact", mirror), 3, 50, (16,), 2 * mirror.sign())
    >>> critic(torch.zeros(5, 2, 3), torch.zeros(5, 2)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        kit: Kit,
        in_channels: int,
        waist: int | None,
        hidden: tuple[int, ...],
        action: Representation,
        *,
        normalised: bool = False,
    ):
        super().__init__()
        self.trunk, width = trunk(kit, in_channels, waist)
        self.lift_action = VectorEncoder(kit.restrict(action))
        inputs = width + action.size
        bodies = [Body(kit, inputs, hidden, normalised=normalised) for _ in range(2)]
        invariant = kit.group.trivial()
        self.bodies = nn.ModuleList(bodies)
        self.values = nn.ModuleList(projection(kit, invariant, b.out_channels) for b in bodies)

    def forward(
        self, features: Float[Tensor, "batch group channels"], action: Float[Tensor, "batch action"]
    ) -> Float[Tensor, "2 batch"]:
        x = torch.cat([self.trunk(features), self.lift_action(action)], dim=-1)
        values = [out(body(x)) for body, out in zip(self.bodies, self.values, strict=True)]
        return torch.cat(values, dim=-1).T
