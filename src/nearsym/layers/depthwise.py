"""A convolution over time of every channel by itself, in memory (time, batch, channels).

    y[t] = Σ_l Σ_d c_l[d, t] ∘ z_l[t + d] + b

A few offsets d, one multiplication and addition each, as fused calls over whole windows. Products
of small matrices, one for each channel, take several times as long.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def depthwise(
    z: Float[Tensor, "time batch filters channels"],
    factors: Float[Tensor, "filters offset new_time channels"],
    bias: Float[Tensor, " channels"],
    first: int,
) -> Float[Tensor, "new_time batch channels"]:
    """The sum above over the offsets d = first, first + 1, …; outside the window z counts as 0."""
    return _Depthwise.apply(z, factors, bias, first)


Overlap = tuple[tuple[int, int], slice, slice]


def _overlaps(factors: Tensor, first: int, length: int) -> list[Overlap]:
    """Of each filter and offset the output steps that it serves, and the input steps they see."""
    filters, offsets, new_length, _ = factors.shape
    found = []
    for place, d in enumerate(range(first, first + offsets)):
        low, high = max(0, -d), min(new_length, length - d)
        if low < high:
            steps = slice(low, high), slice(low + d, high + d)
            found += [((i, place), *steps) for i in range(filters)]
    return found


class _Depthwise(torch.autograd.Function):
    @staticmethod
    def forward(z: Tensor, factors: Tensor, bias: Tensor, first: int) -> Tensor:
        y = bias.expand(factors.shape[2], z.shape[1], -1).contiguous()
        for (i, place), out, seen in _overlaps(factors, first, len(z)):
            y[out].addcmul_(z[seen, :, i], factors[i, place, out].unsqueeze(1))
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        z, factors, _, ctx.first = inputs
        ctx.save_for_backward(z, factors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (dy,) = gradients
        z, factors = ctx.saved_tensors
        overlaps = _overlaps(factors, ctx.first, len(z))
        dz = dc = db = None
        if ctx.needs_input_grad[0]:
            dz = torch.zeros_like(z)
            for (i, place), out, seen in overlaps:
                dz[seen, :, i].addcmul_(dy[out], factors[i, place, out].unsqueeze(1))
        if ctx.needs_input_grad[1]:
            dc = torch.zeros_like(factors)
            for (i, place), out, seen in overlaps:
                dc[i, place, out] = (dy[out] * z[seen, :, i]).sum(1)
        if ctx.needs_input_grad[2]:
            db = dy.sum((0, 1))
        return dz, dc, db, None
