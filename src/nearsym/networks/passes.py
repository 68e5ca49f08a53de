"""The forward and backward passes of actors and critics, written out."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from nearsym.layers.passes import Chain, written_out
from nearsym.layers.rows import Back, Pass
from nearsym.networks.heads import Body, DeterministicActor, GaussianActor, TwinCritic


class OfWeights(NamedTuple):
    """The gradients by all parameters of a network, and by its features where they are wanted."""

    gradients: list[Tensor]
    by_features: Tensor | None


class Perceptron:
    """A body, then one projection or several."""

    def __init__(self, body: Chain, ends: Sequence[Pass]):
        self.body, self.ends = body, ends
        self.learned = [*body.learned, *(p for end in ends for p in end.learned)]

    def forward(self, x: Tensor) -> tuple[list[Tensor], Any]:
        x, inner = self.body.forward(x)
        ran = [end.forward(x) for end in self.ends]
        return [y for y, _ in ran], (inner, [kept for _, kept in ran])

    def backward(self, saved: Any, dys: Sequence[Tensor], *, learns: bool, wants_x: bool) -> Back:
        inner, kept_by_ends = saved
        backs = [
            end.backward(kept, dy, learns=learns, wants_x=True)
            for end, kept, dy in zip(self.ends, kept_by_ends, dys, strict=True)
        ]
        back = self.body.backward(inner, _summed(backs), learns=learns, wants_x=wants_x)
        return Back(back.dx, [*back.learned, *chain(*(end.learned for end in backs))])


class ActorPasses:
    """Both passes of an actor, up to what its projections give."""

    def __init__(self, trunk: Chain, perceptron: Perceptron, actor: nn.Module):
        self.trunk, self.perceptron = trunk, perceptron
        self.places = _places([*trunk.learned, *perceptron.learned], actor)

    def forward(self, features: Tensor) -> tuple[list[Tensor], Any]:
        """The mean before its tanh; of a `GaussianActor` also log σ, which is not clamped."""
        x, saved_by_trunk = self.trunk.forward(_rows(features))
        ends, saved = self.perceptron.forward(x)
        return ends, (saved_by_trunk, saved)

    def backward(self, saved: Any, *dys: Tensor) -> list[Tensor]:
        """The gradients by all parameters of the actor."""
        saved_by_trunk, inner = saved
        waisted = bool(self.trunk.passes)
        back = self.perceptron.backward(inner, dys, learns=True, wants_x=waisted)
        before = self.trunk.backward(saved_by_trunk, back.dx, learns=True, wants_x=False)
        found = before.learned + back.learned
        return [found[i] for i in self.places]


class CriticPasses:
    """Both passes of a `TwinCritic`; called, the critics without gradients."""

    def __init__(self, trunk: Chain, perceptrons: Sequence[Perceptron], critic: TwinCritic):
        self.trunk, self.perceptrons = trunk, perceptrons
        self.lift_action = critic.lift_action
        learned = [p for one in perceptrons for p in one.learned]
        self.places = _places([*trunk.learned, *learned], critic)

    def __call__(self, features: Tensor, action: Tensor) -> Tensor:
        return self.forward(features, action)[0]

    def forward(self, features: Tensor, action: Tensor) -> tuple[Tensor, Any]:
        """Values (critics, batch)."""
        x, saved_by_trunk = self.trunk.forward(_rows(features))
        rows = torch.cat([x, _rows(self.lift_action(action))], dim=-1)
        ran = [one.forward(rows) for one in self.perceptrons]
        values = torch.cat([y for (y,), _ in ran], dim=-1).T
        return values, (saved_by_trunk, [saved for _, saved in ran])

    def by_weights(self, saved: Any, dq: Tensor, *, wants_features: bool = False) -> OfWeights:
        """The gradients by all parameters of the critics, and by the features."""
        saved_by_trunk, inner = saved
        wants_x = wants_features or bool(self.trunk.passes)
        backs = self._backs(inner, dq, learns=True, wants_x=wants_x)
        found = [gradient for back in backs for gradient in back.learned]
        by_features = None
        if wants_x:
            by_x = _summed(backs)[:, : -self.lift_action.features]  # the action stands last
            before = self.trunk.backward(
                saved_by_trunk, by_x.contiguous(), learns=True, wants_x=wants_features
            )
            found = before.learned + found
            by_features = _of_rows(before.dx, dq.shape[1]) if wants_features else None
        return OfWeights([found[i] for i in self.places], by_features)

    def by_action(self, saved: Any, dq: Tensor) -> Tensor:
        """The gradient by the actions."""
        dx = _summed(self._backs(saved[1], dq, learns=False, wants_x=True))
        orbit = self.lift_action.orbit()  # (|G|·size, size)
        lifted = dx[:, -orbit.shape[1] :].view(-1, len(dq[0]), orbit.shape[1])
        return torch.mm(lifted.transpose(0, 1).flatten(1), orbit)

    def _backs(self, saved: Any, dq: Tensor, *, learns: bool, wants_x: bool) -> list[Back]:
        return [
            one.backward(own, (dy.unsqueeze(1),), learns=learns, wants_x=wants_x)
            for one, own, dy in zip(self.perceptrons, saved, dq, strict=True)
        ]


def actor_passes(actor: nn.Module) -> ActorPasses | None:
    """The passes of an actor; None where they are not written out."""
    if not isinstance(actor, DeterministicActor | GaussianActor):
        return None
    ends = [actor.mean, actor.log_std] if isinstance(actor, GaussianActor) else [actor.mean]
    trunk, found = _trunk(actor.trunk), _perceptron(actor.body, ends)
    if trunk is None or found is None or not _are_all([trunk, found], actor):
        return None
    return ActorPasses(trunk, found, actor)


def critic_passes(critic: nn.Module) -> CriticPasses | None:
    """The passes of a pair of critics; None where they are not written out."""
    if not isinstance(critic, TwinCritic):
        return None
    pairs = zip(critic.bodies, critic.values, strict=True)
    trunk, found = _trunk(critic.trunk), _all_of(_perceptron(body, [end]) for body, end in pairs)
    if trunk is None or found is None or not _are_all([trunk, *found], critic):
        return None
    return CriticPasses(trunk, found, critic)


def _trunk(trunk: nn.Module) -> Chain | None:
    layers = () if isinstance(trunk, nn.Identity) else trunk.children()
    passes = _all_of(map(written_out, layers))
    return None if passes is None else Chain(passes)


def _perceptron(body: Any, ends: Sequence[nn.Module]) -> Perceptron | None:
    if type(body) is not Body:
        return None
    inner, outs = _all_of(map(written_out, _in_turn(body))), _all_of(map(written_out, ends))
    return None if inner is None or outs is None else Perceptron(Chain(inner), outs)


def _in_turn(body: Body) -> Iterable[nn.Module]:
    for layer, norm in zip(body.layers, body.norms, strict=True):
        yield layer
        if not isinstance(norm, nn.Identity):
            yield norm
        yield nn.ReLU()


Kind = TypeVar("Kind")


def _all_of(found: Iterable[Kind | None]) -> list[Kind] | None:
    """All of them, or None if one is missing."""
    every = list(found)
    present = [one for one in every if one is not None]
    return present if len(present) == len(every) else None


def _are_all(passes: Sequence[Chain | Perceptron], network: nn.Module) -> bool:
    """Whether the passes learn what the network learns, each weight in one place."""
    learned = sorted(id(p) for one in passes for p in one.learned)
    return learned == sorted(map(id, network.parameters()))


def _places(learned: Sequence[nn.Parameter], network: nn.Module) -> list[int]:
    """Where the parameters of a network stand among those that its passes learn."""
    places = {id(parameter): i for i, parameter in enumerate(learned)}
    return [places[id(parameter)] for parameter in network.parameters()]


def _summed(backs: Sequence[Back]) -> Tensor:
    """The gradient by what several networks were given; the first one's is of no further use."""
    dx = backs[0].dx
    for other in backs[1:]:
        dx += other.dx
    return dx


def _rows(features: Tensor) -> Tensor:
    """Features (batch, |G|, channels) as rows (|G|·batch, channels)."""
    return features.transpose(0, 1).reshape(-1, features.shape[-1])


def _of_rows(rows: Tensor, batch: int) -> Tensor:
    """The inverse."""
    return rows.view(-1, batch, rows.shape[-1]).transpose(0, 1)
