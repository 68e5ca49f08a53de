"""A moving average of the weights in training: what is played, where what learns is restless."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


class AveragedNetworks:
    """Copies of some networks whose weights follow theirs (Polyak and Juditsky 1992).

        w̄ ← w̄ + max(rate, 1/n) (w − w̄)        at the n-th update

    At first that is the mean of all weights so far, so that the ones they started from are soon
    forgotten; later those of about the last 1/rate updates count. Numbers that follow the data by
    themselves, such as the moments of a normaliser, are copied.

    >>> network = nn.Linear(1, 1)
    >>> averaged = AveragedNetworks({"actor": network}, rate=0.5)
    >>> for value in (1.0, 3.0, 5.0):
    ...     _ = nn.init.constant_(network.weight, value)
    ...     averaged.follow()
    >>> averaged.parts["actor"].weight.item()
    3.5
    """

    def __init__(self, parts: Mapping[str, nn.Module], rate: float):
        self.rate, self.count = rate, 0
        self.parts = {n: copy.deepcopy(p).requires_grad_(False) for n, p in parts.items()}
        # Listed once: looking them up takes longer than moving the weights of a small network.
        self._followed, self._copied = _weights(parts), _moments(parts)
        self._followers, self._copies = _weights(self.parts), _moments(self.parts)

    @torch.no_grad()
    def follow(self) -> None:
        """Move towards the networks as they are after an update."""
        self.count += 1
        torch._foreach_lerp_(self._followers, self._followed, max(self.rate, 1 / self.count))
        for copied, own in zip(self._copied, self._copies, strict=True):
            own.copy_(copied)

    def state_dict(self) -> dict[str, Any]:
        """The averages and how many updates they have seen."""
        return {n: p.state_dict() for n, p in self.parts.items()} | {"count": self.count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of `state_dict`."""
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.count = int(state["count"])


def _weights(parts: Mapping[str, nn.Module]) -> list[Tensor]:
    return [weight for part in parts.values() for weight in part.parameters()]


def _moments(parts: Mapping[str, nn.Module]) -> list[Tensor]:
    """What is saved with networks and not learned by gradients."""
    saved = [part.state_dict(keep_vars=True).values() for part in parts.values()]
    return [number for each in saved for number in each if not isinstance(number, nn.Parameter)]
