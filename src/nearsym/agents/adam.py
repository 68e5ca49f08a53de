"""Adam (Kingma and Ba 2015) over some parameters, as one fused call."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nearsym.layers.relaxation import relaxed_parameters

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Apart(NamedTuple):
    """Parameters that learn otherwise than the rest: with a share of the rate, from a step on.

    >>> Apart([torch.ones(1)], rate=0.1).begin
    0
    """

    parameters: Sequence[Tensor] = ()
    rate: float = 1.0
    begin: int = 0


ALIKE = Apart()
"""All parameters learn in the same way."""


class Adam:
    """The numbers of `torch.optim.Adam(…, fused=True)`, which takes gradients instead of finding
    them in its parameters and leaves out bookkeeping that costs as much as a small network.

    >>> weight = torch.ones(3, requires_grad=True)
    >>> optimiser = Adam([weight], learning_rate=0.1)
    >>> minimise(weight.sum(), optimiser)
    >>> weight.detach()
    tensor([0.9000, 0.9000, 0.9000])
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        learning_rate: float,
        *,
        apart: Apart = ALIKE,
    ):
        self.parameters = list(parameters)
        others = {id(p) for p in apart.parameters}
        ways = [
            (learning_rate * apart.rate, apart.begin) if id(p) in others else (learning_rate, 0)
            for p in self.parameters
        ]
        # Which parameters share a call: almost always all of them.
        self.calls = {
            way: [i for i, own in enumerate(ways) if own == way] for way in dict.fromkeys(ways)
        }
        self.share = 1.0  # of the rates; whoever has a schedule sets it before each step
        self.steps = 0  # as `count`, which may lie on another device
        device = self.parameters[0].device
        self.count = torch.zeros((), device=device)
        self.means = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        self.squares = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """One step; a parameter without a gradient stays where it is."""
        rows = list(zip(self.parameters, gradients, self.means, self.squares, strict=True))
        if all(g is None for g in gradients):
            return
        self.count += 1
        self.steps += 1
        for (rate, begin), members in self.calls.items():
            present = [rows[i] for i in members if gradients[i] is not None]
            if present:  # moments are there when it begins, so that its first steps are as others
                self._call(rate * self.share if self.steps > begin else 0.0, present)

    def _call(self, rate: float, rows: list[Any]) -> None:
        laid = [(p, _laid_out_as(p, g), m, s) for p, g, m, s in rows]
        weights, known, means, squares = (list(column) for column in zip(*laid, strict=True))
        torch._fused_adam_(
            weights,
            known,
            means,
            squares,
            [],
            [self.count] * len(rows),
            lr=rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """The moments of each parameter, in their order, and the number of steps."""
        moments = zip(self.means, self.squares, strict=True)
        return {
            "state": {
                i: {"step": self.count.clone(), "exp_avg": mean, "exp_avg_sq": square}
                for i, (mean, square) in enumerate(moments)
            }
        }

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse; the state of `torch.optim.Adam` is understood too."""
        for i, moments in state["state"].items():
            self.count.copy_(moments["step"])
            self.means[i].copy_(moments["exp_avg"])
            self.squares[i].copy_(moments["exp_avg_sq"])
        self.steps = int(self.count)


def adam(
    learning_rate: float, module: nn.Module, relaxed_rate: float = 1.0, relaxed_from: int = 0
) -> Adam | None:
    """Adam over the parameters of a module, or None where there are none to learn; relaxed weights
    may have a rate and a beginning of their own."""
    parameters = list(module.parameters())
    if not parameters:
        return None
    apart = Apart(relaxed_parameters(module), relaxed_rate, relaxed_from)
    return Adam(parameters, learning_rate, apart=apart)


def _laid_out_as(parameter: Tensor, gradient: Tensor) -> Tensor:
    """The fused call walks through memory: a gradient that lies there differently is copied."""
    if gradient.is_contiguous() and parameter.is_contiguous():
        return gradient
    if gradient.stride() == parameter.stride():
        return gradient
    return torch.empty_like(parameter).copy_(gradient)


def gradients_of(
    output: Tensor, parameters: Sequence[Tensor], weights: Tensor | None = None
) -> Sequence[Tensor | None]:
    """The gradients of an output, or of its sum with `weights`; None for what is not part of it."""
    return torch.autograd.grad(output, parameters, weights, allow_unused=True)


def minimise(loss: Tensor, *optimisers: Adam | None) -> None:
    """One gradient step of each optimiser on a loss; nothing else gets a gradient."""
    present = [optimiser for optimiser in optimisers if optimiser is not None]
    parameters = [p for optimiser in present for p in optimiser.parameters]
    gradients = gradients_of(loss, parameters)
    start = 0
    for optimiser in present:
        end = start + len(optimiser.parameters)
        optimiser.step(gradients[start:end])
        start = end
