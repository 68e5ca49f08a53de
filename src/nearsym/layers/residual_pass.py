"""The forward and backward passes of residual paths: an exact linear layer and a free one beside
it are one dense layer, whose matrix is their sum."""

from typing import Any

import torch
from torch import Tensor, nn

from nearsym.layers.free import FreeLinear
from nearsym.layers.lift import ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.residual_path import ResidualPath
from nearsym.layers.rows import Back, Pass, by_element, by_sample


def residual_pass(path: ResidualPath) -> Pass | None:
    """The passes of a residual path; None where they are not written out."""
    exact, free = path.exact, path.free
    if type(free) is not FreeLinear:
        return None
    if type(exact) is GroupLinear and exact.relaxed is None:
        both = (exact.bias is None) == (free.linear.bias is None)
        return ResidualPass(exact, free.linear) if both else None
    if type(exact) is ProjectLinear and exact.relaxed is None and exact.out_channels == 1:
        return ResidualProjectPass(exact, free.linear)
    return None


class ResidualPass:
    """A group-linear layer beside a free one: y[g] = (E(ψ) + F)[g] x + b + f[g], where E makes the
    dense matrix of the exact layer from its filters."""

    def __init__(self, exact: GroupLinear, free: nn.Linear):
        self.order, self.width, self.filters = exact.group.order, exact.in_channels, exact.filters
        self.free, self.bias, self.free_bias = free.weight, exact.bias, free.bias
        self.learned = [*exact.parameters(), *free.parameters()]
        unit = torch.eye(self.order, dtype=self.filters.dtype, device=self.filters.device)
        psi = exact.over_elements(unit).squeeze(1)  # (element, stored)
        self.spread_out = psi[exact.relative]  # (g·h, stored): ψ(g⁻¹h) from what is stored

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        n, samples = self.order, by_sample(x, self.order).expand(self.order, -1, -1)
        # As (stored, out, in): turned before it is spread out, while it is small.
        turned = self.filters.view(n, self.width, -1).transpose(1, 2).reshape(n, -1)
        blocks = torch.mm(self.spread_out, turned).view(n, n, -1, self.width)  # (g, h, out, in)
        free = self.free.view(n, -1, n, self.width)
        matrix = (free + blocks.transpose(1, 2)).flatten(2)  # (g, out, h·in)
        y = torch.bmm(samples, matrix.transpose(1, 2))
        if self.bias is not None:  # where the exact layer has one, the free layer has
            y += self.bias + self.free_bias.view(n, 1, -1)
        return y.view(-1, y.shape[-1]), (samples, matrix)

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        samples, matrix = saved
        dy = dy.view(self.order, -1, dy.shape[-1])
        found = self._by_learned(samples, dy) if learns else []
        if not wants_x:
            return Back(None, found)
        dx = torch.mm(dy[0], matrix[0])
        for g in range(1, self.order):
            dx.addmm_(dy[g], matrix[g])
        return Back(by_element(dx, self.order), found)

    def _by_learned(self, samples: Tensor, dy: Tensor) -> list[Tensor]:
        n = self.order
        by_free = torch.bmm(dy.transpose(1, 2), samples)  # (g, out, h·in)
        blocks = by_free.view(n, -1, n, self.width).transpose(1, 2).reshape(n * n, -1)
        turned = torch.mm(self.spread_out.t(), blocks).view(n, -1, self.width)
        by_filters = turned.transpose(1, 2).reshape(self.filters.shape)
        if self.bias is None:
            return [by_filters, by_free.view_as(self.free)]
        by_bias = dy.sum(1)
        return [by_filters, by_bias.sum(0), by_free.view_as(self.free), by_bias.view(-1)]


class ResidualProjectPass:
    """A projection beside a free one: y = (E(A) + F) x + b + f."""

    def __init__(self, exact: ProjectLinear, free: nn.Linear):
        self.exact, self.order = exact, exact.group.order
        self.learned = [*exact.parameters(), *free.parameters()]
        self.filters, self.free, self.free_bias = exact.filters, free.weight, free.bias
        self.average = exact.average().view(-1, exact.out_rep.size)  # (size·g, size)

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        samples = by_sample(x, self.order)
        matrix = torch.mm(self.average, self.filters[0]).view_as(self.free) + self.free
        y = torch.mm(samples, matrix.t())
        for bias in (self.exact.invariant_bias(), self.free_bias):
            y = y if bias is None else y.add_(bias)
        return y, (samples, matrix)

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        samples, matrix = saved
        dx = by_element(torch.mm(dy, matrix), self.order) if wants_x else None
        return Back(dx, self._by_learned(samples, dy) if learns else [])

    def _by_learned(self, samples: Tensor, dy: Tensor) -> list[Tensor]:
        by_free, by_bias = torch.mm(dy.t(), samples), dy.sum(0)
        blocks = by_free.view(len(self.average), -1)
        found = [torch.mm(self.average.t(), blocks).unsqueeze(0)]
        if self.exact.bias is not None:
            found.append(self.exact.invariant_bias_backward(by_bias))
        return [*found, by_free, *([] if self.free_bias is None else [by_bias])]
