"""The forward and backward passes of SAC's actor and critics on vectors, written out."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from nearsym.layers.passes import Back, Pass, written_out
from nearsym.networks.heads import GaussianActor, TwinCritic


class Perceptron:
    """Layers with ReLU after each, then one projection or several."""

    def __init__(self, layers: Sequence[Pass], ends: Sequence[Pass]):
        self.layers, self.ends = layers, ends
        self.learned = [p for one in (*layers, *ends) for p in one.learned]

    def forward(self, x: Tensor) -> tuple[list[Tensor], Any]:
        saved = []
        for layer in self.layers:
            y, kept = layer.forward(x)
            x = y.relu_()
            saved.append((kept, x))
        ends = [end.forward(x) for end in self.ends]
        return [y for y, _ in ends], (saved, [kept for _, kept in ends])

    def backward(self, saved: Any, dys: Sequence[Tensor], *, learns: bool, wants_x: bool) -> Back:
        inner, kept_by_ends = saved
        backs = [
            end.backward(kept, dy, learns=learns, wants_x=True)
            for end, kept, dy in zip(self.ends, kept_by_ends, dys, strict=True)
        ]
        dy = backs[0].dx
        for other in backs[1:]:
            dy += other.dx
        found = [gradient for back in backs for gradient in back.learned]
        for i in reversed(range(len(self.layers))):
            kept, y = inner[i]
            dy = torch.ops.aten.threshold_backward(dy, y, 0)
            dy, learned = self.layers[i].backward(kept, dy, learns=learns, wants_x=wants_x or i > 0)
            found = learned + found
        return Back(dy, found)


class ActorPasses:
    """Both passes of a `GaussianActor` without a waist; called, the actor without gradients."""

    def __init__(self, perceptron: Perceptron, actor: GaussianActor):
        self.perceptron, self.range = perceptron, actor.LOG_STD_RANGE
        self.places = _places(perceptron.learned, actor)

    def __call__(self, features: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self.forward(features)[0]
        return mean, self.clamped(log_std)

    def clamped(self, log_std: Tensor) -> Tensor:
        return log_std.clamp(*self.range)

    def forward(self, features: Tensor) -> tuple[list[Tensor], Any]:
        """Mean and log σ, which is not clamped."""
        return self.perceptron.forward(_rows(features))

    def backward(self, saved: Any, d_mean: Tensor, d_log_std: Tensor) -> list[Tensor]:
        """The gradients by all parameters of the actor."""
        dys = (d_mean, d_log_std)
        found = self.perceptron.backward(saved, dys, learns=True, wants_x=False).learned
        return [found[i] for i in self.places]


class CriticPasses:
    """Both passes of a `TwinCritic` without a waist; called, the critics without gradients."""

    def __init__(self, perceptrons: Sequence[Perceptron], critic: TwinCritic):
        self.perceptrons, self.lift_action = perceptrons, critic.lift_action
        self.places = _places([p for one in perceptrons for p in one.learned], critic)

    def __call__(self, features: Tensor, action: Tensor) -> Tensor:
        return self.forward(features, action)[0]

    def forward(self, features: Tensor, action: Tensor) -> tuple[Tensor, Any]:
        """Values (critics, batch)."""
        rows = _rows(torch.cat([features, self.lift_action(action)], dim=-1))
        ran = [one.forward(rows) for one in self.perceptrons]
        return torch.cat([y for (y,), _ in ran], dim=-1).T, [saved for _, saved in ran]

    def by_weights(self, saved: Any, dq: Tensor) -> list[Tensor]:
        """The gradients by all parameters of the critics."""
        backs = self._backs(saved, dq, learns=True, wants_x=False)
        found = [gradient for back in backs for gradient in back.learned]
        return [found[i] for i in self.places]

    def by_action(self, saved: Any, dq: Tensor) -> Tensor:
        """The gradient by the actions."""
        first, *others = self._backs(saved, dq, learns=False, wants_x=True)
        dx = first.dx
        for other in others:
            dx += other.dx
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
    if type(actor) is not GaussianActor or type(actor.trunk) is not nn.Identity:
        return None
    found = _perceptron(actor.body.layers, [actor.mean, actor.log_std])
    return ActorPasses(found, actor) if found and _are_all([found], actor) else None


def critic_passes(critic: nn.Module) -> CriticPasses | None:
    """The passes of a pair of critics; None where they are not written out."""
    if type(critic) is not TwinCritic or type(critic.trunk) is not nn.Identity:
        return None
    pairs = zip(critic.bodies, critic.values, strict=True)
    found = _all_of(_perceptron(body.layers, [value]) for body, value in pairs)
    return CriticPasses(found, critic) if found and _are_all(found, critic) else None


def _perceptron(layers: Any, ends: Sequence[nn.Module]) -> Perceptron | None:
    passes = _all_of(written_out(layer) for layer in (*layers, *ends))
    return None if passes is None else Perceptron(passes[: -len(ends)], passes[-len(ends) :])


Kind = TypeVar("Kind")


def _all_of(found: Iterable[Kind | None]) -> list[Kind] | None:
    """All of them, or None if one is missing."""
    every = list(found)
    present = [one for one in every if one is not None]
    return present if len(present) == len(every) else None


def _are_all(perceptrons: Sequence[Perceptron], network: nn.Module) -> bool:
    """Whether the passes learn what the network learns, each weight in one place."""
    learned = sorted(id(p) for one in perceptrons for p in one.learned)
    return learned == sorted(map(id, network.parameters()))


def _places(learned: Sequence[nn.Parameter], network: nn.Module) -> list[int]:
    """Where the parameters of a network stand among those that its passes learn."""
    places = {id(parameter): i for i, parameter in enumerate(learned)}
    return [places[id(parameter)] for parameter in network.parameters()]


def _rows(features: Tensor) -> Tensor:
    """Features (batch, |G|, channels) as rows (|G|·batch, channels)."""
    return features.transpose(0, 1).reshape(-1, features.shape[-1])
