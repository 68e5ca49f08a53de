"""The forward and backward passes of linear layers, written out.

Updates of small networks on a CPU spend more time on entering operations than on products, and
autograd enters many. Heads that are made of these layers alone can do without it
(`agents/by_hand.py`); the layers' own `forward` is the slow and obvious version.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nearsym.layers.lift import ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.norm import GroupLayerNorm
from nearsym.layers.residual_pass import residual_pass
from nearsym.layers.residual_path import ResidualPath
from nearsym.layers.rows import Back, Pass, by_element, by_sample


def written_out(layer: nn.Module) -> Pass | None:
    """The passes of a layer; None where they are not written out.

    >>> from nearsym.groups.catalog import dihedral
    >>> layer = GroupLinear(dihedral(1), 3, 4)
    >>> x = torch.ones(5, 2, 3)
    >>> passes = written_out(layer)
    >>> y, _ = passes.forward(x.transpose(0, 1).reshape(10, 3))
    >>> bool(torch.allclose(y.view(2, 5, 4).transpose(0, 1), layer(x)))
    True
    """
    if type(layer) is ResidualPath:
        return residual_pass(layer)
    if type(layer) is ProjectLinear and len(layer.filters) == layer.out_channels == 1:
        return ProjectPass(layer)
    if type(layer) is GroupLayerNorm:
        return NormPass(layer)
    if type(layer) in POINTWISE:
        return POINTWISE[type(layer)]()
    if type(layer) is not GroupLinear or len(layer.filters) > 1:
        return None
    if layer.group.order == 1:
        return PlainPass(layer) if layer.relaxed is None else None
    on_input = layer.relaxed is None or layer.relax == "input"
    return GroupPass(layer) if layer.in_blocks and on_input else None


def _learned(layer: Any) -> list[nn.Parameter]:
    return [p for p in (layer.filters, layer.bias, layer.relaxed) if p is not None]


class PlainPass:
    """A group-linear layer over the trivial group: y = x ψ + b."""

    def __init__(self, layer: GroupLinear):
        self.learned = _learned(layer)
        self.filters, self.bias = layer.filters, layer.bias  # a layer looks them up by name

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        matrix = self.filters[0]
        if self.bias is None:
            return torch.mm(x, matrix), x
        return torch.addmm(self.bias, x, matrix), x

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        found = [torch.mm(saved.t(), dy).unsqueeze(0)] if learns else []
        if learns and self.bias is not None:
            found.append(dy.sum(0))
        return Back(torch.mm(dy, self.filters[0].t()) if wants_x else None, found)


class GroupPass:
    """A group-linear layer as one product for each irreducible representation:
    x̂ = (into ∘ w) x, ŷ = x̂ ψ̂, y = outof ŷ + b."""

    def __init__(self, layer: GroupLinear):
        self.layer, self.learned = layer, _learned(layer)
        self.order, self.width = layer.group.order, layer.in_channels
        self.filters, self.bias, self.relaxed = layer.filters, layer.bias, layer.relaxed
        self.into, self.outof = layer.transforms()  # constants: looking them up takes time

    @property
    def _filters(self) -> Tensor:
        return self.filters.view(self.order, self.width, -1)

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        n = self.order
        into = self.into if self.relaxed is None else self.into * self.relaxed
        x_hat = torch.mm(into, x.view(n, -1)).view(n, -1, self.width)
        y_hat = self.layer.product(x_hat, self._filters)
        y = torch.mm(self.outof, y_hat.view(n, -1)).view(-1, y_hat.shape[-1])
        return y if self.bias is None else y.add_(self.bias), (x, x_hat, into)

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        x, x_hat, into = saved
        n = self.order
        dy_hat = torch.mm(self.outof.t(), dy.view(n, -1)).view(n, -1, dy.shape[-1])
        relaxes = learns and self.relaxed is not None
        dx_hat, by_filters = self.layer.product_backward(
            x_hat, self._filters, dy_hat, learns=learns, wants_x=wants_x or relaxes
        )
        found = [by_filters.view_as(self.learned[0])] if learns else []
        if learns and self.bias is not None:
            found.append(dy.sum(0))
        if relaxes:
            by_product = torch.mm(dx_hat.view(n, -1), x.view(n, -1).t())
            found.append((by_product * self.into).sum(0, keepdim=True))
        return Back(torch.mm(into.t(), dx_hat.view(n, -1)).view_as(x) if wants_x else None, found)


class ProjectPass:
    """From rows to a representation: y = (1/|G|) Σ_g ρ(g) (w[g] A x[g] + b), (batch, size)."""

    def __init__(self, layer: ProjectLinear):
        self.layer, self.learned = layer, _learned(layer)
        self.filters, self.relaxed, self.order = layer.filters, layer.relaxed, layer.group.order
        self.average = layer.average()
        self.plain = self.order == 1 and self.relaxed is None

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        n, bias = self.order, self.layer.invariant_bias()
        y = v = torch.mm(x, self.filters[0].t())  # (|G|·batch, size)
        if not self.plain:
            v = v.view(n, -1, v.shape[-1])
            weighted = v if self.relaxed is None else v * self.relaxed.view(n, 1, 1)
            y = torch.mm(weighted.transpose(0, 1).flatten(1), self.average.t())
        return y if bias is None else y.add_(bias), (x, v)

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        x, v = saved
        dv, by_relaxed = (dy, []) if self.plain else self._by_element(v, dy)
        found = [torch.mm(dv.t(), x).unsqueeze(0)] if learns else []
        if learns and self.layer.bias is not None:
            found.append(self.layer.invariant_bias_backward(dy.sum(0)))
        if learns:
            found += by_relaxed
        return Back(torch.mm(dv, self.filters[0]) if wants_x else None, found)

    def _by_element(self, v: Tensor, dy: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The gradients by A x[g], as rows, and by the relaxed weights."""
        n, size = self.order, dy.shape[-1]
        dv = torch.mm(dy, self.average).view(-1, n, size).transpose(0, 1)
        if self.relaxed is None:
            return dv.reshape(-1, size), []
        by_relaxed = (dv * v).sum((1, 2)).unsqueeze(0)
        return (dv * self.relaxed.view(n, 1, 1)).reshape(-1, size), [by_relaxed]


class NormPass:
    """Layer normalisation over all elements and channels of a sample."""

    def __init__(self, layer: GroupLayerNorm):
        self.layer, self.learned = layer, [layer.weight, layer.bias]
        self.order, self.size = layer.group.order, [layer.group.order * layer.channels]

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        samples, affine = by_sample(x, self.order), self._affine()
        y, mean, rstd = torch.native_layer_norm(samples, self.size, *affine, self.layer.eps)
        return by_element(y, self.order), (samples, mean, rstd, affine)

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        samples, mean, rstd, affine = saved
        dy, wanted = by_sample(dy, self.order), [wants_x, learns, learns]
        dx, *found = torch.ops.aten.native_layer_norm_backward(
            dy, samples, self.size, mean, rstd, *affine, wanted
        )
        learned = [found[i].view(self.order, -1).sum(0) for i in range(2)] if learns else []
        return Back(by_element(dx, self.order) if wants_x else None, learned)

    def _affine(self) -> tuple[Tensor, Tensor]:
        return self.layer.weight.repeat(self.order), self.layer.bias.repeat(self.order)


class TanhPass:
    """tanh of every entry."""

    def __init__(self) -> None:
        self.learned: list[nn.Parameter] = []

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        y = x.tanh()
        return y, y

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        return Back(torch.ops.aten.tanh_backward(dy, saved) if wants_x else None, [])


class ReluPass:
    """The positive part of every entry. Both passes work in place: what they are given is of no
    further use."""

    def __init__(self) -> None:
        self.learned: list[nn.Parameter] = []

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        y = x.relu_()
        return y, y

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        if not wants_x:
            return Back(None, [])
        return Back(torch.ops.aten.threshold_backward.grad_input(dy, saved, 0, grad_input=dy), [])


class Chain:
    """One after the other; without any, what comes in goes out."""

    def __init__(self, passes: Sequence[Pass]):
        self.passes = passes
        self.learned = [p for one in passes for p in one.learned]

    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        saved = []
        for one in self.passes:
            x, kept = one.forward(x)
            saved.append(kept)
        return x, saved

    def backward(self, saved: Any, dy: Tensor, *, learns: bool, wants_x: bool) -> Back:
        found: list[Tensor] = []
        for i in reversed(range(len(self.passes))):
            wanted = wants_x or i > 0
            dy, learned = self.passes[i].backward(saved[i], dy, learns=learns, wants_x=wanted)
            found = learned + found
        return Back(dy, found)


POINTWISE: dict[type, Callable[[], Pass]] = {nn.Tanh: TanhPass, nn.ReLU: ReluPass}
